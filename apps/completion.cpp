#include "completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tercet {
namespace {

/// Inside single quotes of any of the shells.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> names(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> all;
  for (const CommandInfo& command : commands) all.push_back(command.name);
  return all;
}

std::string bash(const std::vector<CommandInfo>& commands) {
  std::string out =
      "_tercet() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W \"{} --help --version\" -- \"$word\"))\n    return\n  fi\n",
                     fmt::join(names(commands), " "));
  out += "  case \"${COMP_WORDS[1]} $before\" in\n";
  for (const CommandInfo& command : commands) {
    for (const OptionInfo& option : command.options) {
      if (!option.takes_value) continue;
      const std::string reply =
          option.choices.empty() ? "-f" : fmt::format("-W \"{}\"", fmt::join(option.choices, " "));
      out += fmt::format("    \"{} {}\") COMPREPLY=($(compgen {} -- \"$word\")); return ;;\n", command.name,
                         option.name, reply);
    }
  }
  out += "  esac\n  case \"${COMP_WORDS[1]}\" in\n";
  for (const CommandInfo& command : commands) {
    std::vector<std::string> words = command.choices;
    for (const OptionInfo& option : command.options) words.push_back(option.name);
    out += fmt::format("    {}) COMPREPLY=($(compgen {}-W \"{}\" -- \"$word\")) ;;\n", command.name,
                       command.choices.empty() ? "-f " : "", fmt::join(words, " "));
  }
  return out + "  esac\n}\ncomplete -o filenames -F _tercet tercet\n";
}

std::string zsh_option(const OptionInfo& option) {
  std::string description;
  for (const char c : option.description) {
    if (c == '[' || c == ']' || c == ':') description += '\\';
    description += c;
  }
  std::string spec = fmt::format("{}[{}]", option.name, description);
  if (option.takes_value && option.choices.empty()) spec += ":value:_files";
  if (!option.choices.empty()) spec += fmt::format(":value:({})", fmt::join(option.choices, " "));
  return quoted(spec);
}

std::string zsh(const std::vector<CommandInfo>& commands) {
  std::string out = "#compdef tercet\n_tercet() {\n  local -a commands\n  commands=(\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format("    {}\n", quoted(command.name + ":" + command.description));
  }
  out += "  )\n  if (( CURRENT == 2 )); then\n    _describe command commands\n    return\n  fi\n";
  out += "  local command=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $command in\n";
  for (const CommandInfo& command : commands) {
    out += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionInfo& option : command.options) out += " \\\n        " + zsh_option(option);
    const std::string arguments = command.choices.empty()
                                      ? "*:file:_files"
                                      : fmt::format("*:value:({})", fmt::join(command.choices, " "));
    out += fmt::format(" \\\n        {} ;;\n", quoted(arguments));
  }
  return out + "  esac\n}\n_tercet \"$@\"\n";
}

std::string fish(const std::vector<CommandInfo>& commands) {
  std::string out;
  for (const CommandInfo& command : commands) {
    out += fmt::format("complete -c tercet -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                       quoted(command.description));
  }
  for (const CommandInfo& command : commands) {
    const std::string here =
        fmt::format("complete -c tercet -n '__fish_seen_subcommand_from {}'", command.name);
    if (!command.choices.empty())
      out += fmt::format("{} -f -a '{}'\n", here, fmt::join(command.choices, " "));
    for (const OptionInfo& option : command.options) {
      out += fmt::format("{} -l {} -d {}", here, option.name.substr(2), quoted(option.description));
      if (option.takes_value) out += " -r";
      if (!option.choices.empty()) out += fmt::format(" -f -a '{}'", fmt::join(option.choices, " "));
      out += "\n";
    }
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<CommandInfo>& commands) {
  if (shell == "bash") return bash(commands);
  return shell == "zsh" ? zsh(commands) : fish(commands);
}

}  // namespace tercet
