#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja_ast.h"
#include "text/jinja_lexer.h"

namespace tercet::jinja {

/// What error messages call a token.
std::string described_token(const Token& token);
/// The operands of a node.
std::vector<ExpressionPointer> parts_of(ExpressionPointer a, ExpressionPointer b = nullptr);

/// The tokens and the expression half of the parser (jinja_parser_expression.cpp, jinja_parser_postfix.cpp);
/// the statements build on it.
class ExpressionParser {
 public:
  ExpressionParser(const std::string& source, const std::string& name)
      : name_(name), tokens_(tokenize(source, name)) {}

 protected:
  enum class Condition { kAllowed, kForbidden };  // may an expression end in `if ... else ...`?

  const Token& current() const { return tokens_[at_]; }
  const Token& ahead(size_t n) const { return tokens_[std::min(at_ + n, tokens_.size() - 1)]; }
  Token next();
  bool at(TokenKind kind) const { return current().kind == kind; }
  bool at_name(std::string_view text) const { return at(TokenKind::kName) && current().text == text; }
  bool at_operator(std::string_view text) const { return at(TokenKind::kOperator) && current().text == text; }
  bool skip_name(std::string_view text);
  bool skip_operator(std::string_view text);
  std::string expect_name();
  void expect_name(std::string_view text);
  void expect_operator(std::string_view text);
  void expect(TokenKind kind);
  [[noreturn]] void fail_at(int64_t line, const std::string& message) const {
    fail_syntax(name_, line, message);
  }
  [[noreturn]] void fail_unexpected(std::string_view expected) const;

  ExpressionPointer expression(Condition condition = Condition::kAllowed);
  /// One expression, or a tuple of several; `end_name` also ends it.
  ExpressionPointer tuple(Condition condition = Condition::kAllowed, std::string_view end_name = {},
                          bool parenthesized = false);
  /// What can stand left of `=`, `in`: names, tuples of names, and namespace attributes where allowed.
  ExpressionPointer target(bool with_namespace, std::string_view end_name = {});
  /// A chain of filters on `input` (null: the text of a block); `first_inline`: the first has no bar before
  /// it.
  ExpressionPointer filters(ExpressionPointer input, bool first_inline);

  /// Holds one level of nesting while the parser descends.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    ExpressionParser& parser_;
  };

  int for_nesting_ = 0;  // `loop` cannot be a target inside a loop

 private:
  ExpressionPointer make(ExpressionKind kind, int64_t line, std::vector<ExpressionPointer> parts) const;
  void update_depth(Expression& node) const;
  bool at_tuple_end(std::string_view end_name) const;
  ExpressionPointer conditional();
  ExpressionPointer disjunction();
  ExpressionPointer conjunction();
  ExpressionPointer negation();
  ExpressionPointer comparison();
  ExpressionPointer sum();
  ExpressionPointer concatenation();
  ExpressionPointer product();
  ExpressionPointer power();
  ExpressionPointer unary(bool with_filters);
  ExpressionPointer primary(bool with_namespace);
  ExpressionPointer list_literal();
  ExpressionPointer dict_literal();
  ExpressionPointer postfix(ExpressionPointer node);
  ExpressionPointer filters_and_tests(ExpressionPointer node);
  ExpressionPointer subscript(ExpressionPointer node);
  ExpressionPointer brackets(ExpressionPointer node, int64_t line);
  ExpressionPointer call(ExpressionPointer node);
  ExpressionPointer test(ExpressionPointer node);
  std::string dotted_name();
  CallSyntax arguments();
  void argument(CallSyntax& call);
  void check_target(const Expression& node) const;

  std::string name_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace tercet::jinja
