#include "text/jinja_parser_state.h"

namespace tercet::jinja {

ExpressionPointer ExpressionParser::postfix(ExpressionPointer node) {
  while (true) {
    if (at_operator(".") || at_operator("[")) {
      node = subscript(std::move(node));
    } else if (at_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

ExpressionPointer ExpressionParser::subscript(ExpressionPointer node) {
  const Token token = next();
  if (token.text == "[") return brackets(std::move(node), token.line);
  const Token attribute = next();
  if (attribute.kind == TokenKind::kName) {
    node = make(ExpressionKind::kAttribute, token.line, parts_of(std::move(node)));
    node->name = attribute.text;
    return node;
  }
  if (attribute.kind != TokenKind::kNumber || attribute.text.empty()) {
    fail_at(attribute.line, "expected name or number");
  }
  ExpressionPointer index = make(ExpressionKind::kConstant, attribute.line, {});
  index->value = attribute.number;
  return make(ExpressionKind::kItem, token.line, parts_of(std::move(node), std::move(index)));
}

/// What follows `[`: an index, several (a tuple), or a slice.
ExpressionPointer ExpressionParser::brackets(ExpressionPointer node, int64_t line) {
  std::vector<ExpressionPointer> keys;
  while (!at_operator("]")) {
    if (!keys.empty()) expect_operator(",");
    ExpressionPointer first = at_operator(":") ? nullptr : expression();
    if (!at_operator(":")) {
      keys.push_back(std::move(first));
      continue;
    }
    std::vector<ExpressionPointer> parts = parts_of(std::move(node));
    parts.push_back(std::move(first));
    for (int i = 0; i < 2; ++i) {
      const bool present = skip_operator(":") && !at_operator(":") && !at_operator("]");
      parts.push_back(present ? expression() : nullptr);
    }
    if (!keys.empty() || !at_operator("]")) fail_at(line, "a slice cannot be one of several indices");
    next();
    return make(ExpressionKind::kSlice, line, std::move(parts));
  }
  next();
  ExpressionPointer key =
      keys.size() == 1 ? std::move(keys[0]) : make(ExpressionKind::kTuple, line, std::move(keys));
  return make(ExpressionKind::kItem, line, parts_of(std::move(node), std::move(key)));
}

void ExpressionParser::argument(CallSyntax& call) {
  const auto ensure = [this](bool valid) {
    if (!valid) fail_at(current().line, "invalid syntax for function call expression");
  };
  if (skip_operator("*")) {
    ensure(!call.star && !call.star_star);
    call.star = expression();
  } else if (skip_operator("**")) {
    ensure(!call.star_star);
    call.star_star = expression();
  } else if (at(TokenKind::kName) && ahead(1).kind == TokenKind::kOperator && ahead(1).text == "=") {
    ensure(!call.star_star);
    std::string key = next().text;
    next();
    for (const auto& [name, value] : call.named) {
      if (name == key) fail_at(current().line, "keyword argument repeated: " + key);
    }
    call.named.emplace_back(std::move(key), expression());
  } else {
    ensure(!call.star && !call.star_star && call.named.empty());
    call.positional.push_back(expression());
  }
}

CallSyntax ExpressionParser::arguments() {
  expect_operator("(");
  CallSyntax call;
  bool first = true;
  while (!at_operator(")")) {
    if (!first) {
      expect_operator(",");
      if (at_operator(")")) break;
    }
    argument(call);
    first = false;
  }
  next();
  return call;
}

ExpressionPointer ExpressionParser::call(ExpressionPointer node) {
  const int64_t line = current().line;
  node = make(ExpressionKind::kCall, line, parts_of(std::move(node)));
  node->call = arguments();
  update_depth(*node);
  return node;
}

std::string ExpressionParser::dotted_name() {
  std::string name = expect_name();
  while (skip_operator(".")) name.append(".").append(expect_name());
  return name;
}

ExpressionPointer ExpressionParser::filters(ExpressionPointer node, bool first_inline) {
  while (first_inline || skip_operator("|")) {
    first_inline = false;
    const int64_t line = current().line;
    std::vector<ExpressionPointer> parts;
    parts.push_back(std::move(node));
    node = make(ExpressionKind::kFilter, line, std::move(parts));
    node->name = dotted_name();
    if (at_operator("(")) node->call = arguments();
    update_depth(*node);
  }
  return node;
}

ExpressionPointer ExpressionParser::test(ExpressionPointer node) {
  const int64_t line = next().line;
  const bool negated = skip_name("not");
  node = make(ExpressionKind::kTest, line, parts_of(std::move(node)));
  node->name = dotted_name();
  if (at_operator("(")) {
    node->call = arguments();
  } else if (at(TokenKind::kString) || at(TokenKind::kNumber) || at_operator("[") || at_operator("{") ||
             (at(TokenKind::kName) && !at_name("else") && !at_name("or") && !at_name("and"))) {
    if (at_name("is")) fail_at(line, "You cannot chain multiple tests with is");
    const Level level(*this);
    node->call.positional.push_back(postfix(primary(false)));
  }
  update_depth(*node);
  return negated ? make(ExpressionKind::kNot, line, parts_of(std::move(node))) : std::move(node);
}

ExpressionPointer ExpressionParser::filters_and_tests(ExpressionPointer node) {
  while (true) {
    if (at_operator("|")) {
      node = filters(std::move(node), false);
    } else if (at_name("is")) {
      node = test(std::move(node));
    } else if (at_operator("(")) {
      node = call(std::move(node));
    } else {
      return node;
    }
  }
}

}  // namespace tercet::jinja
