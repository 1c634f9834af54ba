#pragma once

#include <string>

#include "text/jinja_ast.h"

namespace tercet::jinja {

/// Parses a template; errors are tercet::Error (kUsage) that name the line. `name` is the file in errors.
Program parse_template(const std::string& source, const std::string& name);

}  // namespace tercet::jinja
