#include "text/jinja_filters.h"
#include "text/jinja_objects.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<int64_t>(count));
  return rest;
}

int depth_of(const Value& input, const Arguments& arguments) {
  int depth = input.depth();
  for (const Value& value : arguments.positional) depth = std::max(depth, value.depth());
  for (const auto& [name, value] : arguments.named) depth = std::max(depth, value.depth());
  return depth;
}

std::string name_of(const Value& value, const char* kind, Budget& budget) {
  if (!value.is_string()) fail(std::string("No ") + kind + " named " + repr(value, budget) + ".");
  return value.as_string();
}

/// What map() does to an item.
std::function<Value(const Value&)> mapping(Interpreter& interpreter, const Arguments& arguments) {
  if (arguments.positional.empty()) {
    Value attribute, otherwise;
    for (const auto& [name, value] : arguments.named) {
      if (name == "attribute") attribute = value;
      if (name == "default") otherwise = value;
      if (name != "attribute" && name != "default") fail("Unexpected keyword argument '" + name + "'");
    }
    if (attribute.is_missing()) fail("map requires a filter argument");
    return [&interpreter, path = AttributePath(attribute), otherwise](const Value& item) {
      return path.get(interpreter, item, otherwise);
    };
  }
  const std::string name = name_of(arguments.positional[0], "filter", interpreter.budget());
  return [&interpreter, name, rest = without_first(arguments, 1)](const Value& item) {
    return interpreter.call_filter(name, item, rest);
  };
}

/// As jinja2's generators do, everything happens when the first item is asked for.
Value map(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  IteratorPointer source;
  std::function<Value(const Value&)> change;
  return make_generator(depth_of(input, arguments), [=, &interpreter](Value& out) mutable {
    if (!input.truth()) return false;
    if (!source) {
      change = mapping(interpreter, arguments);
      source = iterate(input);
    }
    Value item;
    if (!source->next(item)) return false;
    interpreter.budget().step();
    out = change(item);
    return true;
  });
}

/// Whether select() and the like pass an item, before any negation.
std::function<bool(const Value&)> selection(Interpreter& interpreter, const Arguments& arguments,
                                            bool by_attribute) {
  if (by_attribute && arguments.positional.empty()) fail("Missing parameter for attribute name");
  const AttributePath path(by_attribute ? arguments.positional[0] : Value());
  const size_t offset = by_attribute ? 1 : 0;
  if (arguments.positional.size() == offset) {
    return [&interpreter, path](const Value& item) { return path.get(interpreter, item).truth(); };
  }
  const std::string name = name_of(arguments.positional[offset], "test", interpreter.budget());
  return [&interpreter, path, name, rest = without_first(arguments, offset + 1)](const Value& item) {
    return interpreter.call_test(name, path.get(interpreter, item), rest);
  };
}

Value selected(Interpreter& interpreter, const Value& input, const Arguments& arguments, bool by_attribute,
               bool wanted) {
  IteratorPointer source;
  std::function<bool(const Value&)> passes;
  return make_generator(depth_of(input, arguments), [=, &interpreter](Value& out) mutable {
    if (!input.truth()) return false;
    if (!source) {
      passes = selection(interpreter, arguments, by_attribute);
      source = iterate(input);
    }
    while (source->next(out)) {
      interpreter.budget().step();
      if (passes(out) == wanted) return true;
    }
    return false;
  });
}

template <bool kByAttribute, bool kWanted>
Value select(Interpreter& interpreter, const Value& input, const Arguments& arguments) {
  return selected(interpreter, input, arguments, kByAttribute, kWanted);
}

}  // namespace

const FilterTable& selection_filters() {
  static const FilterTable table = {{"map", map},
                                    {"select", select<false, true>},
                                    {"reject", select<false, false>},
                                    {"selectattr", select<true, true>},
                                    {"rejectattr", select<true, false>}};
  return table;
}

}  // namespace tercet::jinja
