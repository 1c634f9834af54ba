#include <algorithm>
#include <functional>
#include <string>

#include "text/jinja_text.h"
#include "text/value_operators.h"

namespace tercet::jinja {
namespace {

const char* symbol(Comparison op) {
  switch (op) {
    case Comparison::kLess:
      return "<";
    case Comparison::kLessEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    case Comparison::kGreaterEqual:
      return ">=";
    default:
      return "";
  }
}

/// a OP b for two numbers, exact where both are integers.
template <class Number>
bool ordered_numbers(Comparison op, Number a, Number b) {
  switch (op) {
    case Comparison::kLess:
      return a < b;
    case Comparison::kLessEqual:
      return a <= b;
    case Comparison::kGreater:
      return a > b;
    default:
      return a >= b;
  }
}

bool is_ordered(const Value& a, const Value& b) {
  return (a.is_number() && b.is_number()) || (a.is_string() && b.is_string()) ||
         (a.is_sequence() && a.kind() == b.kind());
}

bool ordered(Comparison op, const Value& a, const Value& b, Budget& budget);

bool ordered_sequences(Comparison op, const List& a, const List& b, Budget& budget) {
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    if (!equal(a[i], b[i], budget)) return ordered(op, a[i], b[i], budget);
  }
  return ordered_numbers(op, a.size(), b.size());
}

bool ordered(Comparison op, const Value& a, const Value& b, Budget& budget) {
  budget.step();
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) fail(side->undefined_message());
  }
  if (!is_ordered(a, b)) {
    fail(std::string("'") + symbol(op) + "' not supported between instances of '" + a.type_name() +
         "' and '" + b.type_name() + "'");
  }
  if (a.is_string()) {
    budget.scan(static_cast<int64_t>(std::min(a.as_string().size(), b.as_string().size())));
    return ordered_numbers(op, a.as_string().compare(b.as_string()), 0);
  }
  if (a.is_sequence()) return ordered_sequences(op, a.items(), b.items(), budget);
  if (a.integer() && b.integer()) return ordered_numbers(op, *a.integer(), *b.integer());
  return ordered_numbers(op, *a.number(), *b.number());
}

bool equal_dicts(const Dict& a, const Dict& b, Budget& budget) {
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items()) {
    const Value* other = b.find(key, budget);
    if (other == nullptr || !equal(value, *other, budget)) return false;
  }
  return true;
}

bool equal_lists(const List& a, const List& b, Budget& budget) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i], budget)) return false;
  }
  return true;
}

}  // namespace

bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    if (a.integer() && b.integer()) return *a.integer() == *b.integer();
    return *a.number() == *b.number();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Value::Kind::kString:
      if (a.as_string().size() != b.as_string().size()) return false;
      budget.scan(static_cast<int64_t>(a.as_string().size()));
      return a.as_string() == b.as_string();
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return a.same(b) || equal_lists(a.items(), b.items(), budget);
    case Value::Kind::kDict:
      return a.same(b) || equal_dicts(a.as_dict(), b.as_dict(), budget);
    case Value::Kind::kObject:
      return a.same(b);
    default:
      return true;
  }
}

bool contains(const Value& container, const Value& element, Budget& budget) {
  if (container.is_string()) {
    if (!element.is_string())
      fail("'in <string>' requires string as left operand, not " + element.type_name());
    budget.scan(static_cast<int64_t>(container.as_string().size()));
    return find_text(container.as_string(), element.as_string()) != std::string::npos;
  }
  if (container.is_dict()) return container.as_dict().find(element, budget) != nullptr;
  const IteratorPointer iterator = try_iterate(container);
  if (!iterator) fail("argument of type '" + container.type_name() + "' is not iterable");
  for (Value item; iterator->next(item);) {
    if (equal(item, element, budget)) return true;
  }
  return false;
}

bool compare(Comparison op, const Value& a, const Value& b, Budget& budget) {
  switch (op) {
    case Comparison::kEqual:
      return equal(a, b, budget);
    case Comparison::kNotEqual:
      return !equal(a, b, budget);
    case Comparison::kIn:
      return contains(b, a, budget);
    case Comparison::kNotIn:
      return !contains(b, a, budget);
    default:
      return ordered(op, a, b, budget);
  }
}

size_t hash_of(std::string_view text) {
  return std::hash<std::string_view>{}(text);
}

size_t hash_of(const Value& value, Budget& budget) {
  budget.step();
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 1;
    case Value::Kind::kNone:
      return 2;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kFloat:
      return std::hash<double>{}(*value.number() + 0.0);
    case Value::Kind::kString:
      return hash_of(std::string_view(value.as_string()));
    case Value::Kind::kTuple: {
      size_t hash = 3;
      for (const Value& item : value.items()) hash = hash * 1000003 + hash_of(item, budget);
      return hash;
    }
    case Value::Kind::kObject:
      return std::hash<const void*>{}(&value.as_object());
    default:
      fail("unhashable type: '" + value.type_name() + "'");
  }
}

}  // namespace tercet::jinja
