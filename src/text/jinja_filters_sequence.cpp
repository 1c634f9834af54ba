#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_filters.h"
#include "text/jinja_objects.h"
#include "text/jinja_unicode.h"
#include "text/value_operators.h"

namespace tercet::jinja {
namespace {

Value length(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("length", arguments, {});
  const auto count = try_length(input, interpreter.budget());
  if (!count) fail("object of type '" + input.type_name() + "' has no len()");
  return Value(*count);
}

Value fallback(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("default", arguments, {"default_value", "boolean"});
  const bool absent = input.is_undefined() || (bound.truth(1, false) && !input.truth());
  return absent ? bound.value(0, Value("")) : input;
}

Value first(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("first", arguments, {});
  Value item;
  return iterate(input)->next(item) ? item : Value::undefined("No first item, sequence was empty.");
}

/// The items from the last to the first; nothing where Python's reversed() refuses.
std::optional<List> reversed_items(const Value& input, Budget& budget) {
  const bool reversible = input.is_string() || input.is_sequence() || input.is_dict() ||
                          input.object<Range>() || input.object<DictView>() || input.is_undefined();
  if (!reversible) return std::nullopt;
  if (input.is_undefined()) return List{};
  List items = to_list(input, budget);
  std::reverse(items.begin(), items.end());
  return items;
}

Value last(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("last", arguments, {});
  if (input.is_sequence() && !input.items().empty()) return input.items().back();
  const auto items = reversed_items(input, interpreter.budget());
  if (!items) fail("'" + input.type_name() + "' object is not reversible");
  return items->empty() ? Value::undefined("No last item, sequence was empty.") : items->front();
}

Value list(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("list", arguments, {});
  return Value::list(to_list(input, interpreter.budget()));
}

Value items(Interpreter&, const Value& input, const Arguments& arguments) {
  const Bound bound("items", arguments, {});
  // jinja2's filter is a generator: what is no mapping fails when it is walked.
  IteratorPointer source;
  if (input.is_dict()) source = std::make_shared<DictView>(input, DictView::Part::kItems)->iterate();
  const bool refused = !input.is_dict() && !input.is_undefined();
  return make_generator(input.depth() + 1, [source, refused](Value& out) {
    if (refused) fail("Can only get item pairs from a mapping.");
    return source && source->next(out);
  });
}

Value reverse(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("reverse", arguments, {});
  if (input.is_string()) {
    std::u32string points = to_code_points(input.as_string());
    std::reverse(points.begin(), points.end());
    return Value(to_utf8(points));
  }
  auto items = reversed_items(input, interpreter.budget());
  if (!items) {
    if (!try_iterate(input)) fail("argument must be iterable");
    List all = to_list(input, interpreter.budget());
    std::reverse(all.begin(), all.end());
    return Value::list(std::move(all));
  }
  const bool is_list = input.kind() == Value::Kind::kList;
  const char* type = is_list           ? "list_reverseiterator"
                     : input.is_dict() ? "dict_reversekeyiterator"
                                       : "reversed";
  return Value(std::make_shared<Generator>(iterate(Value::list(std::move(*items))), input.depth(), type));
}

Value batch(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("batch", arguments, {"linecount", "fill_with"}, 1);
  const Value size = bound[0];
  const Value fill = bound.is_set(1) ? bound[1] : Value();
  Budget& budget = interpreter.budget();
  // `pending` opens the next batch: that a batch is full shows only when one more item comes.
  return make_generator(
      std::max(input.depth(), fill.depth() + 1),
      [=, source = IteratorPointer(), pending = Value(), &budget](Value& out) mutable {
        if (!source) source = iterate(input);
        List items;
        if (!pending.is_missing()) items.push_back(std::exchange(pending, Value()));
        for (Value item; source->next(item); items.push_back(std::move(item))) {
          if (!equal(Value(items.size()), size, budget)) continue;
          pending = std::move(item);
          out = Value::list(std::move(items));
          return true;
        }
        if (items.empty()) return false;
        for (int64_t more = fill.is_missing() ? 0 : to_index(size) - static_cast<int64_t>(items.size());
             more > 0; --more) {
          budget.step();
          items.push_back(fill);
        }
        out = Value::list(std::move(items));
        return true;
      });
}

/// The items of `all` in `slices` lists, the first ones longer, or filled up where `fill` is not missing.
Value sliced(const List& all, int64_t slices, const Value& fill, Budget& budget) {
  if (slices == 0) fail("integer division or modulo by zero");
  const auto count = static_cast<int64_t>(all.size());
  List out;
  int64_t start = 0;
  for (int64_t i = 0; i < slices; ++i) {
    budget.step();
    const bool extra = i < count % slices;
    const int64_t end = start + count / slices + (extra ? 1 : 0);
    List part(all.begin() + start, all.begin() + end);
    if (!fill.is_missing() && !extra) part.push_back(fill);
    out.push_back(Value::list(std::move(part)));
    start = end;
  }
  return Value::list(std::move(out));
}

Value slice(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("slice", arguments, {"slices", "fill_with"}, 1);
  const Value count = bound[0];
  const Value fill = bound.is_set(1) ? bound[1] : Value();
  Budget& budget = interpreter.budget();
  return make_generator(std::max(input.depth(), fill.depth()) + 1,
                        [=, parts = IteratorPointer(), &budget](Value& out) mutable {
                          if (!parts)
                            parts = iterate(sliced(to_list(input, budget), to_index(count), fill, budget));
                          return parts->next(out);
                        });
}

Value attr(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("attr", arguments, {"name"}, 1);
  const std::string name = bound.text(0, {});
  if (input.is_undefined()) fail(input.undefined_message());
  Value value = interpreter.attribute(input, name);
  const bool is_key = input.is_dict() && input.as_dict().find(std::string_view(name)) != nullptr;
  // Unlike a dot, the filter does not look into a dict.
  return is_key && !value.object<Function>() ? input.lacking(name) : value;
}

}  // namespace

const FilterTable& sequence_filters() {
  static const FilterTable table = {{"length", length}, {"count", length}, {"default", fallback},
                                    {"d", fallback},    {"first", first},  {"last", last},
                                    {"list", list},     {"items", items},  {"reverse", reverse},
                                    {"batch", batch},   {"slice", slice},  {"attr", attr}};
  return table;
}

}  // namespace tercet::jinja
