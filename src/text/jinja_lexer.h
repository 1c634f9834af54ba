#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "text/value.h"

namespace tercet::jinja {

enum class TokenKind {
  kText,           ///< template text between tags, with white space already trimmed
  kVariableBegin,  ///< {{
  kVariableEnd,
  kBlockBegin,  ///< {%
  kBlockEnd,
  kName,
  kString,
  kNumber,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind;
  int64_t line;
  std::string text;  ///< text, name, the string's value, the operator
  Value number;      ///< of kNumber
};

/// Cuts a template as jinja2 does with trim_blocks, lstrip_blocks and without keep_trailing_newline. The last
/// token is kEnd. Syntax errors are tercet::Error (kUsage) with file `name` and the line in the message.
std::vector<Token> tokenize(const std::string& source, const std::string& name);

[[noreturn]] void fail_syntax(const std::string& name, int64_t line, const std::string& message);

}  // namespace tercet::jinja
