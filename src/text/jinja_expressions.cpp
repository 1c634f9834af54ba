#include <algorithm>

#include "text/jinja_filters.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_methods.h"
#include "text/jinja_objects.h"
#include "text/jinja_slice.h"
#include "text/jinja_tests.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {

Value Interpreter::lookup(const std::string& name) const {
  const Value* value = scope_->find(name);
  if (value == nullptr || value->is_missing()) return Value::undefined("'" + name + "' is undefined");
  return *value;
}

Value Interpreter::evaluate(const Expression& node) {
  const DepthGuard guard(budget_);
  budget_.step();
  line_ = node.line;
  return evaluate_node(node);
}

Value Interpreter::evaluate_node(const Expression& node) {
  switch (node.kind) {
    case ExpressionKind::kConstant:
      return node.value;
    case ExpressionKind::kName:
      return lookup(node.name);
    case ExpressionKind::kTuple:
      return Value::tuple(evaluate_list(node));
    case ExpressionKind::kList:
      return Value::list(evaluate_list(node));
    case ExpressionKind::kDict:
      return evaluate_dict(node);
    case ExpressionKind::kArithmetic: {
      const Value left = evaluate(*node.parts[0]);
      return arithmetic(node.operation, left, evaluate(*node.parts[1]), budget_);
    }
    case ExpressionKind::kNegative:
      return negative(evaluate(*node.parts[0]));
    case ExpressionKind::kPositive:
      return positive(evaluate(*node.parts[0]));
    case ExpressionKind::kConcat:
      return evaluate_concat(node);
    case ExpressionKind::kCompare:
      return Value(evaluate_comparison(node));
    case ExpressionKind::kAnd: {
      Value left = evaluate(*node.parts[0]);
      return left.truth() ? evaluate(*node.parts[1]) : left;
    }
    case ExpressionKind::kOr: {
      Value left = evaluate(*node.parts[0]);
      return left.truth() ? left : evaluate(*node.parts[1]);
    }
    case ExpressionKind::kNot:
      return Value(!evaluate(*node.parts[0]).truth());
    case ExpressionKind::kConditional:
      return evaluate_conditional(node);
    case ExpressionKind::kAttribute:
      return attribute(evaluate(*node.parts[0]), node.name);
    case ExpressionKind::kItem:
      return evaluate_item(node);
    case ExpressionKind::kSlice:
      return evaluate_slice(node);
    case ExpressionKind::kCall: {
      const Value callee = evaluate(*node.parts[0]);
      return call(callee, evaluate_arguments(node.call));
    }
    case ExpressionKind::kFilter:
      return evaluate_filter(node);
    case ExpressionKind::kTest: {
      const Value input = evaluate(*node.parts[0]);
      return Value(call_test(node.name, input, evaluate_arguments(node.call)));
    }
    case ExpressionKind::kNamespaceTarget:
      break;  // a target is assigned, never read
  }
  return {};
}

List Interpreter::evaluate_list(const Expression& node) {
  List items;
  for (const auto& part : node.parts) items.push_back(evaluate(*part));
  return items;
}

Value Interpreter::evaluate_dict(const Expression& node) {
  Dict dict;
  for (size_t i = 0; i + 1 < node.parts.size(); i += 2) {
    const Value key = evaluate(*node.parts[i]);
    dict.set(key, evaluate(*node.parts[i + 1]), budget_);
  }
  return Value::dict(std::move(dict));
}

Value Interpreter::evaluate_concat(const Expression& node) {
  std::string text;
  for (const Value& item : evaluate_list(node)) {
    text += to_text(item, budget_);
    budget_.grown(static_cast<int64_t>(text.size()));
  }
  return Value(std::move(text));
}

Value Interpreter::evaluate_conditional(const Expression& node) {
  if (evaluate(*node.parts[0]).truth()) return evaluate(*node.parts[1]);
  if (node.parts[2]) return evaluate(*node.parts[2]);
  return Value::undefined("the inline if-expression on line " + std::to_string(node.line) +
                          " evaluated to false and no else section was defined.");
}

bool Interpreter::evaluate_comparison(const Expression& node) {
  Value left = evaluate(*node.parts[0]);
  for (size_t i = 0; i < node.comparisons.size(); ++i) {
    Value right = evaluate(*node.parts[i + 1]);
    if (!compare(node.comparisons[i], left, right, budget_)) return false;
    left = std::move(right);
  }
  return true;
}

Value Interpreter::evaluate_item(const Expression& node) {
  const Value object = evaluate(*node.parts[0]);
  return item(object, evaluate(*node.parts[1]));
}

