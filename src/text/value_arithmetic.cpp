#include <cmath>

#include "text/jinja_format.h"
#include "text/value_operators.h"

namespace tercet::jinja {
namespace {

const char* symbol(Operator op) {
  switch (op) {
    case Operator::kAdd:
      return "+";
    case Operator::kSubtract:
      return "-";
    case Operator::kMultiply:
      return "*";
    case Operator::kDivide:
      return "/";
    case Operator::kFloorDivide:
      return "//";
    case Operator::kModulo:
      return "%";
    case Operator::kPower:
      return "** or pow()";
  }
  return "";
}

[[noreturn]] void fail_overflow() {
  fail("an integer result does not fit 128 bits; use smaller numbers");
}

Int floor_divide(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

Value integer_power(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Int result = 1;
  // A base of more than one in size leaves 128 bits long before the exponent runs out.
  if (base >= -1 && base <= 1)
    return Value(base == -1 && exponent % 2 == 0 ? Int{1} : exponent == 0 ? Int{1} : base);
  for (; exponent > 0; --exponent) {
    if (__builtin_mul_overflow(result, base, &result)) fail_overflow();
  }
  return Value(result);
}

Value integer_arithmetic(Operator op, Int a, Int b) {
  Int result = 0;
  bool overflow = false;
  switch (op) {
    case Operator::kAdd:
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case Operator::kSubtract:
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case Operator::kMultiply:
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case Operator::kDivide:
      if (b == 0) fail("division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case Operator::kFloorDivide:
    case Operator::kModulo:
      if (b == 0)
        fail(op == Operator::kModulo ? "integer modulo by zero" : "integer division or modulo by zero");
      if (b == -1) {  // the one division that can overflow
        overflow = op == Operator::kFloorDivide && __builtin_sub_overflow(Int{0}, a, &result);
        break;
      }
      result = floor_divide(a, b);
      if (op == Operator::kModulo) result = a - result * b;
      break;
    case Operator::kPower:
      return integer_power(a, b);
  }
  if (overflow) fail_overflow();
  return Value(result);
}

double float_modulo(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

double float_floor_divide(double a, double b) {
  const double rest = float_modulo(a, b);
  const double quotient = (a - rest) / b;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

double float_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && std::isfinite(b) && b != std::floor(b)) fail("complex numbers are not supported");
  const double result = std::pow(a, b);
  if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
    fail("(34, 'Numerical result out of range')");
  return result;
}

Value float_arithmetic(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd:
      return Value(a + b);
    case Operator::kSubtract:
      return Value(a - b);
    case Operator::kMultiply:
      return Value(a * b);
    case Operator::kDivide:
      if (b == 0) fail("float division by zero");
      return Value(a / b);
    case Operator::kFloorDivide:
      if (b == 0) fail("float floor division by zero");
      return Value(float_floor_divide(a, b));
    case Operator::kModulo:
      if (b == 0) fail("float modulo");
      return Value(float_modulo(a, b));
    case Operator::kPower:
      return Value(float_power(a, b));
  }
  return {};
}

Value repeat_text(const std::string& text, Int count, Budget& budget) {
  if (count <= 0 || text.empty()) return Value("");
  Int bytes = 0;
  if (__builtin_mul_overflow(count, static_cast<Int>(text.size()), &bytes) || bytes > INT64_MAX)
    bytes = INT64_MAX;
  budget.text(static_cast<int64_t>(bytes));
  std::string out;
  out.reserve(static_cast<size_t>(bytes));
  for (Int i = 0; i < count; ++i) out += text;
  return Value(std::move(out));
}

Value remade(const Value& like, List items) {
  return like.kind() == Value::Kind::kList ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value repeat_items(const Value& value, Int count, Budget& budget) {
  List items;
  if (!value.items().empty()) {
    for (Int i = 0; i < count; ++i) {
      budget.step(static_cast<int64_t>(value.items().size()));
      items.insert(items.end(), value.items().begin(), value.items().end());
    }
  }
  return remade(value, std::move(items));
}

std::optional<Value> repetition(const Value& a, const Value& b, Budget& budget) {
  const auto count = b.integer();
  if (!count) return std::nullopt;
  if (a.is_string()) return repeat_text(a.as_string(), *count, budget);
  if (a.is_sequence()) return repeat_items(a, *count, budget);
  return std::nullopt;
}

Value concatenation(const Value& a, const Value& b, Budget& budget) {
  if (a.kind() != b.kind()) {
    const std::string quoted = "\"" + b.type_name() + "\"";
    fail("can only concatenate " + a.type_name() + " (not " + quoted + ") to " + a.type_name());
  }
  if (a.is_string()) {
    budget.text(static_cast<int64_t>(a.as_string().size() + b.as_string().size()));
    return Value(a.as_string() + b.as_string());
  }
  budget.step(static_cast<int64_t>(a.items().size() + b.items().size()));
  List items = a.items();
  items.insert(items.end(), b.items().begin(), b.items().end());
  return remade(a, std::move(items));
}

}  // namespace

Value arithmetic(Operator op, const Value& a, const Value& b, Budget& budget) {
  if (op == Operator::kModulo && a.is_string()) return Value(percent_format(a.as_string(), b, budget));
  for (const Value* side : {&a, &b}) {
    if (side->is_undefined()) fail(side->undefined_message());
  }
  if (a.integer() && b.integer()) return integer_arithmetic(op, *a.integer(), *b.integer());
  if (a.is_number() && b.is_number()) return float_arithmetic(op, *a.number(), *b.number());
  if (op == Operator::kAdd && (a.is_string() || a.is_sequence())) return concatenation(a, b, budget);
  if (op == Operator::kMultiply) {
    if (auto repeated = repetition(a, b, budget)) return *repeated;
    if (auto repeated = repetition(b, a, budget)) return *repeated;
    for (const auto& [container, other] : {std::pair{&a, &b}, std::pair{&b, &a}}) {
      if (container->is_string() || container->is_sequence()) {
        fail("can't multiply sequence by non-int of type '" + other->type_name() + "'");
      }
    }
  }
  fail(std::string("unsupported operand type(s) for ") + symbol(op) + ": '" + a.type_name() + "' and '" +
       b.type_name() + "'");
}

Value negative(const Value& value) {
  if (value.is_undefined()) fail(value.undefined_message());
  if (const auto whole = value.integer()) return integer_arithmetic(Operator::kSubtract, 0, *whole);
  if (value.is_float()) return Value(-value.as_float());
  fail("bad operand type for unary -: '" + value.type_name() + "'");
}

Value positive(const Value& value) {
  if (value.is_undefined()) fail(value.undefined_message());
  if (const auto whole = value.integer()) return Value(*whole);
  if (value.is_float()) return value;
  fail("bad operand type for unary +: '" + value.type_name() + "'");
}

}  // namespace tercet::jinja
