#pragma once

#include <atomic>
#include <string>

namespace tercet {

/// From now on Ctrl-C sets the flag that is returned and does nothing else; whoever acts on it clears it.
std::atomic<bool>& catch_interrupts();

/// From now on SIGINT and SIGTERM write `text` to standard error, and then end the program as they always do.
void say_when_stopped(const std::string& text);

}  // namespace tercet
