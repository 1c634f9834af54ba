#pragma once

#include <string_view>

#include "text/jinja_interpreter.h"
#include "text/value.h"

namespace tercet::jinja {

using Test = bool (*)(Interpreter&, const Value& input, const Arguments&);

/// The test of that name, or null.
Test find_test(std::string_view name);

}  // namespace tercet::jinja
