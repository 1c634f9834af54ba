#include "text/jinja_slice.h"

#include <algorithm>

#include "text/jinja_objects.h"
#include "text/jinja_unicode.h"

namespace tercet::jinja {
namespace {

std::optional<Int> bound(const Value& value) {
  if (value.is_none()) return std::nullopt;
  if (value.is_undefined()) fail(value.undefined_message());
  const auto index = value.integer();
  if (!index) fail("slice indices must be integers or None or have an __index__ method");
  return index;
}

/// The positions that a slice visits: first, first + step ... before last, `count` of them.
struct Walk {
  Int first;
  Int last;  // the bound, which is not visited
  Int step;
  int64_t count;
};

Walk walk(int64_t length, const Value& start, const Value& stop, const Value& step) {
  const Int stride = bound(step).value_or(1);
  if (stride == 0) fail("slice step cannot be zero");
  const Int low = stride > 0 ? 0 : -1;
  const Int high = stride > 0 ? length : length - 1;
  const auto clamped = [&](std::optional<Int> index, Int otherwise) {
    if (!index) return otherwise;
    return std::clamp<Int>(*index < 0 ? *index + length : *index, low, high);
  };
  const Int first = clamped(bound(start), stride > 0 ? low : high);
  const Int last = clamped(bound(stop), stride > 0 ? high : low);
  const Int distance = stride > 0 ? last - first : first - last;
  // A stride longer than the text takes one step, whatever its size.
  const Int longest = Int{length} + 1;
  const Int size = stride > 0 ? std::min(stride, longest) : stride < -longest ? longest : -stride;
  const auto count = distance <= 0 ? 0 : static_cast<int64_t>((distance - 1) / size + 1);
  return {first, last, stride > 0 ? size : -size, count};
}

template <class Items>
Items taken(const Items& items, const Walk& walk) {
  Items out;
  for (int64_t i = 0; i < walk.count; ++i)
    out.push_back(items[static_cast<size_t>(walk.first + walk.step * i)]);
  return out;
}

Value slice_text(const std::string& text, const Walk& walk) {
  if (walk.count == 0) return Value("");
  if (walk.step == 1) {
    const auto first = static_cast<int64_t>(walk.first);
    return Value(slice_code_points(text, first, first + walk.count));
  }
  return Value(to_utf8(taken(to_code_points(text), walk)));
}

}  // namespace

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget) {
  if (value.is_undefined()) fail(value.undefined_message());
  const auto range = value.object<Range>();
  if (!value.is_string() && !value.is_sequence() && !range) {
    if (value.is_dict()) fail("unhashable type: 'slice'");
    fail(std::string("'") + value.type_name() + "' object is not subscriptable");
  }
  const Walk steps = walk(*try_length(value, budget), start, stop, step);
  budget.step(value.is_string() ? 1 : steps.count);
  if (value.is_string()) {
    budget.text(static_cast<int64_t>(value.as_string().size()));
    return slice_text(value.as_string(), steps);
  }
  if (range) {
    const Int first = range->start() + range->step() * steps.first;
    const Int last = range->start() + range->step() * steps.last;
    return Value(std::make_shared<Range>(first, last, range->step() * steps.step));
  }
  List items = taken(value.items(), steps);
  return value.kind() == Value::Kind::kList ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value element(const Value& value, Int index, Budget& budget) {
  if (!value.is_string() && !value.is_sequence()) return Value();
  const int64_t length = *try_length(value, budget);
  if (index < 0) index += length;
  if (index < 0 || index >= length) return Value();
  const auto at = static_cast<int64_t>(index);
  if (value.is_sequence()) return value.items()[static_cast<size_t>(at)];
  return Value(slice_code_points(value.as_string(), at, at + 1));
}

}  // namespace tercet::jinja
