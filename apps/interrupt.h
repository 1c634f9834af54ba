#pragma once

#include <atomic>
#include <string>

namespace tercet {

/// From now on Ctrl-C sets the flag that is returned and does nothing else; whoever acts on it clears it.
std::atomic<bool>& catch_interrupts();

/// From now on SIGINT and SIGTERM, unless they are ignored, write `text` to standard error, and then end the
/// program as they always do.
void say_when_stopped(const std::string& text);

/// From now on reading a mapped file that has become shorter writes `text` to standard error and ends the
/// program with exit code 1.
void say_when_a_file_shrinks(const std::string& text);

}  // namespace tercet
