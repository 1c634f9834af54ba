#include <algorithm>
#include <array>

#include "text/jinja_parser_state.h"

namespace tercet::jinja {
namespace {

struct ArithmeticName {
  std::string_view text;
  Operator operation;
};

const Operator* find_operator(const Token& token, std::initializer_list<const ArithmeticName*> table) {
  if (token.kind != TokenKind::kOperator) return nullptr;
  for (const ArithmeticName* entry : table) {
    if (entry->text == token.text) return &entry->operation;
  }
  return nullptr;
}

constexpr ArithmeticName kPlus{"+", Operator::kAdd};
constexpr ArithmeticName kMinus{"-", Operator::kSubtract};
constexpr ArithmeticName kTimes{"*", Operator::kMultiply};
constexpr ArithmeticName kOver{"/", Operator::kDivide};
constexpr ArithmeticName kFloorOver{"//", Operator::kFloorDivide};
constexpr ArithmeticName kModulo{"%", Operator::kModulo};

}  // namespace

ExpressionPointer ExpressionParser::expression(Condition condition) {
  return condition == Condition::kAllowed ? conditional() : disjunction();
}

ExpressionPointer ExpressionParser::conditional() {
  const Level level(*this);
  ExpressionPointer node = disjunction();
  while (at_name("if")) {
    const int64_t line = next().line;
    ExpressionPointer condition = disjunction();
    ExpressionPointer otherwise = skip_name("else") ? conditional() : nullptr;
    auto parts = parts_of(std::move(condition), std::move(node));
    parts.push_back(std::move(otherwise));
    node = make(ExpressionKind::kConditional, line, std::move(parts));
  }
  return node;
}

ExpressionPointer ExpressionParser::disjunction() {
  ExpressionPointer node = conjunction();
  while (at_name("or")) {
    const int64_t line = next().line;
    node = make(ExpressionKind::kOr, line, parts_of(std::move(node), conjunction()));
  }
  return node;
}

ExpressionPointer ExpressionParser::conjunction() {
  ExpressionPointer node = negation();
  while (at_name("and")) {
    const int64_t line = next().line;
    node = make(ExpressionKind::kAnd, line, parts_of(std::move(node), negation()));
  }
  return node;
}

ExpressionPointer ExpressionParser::negation() {
  if (!at_name("not")) return comparison();
  const Level level(*this);
  const int64_t line = next().line;
  return make(ExpressionKind::kNot, line, parts_of(negation()));
}

ExpressionPointer ExpressionParser::comparison() {
  constexpr std::array<std::pair<std::string_view, Comparison>, 6> kSymbols = {
      {{"==", Comparison::kEqual},
       {"!=", Comparison::kNotEqual},
       {"<", Comparison::kLess},
       {"<=", Comparison::kLessEqual},
       {">", Comparison::kGreater},
       {">=", Comparison::kGreaterEqual}}};
  const int64_t line = current().line;
  auto parts = parts_of(sum());
  std::vector<Comparison> comparisons;
  while (true) {
    const auto* symbol = std::find_if(kSymbols.begin(), kSymbols.end(),
                                      [this](const auto& entry) { return at_operator(entry.first); });
    if (symbol != kSymbols.end()) {
      comparisons.push_back(symbol->second);
    } else if (at_name("in")) {
      comparisons.push_back(Comparison::kIn);
    } else if (at_name("not") && ahead(1).kind == TokenKind::kName && ahead(1).text == "in") {
      comparisons.push_back(Comparison::kNotIn);
      next();
    } else {
      break;
    }
    next();
    parts.push_back(sum());
  }
  if (comparisons.empty()) return std::move(parts[0]);
  ExpressionPointer node = make(ExpressionKind::kCompare, line, std::move(parts));
  node->comparisons = std::move(comparisons);
  return node;
}

ExpressionPointer ExpressionParser::sum() {
  ExpressionPointer node = concatenation();
  while (const Operator* operation = find_operator(current(), {&kPlus, &kMinus})) {
    const int64_t line = next().line;
    node = make(ExpressionKind::kArithmetic, line, parts_of(std::move(node), concatenation()));
    node->operation = *operation;
  }
  return node;
}

ExpressionPointer ExpressionParser::concatenation() {
  const int64_t line = current().line;
  auto parts = parts_of(product());
  while (skip_operator("~")) parts.push_back(product());
  return parts.size() == 1 ? std::move(parts[0]) : make(ExpressionKind::kConcat, line, std::move(parts));
}

ExpressionPointer ExpressionParser::product() {
  ExpressionPointer node = power();
  while (const Operator* operation = find_operator(current(), {&kTimes, &kOver, &kFloorOver, &kModulo})) {
    const int64_t line = next().line;
    node = make(ExpressionKind::kArithmetic, line, parts_of(std::move(node), power()));
    node->operation = *operation;
  }
  return node;
}

ExpressionPointer ExpressionParser::power() {
  ExpressionPointer node = unary(true);
  while (at_operator("**")) {
    const int64_t line = next().line;
    node = make(ExpressionKind::kArithmetic, line, parts_of(std::move(node), unary(true)));
    node->operation = Operator::kPower;
  }
  return node;
}

ExpressionPointer ExpressionParser::unary(bool with_filters) {
  ExpressionPointer node;
  if (at_operator("-") || at_operator("+")) {
    const Level level(*this);
    const Token sign = next();
    node = make(sign.text == "-" ? ExpressionKind::kNegative : ExpressionKind::kPositive, sign.line,
                parts_of(unary(false)));
  } else {
    node = primary(false);
  }
  node = postfix(std::move(node));
  return with_filters ? filters_and_tests(std::move(node)) : std::move(node);
}

ExpressionPointer ExpressionParser::primary(bool with_namespace) {
  const Token token = current();
  if (token.kind == TokenKind::kOperator) {
    if (token.text == "[") return list_literal();
    if (token.text == "{") return dict_literal();
    if (token.text != "(") fail_at(token.line, "unexpected '" + token.text + "'");
    next();
    ExpressionPointer node = tuple(Condition::kAllowed, {}, true);
    expect_operator(")");
    return node;
  }
  if (token.kind != TokenKind::kName && token.kind != TokenKind::kString &&
      token.kind != TokenKind::kNumber) {
    fail_at(token.line, "unexpected '" + described_token(token) + "'");
  }
  next();
  ExpressionPointer node = make(ExpressionKind::kConstant, token.line, {});
  if (token.kind == TokenKind::kNumber) {
    node->value = token.number;
  } else if (token.kind == TokenKind::kString) {
    std::string text = token.text;
    while (at(TokenKind::kString)) text += next().text;
    node->value = Value(std::move(text));
  } else if (token.text == "true" || token.text == "True") {
    node->value = Value(true);
  } else if (token.text == "false" || token.text == "False") {
    node->value = Value(false);
  } else if (token.text == "none" || token.text == "None") {
    node->value = Value::none();
  } else {
    node->kind = ExpressionKind::kName;
    node->name = token.text;
    if (with_namespace && skip_operator(".")) {
      node = make(ExpressionKind::kNamespaceTarget, token.line, parts_of(std::move(node)));
      node->name = expect_name();
    }
  }
  return node;
}

bool ExpressionParser::at_tuple_end(std::string_view end_name) const {
  return at(TokenKind::kVariableEnd) || at(TokenKind::kBlockEnd) || at_operator(")") ||
         (!end_name.empty() && at_name(end_name));
}

ExpressionPointer ExpressionParser::tuple(Condition condition, std::string_view end_name,
                                          bool parenthesized) {
  const int64_t line = current().line;
  std::vector<ExpressionPointer> parts;
  bool is_tuple = false;
  while (!at_tuple_end(end_name)) {
    parts.push_back(expression(condition));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple) {
    if (!parts.empty()) return std::move(parts[0]);
    if (!parenthesized) fail_at(line, "Expected an expression, got '" + described_token(current()) + "'");
  }
  return make(ExpressionKind::kTuple, line, std::move(parts));
}

void ExpressionParser::check_target(const Expression& node) const {
  switch (node.kind) {
    case ExpressionKind::kName:
      if (for_nesting_ > 0 && node.name == "loop") {
        fail_at(node.line, "Can't assign to special loop variable in for-loop");
      }
      return;
    case ExpressionKind::kTuple:
      for (const auto& part : node.parts) check_target(*part);
      return;
    case ExpressionKind::kNamespaceTarget:
      return;
    default:
      fail_at(node.line, "can't assign to this expression; assign to a name");
  }
}

ExpressionPointer ExpressionParser::target(bool with_namespace, std::string_view end_name) {
  const int64_t line = current().line;
  std::vector<ExpressionPointer> parts;
  bool is_tuple = false;
  while (!at_tuple_end(end_name)) {
    parts.push_back(primary(with_namespace));
    if (!skip_operator(",")) break;
    is_tuple = true;
  }
  if (parts.empty()) fail_at(line, "Expected an expression, got '" + described_token(current()) + "'");
  ExpressionPointer node =
      is_tuple ? make(ExpressionKind::kTuple, line, std::move(parts)) : std::move(parts[0]);
  check_target(*node);
  return node;
}

ExpressionPointer ExpressionParser::list_literal() {
  const int64_t line = next().line;
  std::vector<ExpressionPointer> parts;
  while (!at_operator("]")) {
    if (!parts.empty()) expect_operator(",");
    if (at_operator("]")) break;
    parts.push_back(expression());
  }
  next();
  return make(ExpressionKind::kList, line, std::move(parts));
}

ExpressionPointer ExpressionParser::dict_literal() {
  const int64_t line = next().line;
  std::vector<ExpressionPointer> parts;
  while (!at_operator("}")) {
    if (!parts.empty()) expect_operator(",");
    if (at_operator("}")) break;
    parts.push_back(expression());
    expect_operator(":");
    parts.push_back(expression());
  }
  next();
  return make(ExpressionKind::kDict, line, std::move(parts));
}

}  // namespace tercet::jinja
