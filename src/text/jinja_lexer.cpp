#include "text/jinja_lexer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "text/jinja_literal.h"
#include "text/jinja_unicode.h"
#include "text/unicode.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// Line breaks become \n, and one at the very end goes.
std::string normalized(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool is_digit_character(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  Lexer(const std::string& source, const std::string& name) : name_(name), source_(normalized(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) text_and_tag();
    add(TokenKind::kEnd, {});
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail_here(const std::string& message) const { fail_syntax(name_, line_, message); }

  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  char32_t point() const {
    return static_cast<char32_t>(utf8_step(source_, static_cast<int64_t>(at_)).value);
  }
  bool starts(std::string_view text) const { return rest().starts_with(text); }

  void add(TokenKind kind, std::string text) { tokens_.push_back({kind, line_, std::move(text), {}}); }

  /// Moves past `bytes` of the source, counting lines.
  void skip(size_t bytes) {
    line_ += std::count(source_.begin() + static_cast<int64_t>(at_),
                        source_.begin() + static_cast<int64_t>(at_ + bytes), '\n');
    at_ += bytes;
  }

  void skip_space() { skip(rest().size() - strip(rest(), true, false).size()); }

  void text_and_tag();
  size_t next_tag() const;
  void add_text(size_t end, char sign, bool may_lstrip);
  void end_tag(size_t bytes, bool strip_after, bool trim_line_break);
  bool try_end_tag(std::string_view close);
  void comment();
  bool raw();
  void tag(std::string_view close, TokenKind end);
  void tag_token();
  void number_token();
  void string_token();
  size_t number_digits(size_t from) const;
  void name_token();
  void operator_token();
  void balance(char c);

  const std::string& name_;
  const std::string source_;
  size_t at_ = 0;
  int64_t line_ = 1;
  bool line_starting_ = true;  // the text at hand begins a line
  std::string open_;           // the brackets that are still to be closed
  std::vector<Token> tokens_;
};

size_t Lexer::next_tag() const {
  for (size_t at = source_.find('{', at_); at != std::string::npos; at = source_.find('{', at + 1)) {
    if (at + 1 < source_.size() && std::string_view("{%#").find(source_[at + 1]) != std::string_view::npos)
      return at;
  }
  return source_.size();
}

/// Adds the text up to `end`, where a tag with the white space control `sign` begins.
void Lexer::add_text(size_t end, char sign, bool may_lstrip) {
  std::string_view text = std::string_view(source_).substr(at_, end - at_);
  if (sign == '-') {
    text = strip(text, false, true);
  } else if (sign != '+' && may_lstrip) {
    const size_t last_break = text.rfind('\n');
    const size_t start = last_break == std::string_view::npos ? 0 : last_break + 1;
    if ((start > 0 || line_starting_) && strip(text.substr(start), true, false).empty())
      text = text.substr(0, start);
  }
  if (!text.empty()) add(TokenKind::kText, std::string(text));
  skip(end - at_);
}

void Lexer::text_and_tag() {
  const size_t begin = next_tag();
  if (begin == source_.size()) return add_text(begin, '+', false);
  const char kind = source_[begin + 1];
  const char sign = begin + 2 < source_.size() ? source_[begin + 2] : '\0';
  add_text(begin, sign, kind != '{');
  if (kind == '%' && raw()) return;
  const int64_t start_line = line_;
  skip(sign == '-' || sign == '+' ? 3 : 2);
  if (kind == '#') return comment();
  tokens_.push_back({kind == '{' ? TokenKind::kVariableBegin : TokenKind::kBlockBegin, start_line, {}, {}});
  if (kind == '{') tag("}}", TokenKind::kVariableEnd);
  if (kind == '%') tag("%}", TokenKind::kBlockEnd);
}

/// Leaves a tag: past `bytes`, the white space after `-`, or one line break.
void Lexer::end_tag(size_t bytes, bool strip_after, bool trim_line_break) {
  const size_t start = at_;
  skip(bytes);
  if (strip_after) skip_space();
  if (trim_line_break && starts("\n")) skip(1);
  line_starting_ = at_ > start && source_[at_ - 1] == '\n';
}

/// At `-CLOSE`, `+CLOSE` or `CLOSE`: leaves the tag.
bool Lexer::try_end_tag(std::string_view close) {
  const bool variable = close == "}}";
  if (starts(close)) {
    end_tag(2, false, !variable);
    return true;
  }
  const bool minus = starts("-");
  if ((minus || (starts("+") && !variable)) && rest().substr(1).starts_with(close)) {
    end_tag(3, minus, false);
    return true;
  }
  return false;
}

void Lexer::comment() {
  if (at_ == source_.size()) return;  // jinja2 lets a comment open where nothing follows
  size_t end = source_.find("#}", at_);
  if (end == std::string::npos) fail_here("Missing end of comment tag");
  if (end > at_ && (source_[end - 1] == '-' || source_[end - 1] == '+')) --end;
  skip(end - at_);
  try_end_tag("#}");
}

/// At a block tag: where it is `raw`, adds the text up to `endraw` and is past that.
bool Lexer::raw() {
  const auto word = [this](size_t from, std::string_view expected) -> size_t {  // the place after it, or 0
    std::string_view text = std::string_view(source_).substr(from + 2);
    if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
    text = strip(text, true, false);
    if (!text.starts_with(expected)) return 0;
    text = strip(text.substr(expected.size()), true, false);
    return source_.size() - text.size();
  };
  const size_t after = word(at_, "raw");
  if (after == 0) return false;
  const std::string_view close = std::string_view(source_).substr(after);
  const bool minus = close.starts_with("-%}");
  if (!minus && !close.starts_with("%}")) return false;
  skip(after - at_);
  end_tag(minus ? 3 : 2, minus, false);
  if (at_ == source_.size()) return true;  // as with comments
  for (size_t begin = source_.find("{%", at_); begin != std::string::npos;
       begin = source_.find("{%", begin + 1)) {
    const size_t end = word(begin, "endraw");
    if (end == 0) continue;
    const std::string_view tail = std::string_view(source_).substr(end, 3);
    if (!tail.starts_with("%}") && tail != "-%}" && tail != "+%}") continue;
    add_text(begin, source_[begin + 2], true);
    skip(end - at_);
    try_end_tag("%}");
    return true;
  }
  fail_here("Missing end of raw directive");
}

/// The tokens of a tag up to its end.
void Lexer::tag(std::string_view close, TokenKind end) {
  open_.clear();
  while (at_ < source_.size()) {
    const int64_t line = line_;
    if (open_.empty() && try_end_tag(close)) {
      tokens_.push_back({end, line, {}, {}});
      return;
    }
    if (is_space(point())) {
      skip_space();
    } else {
      tag_token();
    }
  }
}

void Lexer::tag_token() {
  const char c = source_[at_];
  if (is_digit_character(c) || c == '\'' || c == '"') {
    try {
      is_digit_character(c) ? number_token() : string_token();
    } catch (const Error& error) {
      if (!error.context().file.empty()) throw;
      fail_here(error.message());
    }
  } else if (c == '_' || is_alphanumeric(point())) {
    name_token();
  } else {
    operator_token();
  }
}

void Lexer::string_token() {
  const size_t end = string_literal_end(source_, at_);
  if (end == std::string::npos)
    fail_here(std::string("unexpected char ") + source_[at_] + ": a string is not closed");
  add(TokenKind::kString, unescape(std::string_view(source_).substr(at_ + 1, end - at_ - 2)));
  skip(end - at_);
}

/// The end of a run of digits with single underscores between them.
size_t Lexer::number_digits(size_t from) const {
  size_t end = from;
  while (end < source_.size() && is_digit_character(source_[end])) {
    ++end;
    if (end + 1 < source_.size() && source_[end] == '_' && is_digit_character(source_[end + 1])) ++end;
  }
  return end;
}

void Lexer::number_token() {
  size_t end = number_digits(at_);
  bool real = false;
  const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
  const auto digit_at = [this](size_t at) { return at < source_.size() && is_digit_character(source_[at]); };
  if (!after_dot && end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
    end = number_digits(end + 1);
    real = true;
  }
  if (!after_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
    const bool sign = end + 1 < source_.size() && (source_[end + 1] == '+' || source_[end + 1] == '-');
    if (digit_at(end + (sign ? 2 : 1))) {
      end = number_digits(end + (sign ? 2 : 1));
      real = true;
    }
  }
  Token token{TokenKind::kNumber, line_, {}, {}};
  if (real) {
    token.number = Value(*parse_float(std::string_view(source_).substr(at_, end - at_)));
  } else {
    end = integer_literal_end(source_, at_);
    token.text = source_.substr(at_, end - at_);
    token.number = Value(*parse_int(token.text, 0));
  }
  tokens_.push_back(std::move(token));
  skip(end - at_);
}

void Lexer::name_token() {
  size_t end = at_;
  while (end < source_.size()) {
    const Utf8Step step = utf8_step(source_, static_cast<int64_t>(end));
    const auto point = static_cast<char32_t>(step.value);
    if (point != '_' && !is_alphanumeric(point)) break;
    end += static_cast<size_t>(step.length);
  }
  add(TokenKind::kName, source_.substr(at_, end - at_));
  skip(end - at_);
}

void Lexer::balance(char c) {
  if (c == '(') open_ += ')';
  if (c == '[') open_ += ']';
  if (c == '{') open_ += '}';
  if (c != ')' && c != ']' && c != '}') return;
  if (open_.empty()) fail_here(std::string("unexpected '") + c + "'");
  if (open_.back() != c) fail_here(std::string("unexpected '") + c + "', expected '" + open_.back() + "'");
  open_.pop_back();
}

void Lexer::operator_token() {
  constexpr std::array<std::string_view, 6> kPairs = {"//", "**", "==", "!=", ">=", "<="};
  for (const std::string_view pair : kPairs) {
    if (!starts(pair)) continue;
    add(TokenKind::kOperator, std::string(pair));
    return skip(pair.size());
  }
  const char c = source_[at_];
  if (std::string_view("+-/*%~[](){}><=.:|,;").find(c) == std::string_view::npos) {
    fail_here("unexpected char '" + std::string(rest().substr(0, character_bytes(rest()))) + "'");
  }
  balance(c);
  add(TokenKind::kOperator, std::string(1, c));
  skip(1);
}

}  // namespace

void fail_syntax(const std::string& name, int64_t line, const std::string& message) {
  throw Error(ErrorKind::kUsage, "line " + std::to_string(line) + ": " + message, {.file = name});
}

std::vector<Token> tokenize(const std::string& source, const std::string& name) {
  if (valid_utf8_length(source) != static_cast<int64_t>(source.size())) {
    fail_syntax(name, 1, "the template is not valid UTF-8");
  }
  return Lexer(source, name).run();
}

}  // namespace tercet::jinja
