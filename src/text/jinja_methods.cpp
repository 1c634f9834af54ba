#include "text/jinja_methods.h"

#include <algorithm>

#include "text/jinja_arguments.h"
#include "text/jinja_objects.h"
#include "text/jinja_slice.h"
#include "text/value_operators.h"

namespace tercet::jinja {
namespace {

Value get(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("get", arguments, {"key", "default"}, 1);
  const Value* found = self.as_dict().find(bound[0], interpreter.budget());
  return found != nullptr ? *found : bound.value(1, Value::none());
}

template <DictView::Part kPart>
Value view(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("view", arguments, {});
  return Value(std::make_shared<DictView>(self, kPart));
}

Value copy(Interpreter&, const Value& self, const Arguments& arguments) {
  const Bound bound("copy", arguments, {});
  return self;
}

Value count(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("count", arguments, {"value"}, 1);
  int64_t found = 0;
  for (const Value& item : self.items()) found += equal(item, bound[0], interpreter.budget()) ? 1 : 0;
  return Value(found);
}

Value index(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const Bound bound("index", arguments, {"value", "start", "stop"}, 1);
  const auto size = static_cast<int64_t>(self.items().size());
  const auto place = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t stop = place(bound.integer(2, size));
  for (int64_t i = place(bound.integer(1, 0)); i < stop; ++i) {
    if (equal(self.items()[static_cast<size_t>(i)], bound[0], interpreter.budget())) return Value(i);
  }
  fail(self.kind() == Value::Kind::kList ? "value is not in list" : "tuple.index(x): x not in tuple");
}

/// A method, bound; `table` may hold it.
Value find_method(const Value& object, std::string_view name, const MethodTable& table) {
  const auto at =
      std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == name; });
  if (at == table.end()) return Value();
  return Value(std::make_shared<Function>(
      std::string(name),
      [self = object, method = at->second](Interpreter& interpreter, const Arguments& arguments) {
        if (self.is_string()) interpreter.budget().scan(static_cast<int64_t>(self.as_string().size()));
        return method(interpreter, self, arguments);
      },
      object.depth() + 1));
}

/// Methods that Python has and templates cannot call.
bool is_named(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_forbidden(const Value& object, std::string_view name) {
  if (is_named(name,
               {"__class__", "__doc__", "__init__", "__eq__", "__hash__", "__str__", "__repr__", "__len__",
                "__iter__", "__getitem__", "__contains__", "__add__", "__dict__", "__subclasshook__"})) {
    return true;
  }
  if (object.is_dict()) return is_named(name, {"clear", "pop", "popitem", "setdefault", "update"});
  if (object.kind() != Value::Kind::kList) return false;
  return is_named(name, {"append", "clear", "pop", "reverse", "insert", "sort", "extend", "remove"});
}

bool is_unsupported(const Value& object, std::string_view name) {
  if (object.is_dict()) return name == "fromkeys";
  return object.is_string() && is_named(name, {"encode", "translate", "maketrans", "casefold", "isidentifier",
                                               "isnumeric", "format_map"});
}

Value number_attribute(const Value& object, std::string_view name) {
  if (name == "real" || (name == "numerator" && object.integer())) return object;
  if (name == "imag") return object.is_float() ? Value(0.0) : Value(0);
  if (name == "denominator" && object.integer()) return Value(1);
  return Value();
}

Value attribute_of(const Value& object, const std::string& name) {
  if (object.is_string()) {
    for (const MethodTable* table :
         {&string_split_methods(), &string_search_methods(), &string_shape_methods()}) {
      Value method = find_method(object, name, *table);
      if (!method.is_missing()) return method;
    }
    return Value();
  }
  if (object.is_dict()) return find_method(object, name, dict_methods());
  if (object.is_group() && name == "grouper") return object.items()[0];
  if (object.is_group() && name == "list") return object.items()[1];
  if (object.is_sequence()) {
    if (name == "copy" && object.kind() == Value::Kind::kTuple) return Value();
    return find_method(object, name, sequence_methods());
  }
  if (object.is_number()) return number_attribute(object, name);
  return object.is_object() ? object.as_object().attribute(name) : Value();
}

}  // namespace

const MethodTable& dict_methods() {
  static const MethodTable table = {{"get", get},
                                    {"items", view<DictView::Part::kItems>},
                                    {"keys", view<DictView::Part::kKeys>},
                                    {"values", view<DictView::Part::kValues>},
                                    {"copy", copy}};
  return table;
}

const MethodTable& sequence_methods() {
  static const MethodTable table = {{"count", count}, {"index", index}, {"copy", copy}};
  return table;
}

Value bound_attribute(const Value& object, const std::string& name) {
  if (is_forbidden(object, name)) {
    return Value::undefined("access to attribute '" + name + "' of '" + object.type_name() +
                            "' object is unsafe.");
  }
  if (is_unsupported(object, name)) {
    return Value(std::make_shared<Function>(name, [name](Interpreter&, const Arguments&) -> Value {
      fail("the method '" + name + "' is not supported in templates");
    }));
  }
  return attribute_of(object, name);
}

}  // namespace tercet::jinja
