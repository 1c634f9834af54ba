#pragma once

#include <string>

#include "text/jinja_ast.h"

namespace tercet::jinja {

/// Fills in what jinja2 decides when it compiles: the names each scope hides from the conversation's
/// variables (a name that a scope assigns before it reads it is undefined there until then, inner scopes
/// included), and which of caller, kwargs and varargs a macro takes. Refuses unknown filters and tests
/// outside of conditions, as jinja2 does.
void resolve_scopes(Program& program, const std::string& name);

}  // namespace tercet::jinja
