#include <cmath>
#include <cstdio>

#include "text/jinja_arguments.h"
#include "text/jinja_filters.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

std::optional<Int> truncated(double value) {
  if (!(std::fabs(value) < 0x1p126)) return std::nullopt;
  return static_cast<Int>(value);
}

/// int(text, base) where Python has one.
std::optional<Int> integer_of(const std::string& text, const Value& base) {
  const Int radix = base.integer().value_or(1);
  if (radix != 0 && (radix < 2 || radix > 36)) return std::nullopt;
  return parse_int(text, static_cast<int>(radix));
}

/// int(value) where Python has one; fails where it raises what the filter does not catch.
std::optional<Int> integer_of(const Value& value, const Value& base) {
  if (value.is_string()) return integer_of(value.as_string(), base);
  if (const auto whole = value.integer()) return whole;
  if (!value.is_float() || std::isnan(value.as_float())) return std::nullopt;
  if (std::isinf(value.as_float())) fail("cannot convert float infinity to integer");
  const auto whole = truncated(value.as_float());
  if (!whole) fail("the float " + float_text(value.as_float()) + " does not fit a 128-bit integer");
  return whole;
}

std::optional<double> float_of(const Value& value) {
  return value.is_string() ? parse_float(value.as_string()) : value.number();
}

Value to_int(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("int", arguments, {"default", "base"});
  if (input.is_undefined()) fail(input.undefined_message());
  if (const auto whole = integer_of(input, bound.value(1, Value(10)))) return Value(*whole);
  if (const auto real = float_of(input)) {
    if (const auto whole = truncated(*real)) return Value(*whole);
  }
  return bound.value(0, Value(0));
}

Value to_float(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("float", arguments, {"default"});
  if (input.is_undefined()) fail(input.undefined_message());
  const auto real = float_of(input);
  return real ? Value(*real) : bound.value(0, Value(0.0));
}

Value absolute(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("abs", arguments, {});
  if (const auto whole = input.integer()) return *whole < 0 ? negative(Value(*whole)) : Value(*whole);
  if (input.is_float()) return Value(std::fabs(input.as_float()));
  if (input.is_undefined()) fail("bad operand type for abs(): 'Undefined'");
  fail("bad operand type for abs(): '" + input.type_name() + "'");
}

/// round(value, digits): to the nearest, ties to even, as seen in the exact decimal value.
double rounded(double value, int64_t digits) {
  if (!std::isfinite(value) || digits > 323) return value;
  if (digits < -308) return std::copysign(0.0, value);
  if (digits < 0) {
    const double unit = std::pow(10.0, static_cast<double>(-digits));
    return std::nearbyint(value / unit) * unit;
  }
  std::string text(400 + static_cast<size_t>(digits), '\0');
  std::snprintf(text.data(), text.size(), "%.*f", static_cast<int>(digits), value);
  return std::strtod(text.c_str(), nullptr);
}

Int rounded(Int value, int64_t digits) {
  if (digits >= 0) return value;
  if (digits < -37) return 0;
  Int unit = 1;
  for (int64_t i = 0; i < -digits; ++i) unit *= 10;
  Int rest = value % unit;
  if (rest < 0) rest += unit;
  const Int low = value - rest;
  const bool up = rest * 2 > unit || (rest * 2 == unit && (low / unit) % 2 != 0);
  return up ? low + unit : low;
}

Value round(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("round", arguments, {"precision", "method"});
  const std::string method = bound.text(1, "common");
  if (method != "common" && method != "ceil" && method != "floor")
    fail("method must be common, ceil or floor");
  if (input.is_undefined()) fail(input.undefined_message());
  if (!input.is_number()) fail("type " + input.type_name() + " doesn't define __round__ method");
  if (method == "common") {
    const int64_t digits = bound.integer(0, 0);
    if (const auto whole = input.integer()) return Value(rounded(*whole, digits));
    return Value(rounded(input.as_float(), digits));
  }
  Budget& budget = interpreter.budget();
  const Value scale = arithmetic(Operator::kPower, Value(10), bound.value(0, Value(0)), budget);
  const double scaled = *arithmetic(Operator::kMultiply, input, scale, budget).number();
  const auto whole = truncated(method == "ceil" ? std::ceil(scaled) : std::floor(scaled));
  if (!whole) fail("cannot convert float " + float_text(scaled) + " to integer");
  return arithmetic(Operator::kDivide, Value(*whole), scale, budget);
}

Value sum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sum", arguments, {"attribute", "start"});
  const AttributePath path(bound[0]);
  Value total = bound.value(1, Value(0));
  if (total.is_string()) fail("sum() can't sum strings [use ''.join(seq) instead]");
  const IteratorPointer items = iterate(input);
  for (Value item; items->next(item);) {
    total = arithmetic(Operator::kAdd, total, path.get(interpreter, item), interpreter.budget());
  }
  return total;
}

}  // namespace

const FilterTable& number_filters() {
  static const FilterTable table = {
      {"int", to_int}, {"float", to_float}, {"abs", absolute}, {"round", round}, {"sum", sum}};
  return table;
}

}  // namespace tercet::jinja
