#include "text/jinja_parser_state.h"

#include <algorithm>

namespace tercet::jinja {
namespace {

constexpr int kMaxNesting = 100;    // of brackets, operators and blocks in the source
constexpr int kMaxTreeDepth = 400;  // of an expression, long chains like a + b + c + ... included

}  // namespace

std::string described_token(const Token& token) {
  switch (token.kind) {
    case TokenKind::kText:
      return "template text";
    case TokenKind::kVariableBegin:
      return "begin of print statement";
    case TokenKind::kVariableEnd:
      return "end of print statement";
    case TokenKind::kBlockBegin:
      return "begin of statement block";
    case TokenKind::kBlockEnd:
      return "end of statement block";
    case TokenKind::kNumber:
      return token.text.empty() ? "float" : "integer";
    case TokenKind::kString:
      return "string";
    case TokenKind::kEnd:
      return "end of template";
    default:
      return token.text;
  }
}

std::vector<ExpressionPointer> parts_of(ExpressionPointer a, ExpressionPointer b) {
  std::vector<ExpressionPointer> parts;
  parts.push_back(std::move(a));
  if (b) parts.push_back(std::move(b));
  return parts;
}

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser.depth_ > kMaxNesting) {
    --parser.depth_;
    parser.fail_at(parser.current().line,
                   "nested more than " + std::to_string(kMaxNesting) + " levels deep; simplify the template");
  }
}

Token ExpressionParser::next() {
  Token token = current();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool ExpressionParser::skip_name(std::string_view text) {
  if (!at_name(text)) return false;
  next();
  return true;
}

bool ExpressionParser::skip_operator(std::string_view text) {
  if (!at_operator(text)) return false;
  next();
  return true;
}

void ExpressionParser::fail_unexpected(std::string_view expected) const {
  fail_at(current().line,
          "expected token '" + std::string(expected) + "', got '" + described_token(current()) + "'");
}

std::string ExpressionParser::expect_name() {
  if (!at(TokenKind::kName)) fail_unexpected("name");
  return next().text;
}

void ExpressionParser::expect_name(std::string_view text) {
  if (!skip_name(text)) fail_unexpected(text);
}

void ExpressionParser::expect_operator(std::string_view text) {
  if (!skip_operator(text)) fail_unexpected(text);
}

void ExpressionParser::expect(TokenKind kind) {
  if (!at(kind)) fail_unexpected(described_token({kind, 0, {}, {}}));
  next();
}

void ExpressionParser::update_depth(Expression& node) const {
  int deepest = 0;
  const auto look = [&](const ExpressionPointer& part) {
    if (part) deepest = std::max(deepest, part->depth);
  };
  for (const auto& part : node.parts) look(part);
  for (const auto& part : node.call.positional) look(part);
  for (const auto& [key, part] : node.call.named) look(part);
  look(node.call.star);
  look(node.call.star_star);
  node.depth = deepest + 1;
  if (node.depth > kMaxTreeDepth) {
    fail_at(node.line, "an expression of more than " + std::to_string(kMaxTreeDepth) + " levels; split it");
  }
}

ExpressionPointer ExpressionParser::make(ExpressionKind kind, int64_t line,
                                         std::vector<ExpressionPointer> parts) const {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->line = line;
  node->parts = std::move(parts);
  update_depth(*node);
  return node;
}

}  // namespace tercet::jinja
