#pragma once

#include <string>
#include <vector>

namespace tercet {

/// One option of a command as a shell sees it.
struct OptionInfo {
  std::string name;  // "--backend"
  std::string description;
  bool takes_value = false;
  std::vector<std::string> choices;  // of the value; none: a file or anything
};

struct CommandInfo {
  std::string name;
  std::string description;
  std::vector<OptionInfo> options;
  std::vector<std::string> choices;  // of its arguments; none: files
};

/// A script that completes `tercet` in `shell`: "bash", "zsh" or "fish".
std::string completion_script(const std::string& shell, const std::vector<CommandInfo>& commands);

}  // namespace tercet
