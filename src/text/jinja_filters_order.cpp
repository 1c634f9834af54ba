#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_filters.h"
#include "text/jinja_objects.h"
#include "text/value_operators.h"

namespace tercet::jinja {
namespace {

struct Keyed {
  Value key;
  Value item;
};

/// Python's sorted() by key: stable, in reverse too.
List sorted(std::vector<Keyed> items, bool reverse, Budget& budget) {
  const auto before = [&budget](const Keyed& a, const Keyed& b) {
    return compare(Comparison::kLess, a.key, b.key, budget);
  };
  if (reverse) std::reverse(items.begin(), items.end());
  std::stable_sort(items.begin(), items.end(), before);
  if (reverse) std::reverse(items.begin(), items.end());
  List out;
  for (Keyed& entry : items) out.push_back(std::move(entry.item));
  return out;
}

Value sort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  const std::vector<AttributePath> paths = attribute_paths(bound[2]);
  std::vector<Keyed> items;
  for (Value& item : to_list(input, interpreter.budget())) {
    List key;
    for (const AttributePath& path : paths) {
      const Value part = path.get(interpreter, item);
      key.push_back(bound.truth(1, false) ? part : ignore_case(part));
    }
    items.push_back({Value::list(std::move(key)), std::move(item)});
  }
  return Value::list(sorted(std::move(items), bound.integer(0, 0) != 0, interpreter.budget()));
}

Value dictsort(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const std::string by = bound.text(1, "key");
  if (by != "key" && by != "value") fail("You can only sort by either \"key\" or \"value\"");
  if (input.is_undefined()) fail(input.undefined_message());
  if (!input.is_dict()) fail("'" + input.type_name() + "' object has no attribute 'items'");
  std::vector<Keyed> items;
  for (const auto& [key, value] : input.as_dict().items()) {
    const Value& part = by == "key" ? key : value;
    items.push_back({bound.truth(0, false) ? part : ignore_case(part), Value::tuple({key, value})});
  }
  return Value::list(sorted(std::move(items), bound.integer(2, 0) != 0, interpreter.budget()));
}

Value unique(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("unique", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(bound[1]);
  const bool case_sensitive = bound.truth(0, false);
  const auto seen = std::make_shared<Dict>();
  return make_generator(input.depth(), [=, source = IteratorPointer(), &interpreter](Value& out) mutable {
    if (!source) source = iterate(input);
    while (source->next(out)) {
      const Value part = path.get(interpreter, out);
      const Value key = case_sensitive ? part : ignore_case(part);
      if (seen->find(key, interpreter.budget()) != nullptr) continue;
      seen->set(key, Value::none(), interpreter.budget());
      return true;
    }
    return false;
  });
}

Value extreme(Interpreter& interpreter, const Value& input, const Arguments& arguments, Comparison better) {
  const Bound bound("min or max", arguments, {"case_sensitive", "attribute"});
  const AttributePath path(bound[1]);
  const bool case_sensitive = bound.truth(0, false);
  const IteratorPointer source = iterate(input);
  Keyed best;
  bool any = false;
  for (Value item; source->next(item);) {
    const Value part = path.get(interpreter, item);
    Value key = case_sensitive ? part : ignore_case(part);
    if (!any || compare(better, key, best.key, interpreter.budget()))
      best = {std::move(key), std::move(item)};
    any = true;
  }
  return any ? best.item : Value::undefined("No aggregated item, sequence was empty.");
}

Value minimum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  return extreme(interpreter, input, arguments, Comparison::kLess);
}

Value maximum(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  return extreme(interpreter, input, arguments, Comparison::kGreater);
}

Value groupby(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  const Bound bound("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(bound[0]);
  const bool case_sensitive = bound.truth(2, false);
  const auto key_of = [&](const Value& item) {
    const Value key = path.get(interpreter, item, bound[1]);
    return case_sensitive ? key : ignore_case(key);
  };
  std::vector<Keyed> items;
  for (Value& item : to_list(input, interpreter.budget())) {
    Value key = key_of(item);
    items.push_back({std::move(key), std::move(item)});
  }
  const List in_order = sorted(std::move(items), false, interpreter.budget());
  List groups;
  for (size_t begin = 0; begin < in_order.size();) {
    const Value key = key_of(in_order[begin]);
    size_t end = begin + 1;
    while (end < in_order.size() && equal(key, key_of(in_order[end]), interpreter.budget())) ++end;
    List members(in_order.begin() + static_cast<int64_t>(begin),
                 in_order.begin() + static_cast<int64_t>(end));
    const Value shown = path.get(interpreter, members[0], bound[1]);
    groups.push_back(Value::group(shown, Value::list(std::move(members))));
    begin = end;
  }
  return Value::list(std::move(groups));
}

}  // namespace

const FilterTable& order_filters() {
  static const FilterTable table = {{"sort", sort},   {"dictsort", dictsort}, {"unique", unique},
                                    {"min", minimum}, {"max", maximum},       {"groupby", groupby}};
  return table;
}

}  // namespace tercet::jinja
