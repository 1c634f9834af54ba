#pragma once

namespace tercet {

/// The text of code_runner.py.
extern const char* const kCodeRunner;

}  // namespace tercet
