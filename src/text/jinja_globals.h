#pragma once

#include "text/jinja_interpreter.h"

namespace tercet::jinja {

/// Adds the functions that every template sees: range, dict, namespace, cycler, joiner, raise_exception and
/// strftime_now.
void add_globals(Scope& scope);

}  // namespace tercet::jinja