Value Interpreter::evaluate_slice(const Expression& node) {
  const Value object = evaluate(*node.parts[0]);
  const auto bound = [&](size_t i) { return node.parts[i] ? evaluate(*node.parts[i]) : Value::none(); };
  const Value start = bound(1);
  const Value stop = bound(2);
  return slice(object, start, stop, bound(3), budget_);
}

Arguments Interpreter::evaluate_arguments(const CallSyntax& syntax) {
  Arguments arguments;
  for (const auto& part : syntax.positional) arguments.positional.push_back(evaluate(*part));
  for (const auto& [name, part] : syntax.named) arguments.named.emplace_back(name, evaluate(*part));
  if (syntax.star) {
    for (Value& item : to_list(evaluate(*syntax.star), budget_))
      arguments.positional.push_back(std::move(item));
  }
  if (!syntax.star_star) return arguments;
  const Value more = evaluate(*syntax.star_star);
  if (!more.is_dict()) fail("argument after ** must be a mapping, not " + more.type_name());
  for (const auto& item : more.as_dict().items()) {
    if (!item.first.is_string()) fail("keywords must be strings");
    const std::string& key = item.first.as_string();
    const bool repeated = std::any_of(arguments.named.begin(), arguments.named.end(),
                                      [&key](const auto& entry) { return entry.first == key; });
    if (repeated) fail("got multiple values for keyword argument '" + key + "'");
    budget_.step(static_cast<int64_t>(arguments.named.size()));
    arguments.named.emplace_back(key, item.second);
  }
  return arguments;
}

Value Interpreter::evaluate_filter(const Expression& node) {
  const Value input = node.parts[0] ? evaluate(*node.parts[0]) : *scope_->find(kBlockText);
  return call_filter(node.name, input, evaluate_arguments(node.call));
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is_undefined()) fail(callee.undefined_message());
  if (!callee.is_object()) fail("'" + callee.type_name() + "' object is not callable");
  return callee.as_object().call(*this, arguments);
}

namespace {

/// What a call reads at least once: its arguments' text and containers.
int64_t weight(const Value& input, const Arguments& arguments) {
  const auto size = [](const Value& value) -> size_t {
    if (value.is_string()) return value.as_string().size();
    return value.is_sequence() ? value.items().size() * 64 : 0;
  };
  size_t total = size(input);
  for (const Value& value : arguments.positional) total += size(value);
  for (const auto& [name, value] : arguments.named) total += size(value);
  return static_cast<int64_t>(total);
}

}  // namespace

Value Interpreter::call_filter(const std::string& name, const Value& input, const Arguments& arguments) {
  const Filter filter = find_filter(name);
  if (filter == nullptr) fail("No filter named '" + name + "'.");
  budget_.scan(weight(input, arguments));
  return filter(*this, input, arguments);
}

bool Interpreter::call_test(const std::string& name, const Value& input, const Arguments& arguments) {
  const Test test = find_test(name);
  if (test == nullptr) fail("No test named '" + name + "'.");
  budget_.scan(weight(input, arguments));
  return test(*this, input, arguments);
}

namespace {

/// object[key], or a missing value.
Value direct_item(const Value& object, const Value& key, Budget& budget) {
  if (object.is_dict()) {
    if (key.kind() == Value::Kind::kList || key.is_dict()) return Value();  // not hashable
    const Value* found = object.as_dict().find(key, budget);
    return found != nullptr ? *found : Value();
  }
  if (object.is_object()) return object.as_object().item(key);
  if (const auto index = key.integer()) return element(object, *index, budget);
  return Value();
}

}  // namespace

Value Interpreter::attribute(const Value& object, const std::string& name) {
  if (object.is_undefined()) fail(object.undefined_message());
  Value value = bound_attribute(object, name);
  if (!value.is_missing()) return value;
  if (object.is_dict()) {
    if (const Value* found = object.as_dict().find(std::string_view(name))) return *found;
  }
  return object.lacking(name);
}

Value Interpreter::item(const Value& object, const Value& key) {
  if (object.is_undefined()) fail(object.undefined_message());
  Value value = direct_item(object, key, budget_);
  if (!value.is_missing()) return value;
  if (!key.is_string())
    return Value::undefined(object.described_type() + " has no element " + repr(key, budget_));
  value = bound_attribute(object, key.as_string());
  return value.is_missing() ? object.lacking(key.as_string()) : value;
}

}  // namespace tercet::jinja
