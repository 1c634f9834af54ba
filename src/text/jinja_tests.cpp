#include "text/jinja_tests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/jinja_arguments.h"
#include "text/jinja_filters.h"
#include "text/jinja_objects.h"
#include "text/jinja_unicode.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// A test of the value alone.
template <bool (*kHolds)(const Value&)>
bool plain(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return kHolds(input);
}

bool is_defined(const Value& value) {
  return !value.is_undefined();
}
bool is_undefined(const Value& value) {
  return value.is_undefined();
}
bool is_none(const Value& value) {
  return value.is_none();
}
bool is_boolean(const Value& value) {
  return value.is_bool();
}
bool is_true(const Value& value) {
  return value.is_bool() && value.as_bool();
}
bool is_false(const Value& value) {
  return value.is_bool() && !value.as_bool();
}
bool is_integer(const Value& value) {
  return value.is_int();
}
bool is_float(const Value& value) {
  return value.is_float();
}
bool is_number(const Value& value) {
  return value.is_number();
}
bool is_string(const Value& value) {
  return value.is_string();
}
bool is_mapping(const Value& value) {
  return value.is_dict();
}
bool is_iterable(const Value& value) {
  return try_iterate(value) != nullptr;
}
bool is_escaped(const Value&) {
  return false;
}
// Undefined has all of Python's special methods, so it counts as a sequence and as callable.
bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || value.is_dict() ||
         value.object<Range>() != nullptr;
}
bool is_callable(const Value& value) {
  return value.is_undefined() || (value.is_object() && value.as_object().callable());
}

/// Some letters, all of them in one case, as str.islower() and str.isupper() have it.
template <bool (*kWanted)(char32_t), bool (*kOther)(char32_t)>
bool is_in_case(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("test", arguments, {});
  const std::u32string points = to_code_points(to_text(input, interpreter.budget()));
  return std::any_of(points.begin(), points.end(), kWanted) &&
         std::none_of(points.begin(), points.end(), kOther);
}

template <Comparison kOp>
bool compared(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("test", arguments, {"other"}, 1);
  return compare(kOp, input, bound[0], interpreter.budget());
}

bool same_as(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("sameas", arguments, {"other"}, 1);
  return input.same(bound[0]);
}

bool has_remainder(Interpreter& interpreter, const Value& input, const Value& divisor, int wanted) {
  const Value rest = arithmetic(Operator::kModulo, input, divisor, interpreter.budget());
  return equal(rest, Value(wanted), interpreter.budget());
}

bool even(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("even", arguments, {});
  return has_remainder(interpreter, input, Value(2), 0);
}

bool odd(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("odd", arguments, {});
  return has_remainder(interpreter, input, Value(2), 1);
}

bool divisible(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("divisibleby", arguments, {"num"}, 1);
  return has_remainder(interpreter, input, bound[0], 0);
}

bool names_filter(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("filter", arguments, {});
  return input.is_string() && find_filter(input.as_string()) != nullptr;
}

bool names_test(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("test", arguments, {});
  return input.is_string() && find_test(input.as_string()) != nullptr;
}

const std::vector<std::pair<std::string_view, Test>>& tests() {
  static const std::vector<std::pair<std::string_view, Test>> table = {
      {"defined", plain<is_defined>},
      {"undefined", plain<is_undefined>},
      {"none", plain<is_none>},
      {"boolean", plain<is_boolean>},
      {"true", plain<is_true>},
      {"false", plain<is_false>},
      {"integer", plain<is_integer>},
      {"float", plain<is_float>},
      {"number", plain<is_number>},
      {"string", plain<is_string>},
      {"mapping", plain<is_mapping>},
      {"iterable", plain<is_iterable>},
      {"sequence", plain<is_sequence>},
      {"callable", plain<is_callable>},
      {"escaped", plain<is_escaped>},
      {"lower", is_in_case<is_lowercase, is_uppercase>},
      {"upper", is_in_case<is_uppercase, is_lowercase>},
      {"sameas", same_as},
      {"even", even},
      {"odd", odd},
      {"divisibleby", divisible},
      {"filter", names_filter},
      {"test", names_test},
      {"in", compared<Comparison::kIn>},
      {"==", compared<Comparison::kEqual>},
      {"eq", compared<Comparison::kEqual>},
      {"equalto", compared<Comparison::kEqual>},
      {"!=", compared<Comparison::kNotEqual>},
      {"ne", compared<Comparison::kNotEqual>},
      {"<", compared<Comparison::kLess>},
      {"lt", compared<Comparison::kLess>},
      {"lessthan", compared<Comparison::kLess>},
      {"<=", compared<Comparison::kLessEqual>},
      {"le", compared<Comparison::kLessEqual>},
      {">", compared<Comparison::kGreater>},
      {"gt", compared<Comparison::kGreater>},
      {"greaterthan", compared<Comparison::kGreater>},
      {">=", compared<Comparison::kGreaterEqual>},
      {"ge", compared<Comparison::kGreaterEqual>}};
  return table;
}

}  // namespace

Test find_test(std::string_view name) {
  const auto at =
      std::find_if(tests().begin(), tests().end(), [&](const auto& entry) { return entry.first == name; });
  return at != tests().end() ? at->second : nullptr;
}

}  // namespace tercet::jinja
