#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_interpreter.h"
#include "text/value.h"

namespace tercet::jinja {

using Method = Value (*)(Interpreter&, const Value& self, const Arguments&);
using MethodTable = std::vector<std::pair<std::string_view, Method>>;

/// What Python's getattr(object, name) finds, as the sandbox shows it: a method bound to its object, a part
/// of an object, an undefined value for what the sandbox forbids (changes, names that begin with an
/// underscore), or a missing value.
Value bound_attribute(const Value& object, const std::string& name);

/// The methods of str, by file.
const MethodTable& string_split_methods();
const MethodTable& string_search_methods();
const MethodTable& string_shape_methods();
/// The methods of dict, list and tuple that change nothing.
const MethodTable& dict_methods();
const MethodTable& sequence_methods();

}  // namespace tercet::jinja
