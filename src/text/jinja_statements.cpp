#include <algorithm>
#include <optional>

#include "text/jinja_globals.h"
#include "text/jinja_interpreter.h"
#include "text/jinja_objects.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// The items of a loop that pass its condition, drawn one by one.
class FilteredItems : public Iterator {
 public:
  FilteredItems(Interpreter& interpreter, const Statement& node, ScopePointer scope, IteratorPointer items)
      : interpreter_(interpreter), node_(node), scope_(std::move(scope)), items_(std::move(items)) {}
  bool next(Value& out) override {
    while (items_->next(out)) {
      interpreter_.budget().step();
      if (interpreter_.passes_filter(node_, scope_, out)) return true;
    }
    return false;
  }

 private:
  Interpreter& interpreter_;
  const Statement& node_;
  ScopePointer scope_;
  IteratorPointer items_;
};

}  // namespace

void Scope::set(std::string_view name, Value value) {
  for (auto& [known, old] : names) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  names.emplace_back(name, std::move(value));
}

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer.get()) {
    for (const auto& [known, value] : scope->names) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

/// Makes a new innermost scope, inside `outer`, for as long as it lives.
class Interpreter::Inside {
 public:
  Inside(Interpreter& interpreter, ScopePointer outer, const std::vector<std::string>& hidden)
      : interpreter_(interpreter), before_(interpreter.scope_) {
    auto scope = std::make_shared<Scope>();
    scope->outer = std::move(outer);
    for (const std::string& name : hidden) scope->names.emplace_back(name, Value());
    interpreter_.scope_ = std::move(scope);
  }
  ~Inside() { interpreter_.scope_ = std::move(before_); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Interpreter& interpreter_;
  ScopePointer before_;
};

Interpreter::~Interpreter() {
  for (const auto& object : cyclic_) object->release();
  for (const auto& scope : captured_) scope->names.clear();
}

std::string Interpreter::run(const Dict& variables) {
  auto context = std::make_shared<Scope>();
  add_globals(*context);
  for (const auto& [name, value] : variables.items()) context->set(name.as_string(), value);
  const Inside inside(*this, context, program_.hidden);
  std::string text;
  out_ = &text;
  execute(program_.body);
  return text;
}

void Interpreter::write(std::string_view text) {
  budget_.text(static_cast<int64_t>(text.size()));
  budget_.grown(static_cast<int64_t>(out_->size() + text.size()));
  out_->append(text);
}

Interpreter::Flow Interpreter::execute(const Block& block) {
  for (const Statement& node : block) {
    const Flow flow = execute(node);
    if (flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute(const Statement& node) {
  const DepthGuard guard(budget_);
  budget_.step();
  line_ = node.line;
  switch (node.kind) {
    case StatementKind::kText:
      write(node.text);
      break;
    case StatementKind::kPrint:
      for (const auto& value : node.values) write(to_text(evaluate(*value), budget_));
      break;
    case StatementKind::kIf:
      return execute_if(node);
    case StatementKind::kFor: {
      if (!node.recursive) return execute_for(node, evaluate(*node.values[0]), 0);
      write(run_recursive(node, scope_, evaluate(*node.values[0]), 0));
      break;
    }
    case StatementKind::kSet:
      execute_set(node);
      break;
    case StatementKind::kSetBlock:
      return execute_set_block(node);
    case StatementKind::kMacro:
      scope_->set(node.text, function(node, node.text));
      break;
    case StatementKind::kCallBlock:
      execute_call_block(node);
      break;
    case StatementKind::kFilterBlock:
      return execute_filter_block(node);
    case StatementKind::kWith:
      return execute_with(node);
    case StatementKind::kScope: {
      const Inside inside(*this, scope_, node.hidden);
      return execute(node.body);
    }
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNormal;
}

Interpreter::Flow Interpreter::execute_if(const Statement& node) {
  if (evaluate(*node.values[0]).truth()) return execute(node.body);
  for (const Statement& branch : node.branches) {
    if (evaluate(*branch.values[0]).truth()) return execute(branch.body);
  }
  return execute(node.otherwise);
}

Interpreter::Flow Interpreter::execute_for(const Statement& node, const Value& items, int64_t depth) {
  IteratorPointer iterator = iterate(items);
  std::optional<int64_t> length;
  if (node.test) {
    iterator = std::make_shared<FilteredItems>(*this, node, scope_, std::move(iterator));
  } else if (!items.is_string()) {
    length = try_length(items, budget_);
  }
  const auto loop =
      std::make_shared<Loop>(std::move(iterator), length, depth, node.recursive ? &node : nullptr,
                             node.recursive ? scope_ : nullptr, budget_);
  bool any = false;
  run_loop(node, loop, any);
  if (any || node.otherwise.empty()) return Flow::kNormal;
  const Inside inside(*this, scope_, node.otherwise_hidden);
  return execute(node.otherwise);
}

Interpreter::Flow Interpreter::run_loop(const Statement& node, const std::shared_ptr<Loop>& loop, bool& any) {
  const ScopePointer outer = scope_;
  for (Value item; loop->next(item);) {
    budget_.step();
    const Inside inside(*this, outer, node.hidden);
    assign(*node.target, item);
    scope_->set("loop", Value(loop));
    const Flow flow = execute(node.body);
    if (flow == Flow::kBreak) return flow;
    any = any || flow == Flow::kNormal;  // after `continue` alone jinja2 takes the else branch
  }
  return Flow::kNormal;
}

bool Interpreter::passes_filter(const Statement& node, const ScopePointer& scope, const Value& item) {
  const Inside inside(*this, scope, {});
  assign(*node.target, item);
  return evaluate(*node.test).truth();
}

std::string Interpreter::run_recursive(const Statement& node, const ScopePointer& scope, const Value& items,
                                       int64_t depth) {
  const DepthGuard guard(budget_);
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  const ScopePointer caller_scope = std::exchange(scope_, scope);
  execute_for(node, items, depth);
  scope_ = caller_scope;
  out_ = before;
  return text;
}

void Interpreter::check_namespaces(const Expression& target) {
  if (target.kind == ExpressionKind::kNamespaceTarget) {
    if (!lookup(target.parts[0]->name).object<Namespace>())
      fail("cannot assign attribute on non-namespace object");
  }
  if (target.kind != ExpressionKind::kTuple) return;
  for (const auto& part : target.parts) check_namespaces(*part);
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (target.kind == ExpressionKind::kName) return scope_->set(target.name, value);
  if (target.kind == ExpressionKind::kNamespaceTarget) {
    return lookup(target.parts[0]->name).object<Namespace>()->set(target.name, value);
  }
  const IteratorPointer iterator = try_iterate(value);
  if (!iterator) fail("cannot unpack non-iterable " + value.type_name() + " object");
  List items;
  for (Value item; items.size() <= target.parts.size() && iterator->next(item);)
    items.push_back(std::move(item));
  const std::string expected = std::to_string(target.parts.size());
  if (items.size() > target.parts.size()) fail("too many values to unpack (expected " + expected + ")");
  if (items.size() < target.parts.size()) {
    fail("not enough values to unpack (expected " + expected + ", got " + std::to_string(items.size()) + ")");
  }
  for (size_t i = 0; i < items.size(); ++i) assign(*target.parts[i], items[i]);
}

void Interpreter::execute_set(const Statement& node) {
  check_namespaces(*node.target);
  assign(*node.target, evaluate(*node.values[0]));
}

/// Renders the body of a block, in a scope of its own, and puts it through the block's filter, if any.
Interpreter::Flow Interpreter::capture(const Statement& node, Value& result) {
  const Inside inside(*this, scope_, node.hidden);
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  const Flow flow = execute(node.body);
  out_ = before;
  result = Value(std::move(text));
  if (flow != Flow::kNormal || node.values.empty()) return flow;
  scope_->set(kBlockText, result);
  result = evaluate(*node.values[0]);
  return flow;
}

Interpreter::Flow Interpreter::execute_set_block(const Statement& node) {
  Value value;
  const Flow flow = capture(node, value);
  if (flow == Flow::kNormal) {
    check_namespaces(*node.target);
    assign(*node.target, value);
  }
  return flow;
}

Interpreter::Flow Interpreter::execute_filter_block(const Statement& node) {
  Value value;
  const Flow flow = capture(node, value);
  if (flow == Flow::kNormal) write(to_text(value, budget_));
  return flow;
}

Interpreter::Flow Interpreter::execute_with(const Statement& node) {
  List values;
  for (const auto& value : node.values) values.push_back(evaluate(*value));
  const Inside inside(*this, scope_, node.hidden);
  for (size_t i = 0; i < values.size(); ++i) assign(*node.targets[i], values[i]);
  return execute(node.body);
}

Value Interpreter::function(const Statement& node, std::string_view name) {
  captured_.push_back(scope_);
  return Value(std::make_shared<Macro>(name, node, scope_));
}

void Interpreter::execute_call_block(const Statement& node) {
  const Expression& call_node = *node.values[0];
  const Value callee = evaluate(*call_node.parts[0]);
  Arguments arguments = evaluate_arguments(call_node.call);
  arguments.named.emplace_back("caller", function(node, {}));
  write(to_text(call(callee, arguments), budget_));
}

std::string Interpreter::run_function(const Statement& definition, const ScopePointer& scope,
                                      const Arguments& arguments) {
  const DepthGuard guard(budget_);
  const Inside inside(*this, scope, definition.hidden);
  std::string text;
  std::string* const before = std::exchange(out_, &text);
  bind_parameters(definition, arguments);
  execute(definition.body);
  out_ = before;
  return text;
}

/// Gives the parameters of a macro their values in the current scope, as jinja2's Macro does.
void Interpreter::bind_parameters(const Statement& definition, const Arguments& arguments) {
  const Signature& signature = definition.signature;
  const size_t count = signature.names.size();
  auto named = arguments.named;
  const auto take = [&named](std::string_view name) {
    const auto at =
        std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.first == name; });
    if (at == named.end()) return Value();
    Value value = std::move(at->second);
    named.erase(at);
    return value;
  };
  List values(
      arguments.positional.begin(),
      arguments.positional.begin() + static_cast<int64_t>(std::min(count, arguments.positional.size())));
  const bool named_caller =
      std::find(signature.names.begin(), signature.names.end(), "caller") != signature.names.end();
  while (values.size() < count) values.push_back(take(signature.names[values.size()]));
  if (signature.uses_caller && !named_caller) {
    Value caller = take("caller");
    scope_->set("caller",
                caller.is_missing() || caller.is_none() ? Value::undefined("No caller defined") : caller);
  }
  if (signature.uses_kwargs) {
    Dict rest;
    for (auto& [name, value] : named) rest.set(name, value);
    scope_->set("kwargs", Value::dict(std::move(rest)));
  } else if (!named.empty()) {
    if (!take("caller").is_missing()) {
      fail("macro " + repr(Value(definition.text), budget_) +
           " was invoked with two values for the special caller argument. This is most likely a bug.");
    }
    fail("macro " + repr(Value(definition.text), budget_) + " takes no keyword argument " +
         repr(Value(named.front().first), budget_));
  }
  if (signature.uses_varargs) {
    const int64_t used = static_cast<int64_t>(std::min(count, arguments.positional.size()));
    scope_->set("varargs",
                Value::tuple(List(arguments.positional.begin() + used, arguments.positional.end())));
  } else if (arguments.positional.size() > count) {
    fail("macro " + repr(Value(definition.text), budget_) + " takes not more than " + std::to_string(count) +
         " argument(s)");
  }
  for (size_t i = 0; i < count; ++i) scope_->set(signature.names[i], values[i]);
  for (size_t i = 0; i < count; ++i) {
    if (!values[i].is_missing()) continue;
    const auto& preset = signature.defaults[i];
    scope_->set(signature.names[i],
                preset ? evaluate(*preset)
                       : Value::undefined("parameter '" + signature.names[i] + "' was not provided"));
  }
}

}  // namespace tercet::jinja
