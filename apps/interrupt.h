#pragma once

#include <atomic>

namespace tercet {

/// From now on Ctrl-C sets the flag that is returned and does nothing else; whoever acts on it clears it.
std::atomic<bool>& catch_interrupts();

}  // namespace tercet
