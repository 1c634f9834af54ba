#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace tercet {

/// A regular expression over module names, as `dynamic` rules and recipes hold them: matched from the start
/// of the name, not necessarily to its end, like Python's re.match. The work of a match is bounded.
class Pattern {
 public:
  /// Throws Error(kCheckpoint) if the expression is not valid; `file` names where it was read.
  Pattern(const std::string& expression, const std::string& file);

  /// Throws Error(kCheckpoint) if matching takes too many steps.
  bool matches(std::string_view name) const;

  const std::string& expression() const { return expression_; }

 private:
  struct Compiled;
  std::string expression_;
  std::string file_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tercet
