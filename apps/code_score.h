#pragma once

#include <string>

namespace tercet {

/// Whether there is a python3 to run code with.
bool has_python();

/// Whether the fenced Python functions in both texts have the same name and return equal values for x = 0
/// ... 19. They run in a python3 process of their own with an empty environment and folder, at most 2 s, 512
/// MiB and no file to write; the syntax it accepts reaches neither modules nor the system. Throws Error(kIo)
/// if no process can be started.
bool same_function(const std::string& reply, const std::string& answer);

}  // namespace tercet
