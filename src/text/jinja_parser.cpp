#include "text/jinja_parser.h"

#include <initializer_list>

#include "text/jinja_parser_state.h"
#include "text/jinja_scope.h"

namespace tercet::jinja {
namespace {

using Names = std::initializer_list<std::string_view>;

class Parser : public ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Program run() {
    Program program;
    program.body = block({});
    return program;
  }

 private:
  bool at_any_name(Names names) const {
    return std::any_of(names.begin(), names.end(), [this](std::string_view name) { return at_name(name); });
  }

  /// Statements up to a tag named by `ends`, which is then the current token, or up to the end of the
  /// template.
  Block block(Names ends);
  /// The end of a tag, then its body up to a tag named by `ends`.
  Block body(Names ends);
  /// The same with one end, which is consumed.
  Block body(std::string_view end);
  Statement statement();
  Statement for_statement(Statement node);
  Statement if_statement(Statement node);
  Statement set_statement(Statement node);
  Statement macro_statement(Statement node);
  Statement call_statement(Statement node);
  Statement with_statement(Statement node);
  Statement filter_statement(Statement node);
  Statement print_statement(Statement node);
  Statement loop_control(Statement node, StatementKind kind);
  Signature signature();
  /// The body of what is called like a function: break and continue cannot leave it.
  Block function_body(std::string_view end);

  int breakable_ = 0;  // loops that break and continue can reach
};

Block Parser::block(Names ends) {
  const Level level(*this);
  Block statements;
  while (!at(TokenKind::kEnd)) {
    const Token token = next();
    if (token.kind == TokenKind::kText) {
      Statement node{StatementKind::kText, token.line};
      node.text = token.text;
      statements.push_back(std::move(node));
    } else if (token.kind == TokenKind::kVariableBegin) {
      Statement node{StatementKind::kPrint, token.line};
      node.values.push_back(tuple());
      expect(TokenKind::kVariableEnd);
      statements.push_back(std::move(node));
    } else {
      if (at_any_name(ends)) return statements;
      statements.push_back(statement());
      expect(TokenKind::kBlockEnd);
    }
  }
  if (ends.size() != 0) {
    fail_at(current().line,
            "Unexpected end of template. The tag '" + std::string(*(ends.end() - 1)) + "' is missing.");
  }
  return statements;
}

Block Parser::body(Names ends) {
  skip_operator(":");
  expect(TokenKind::kBlockEnd);
  return block(ends);
}

Block Parser::body(std::string_view end) {
  Block statements = body(Names{end});
  next();
  return statements;
}

Block Parser::function_body(std::string_view end) {
  const int outer = std::exchange(breakable_, 0);
  Block statements = body(end);
  breakable_ = outer;
  return statements;
}

Statement Parser::statement() {
  if (!at(TokenKind::kName)) fail_at(current().line, "tag name expected");
  const Token tag = next();
  Statement node{StatementKind::kScope, tag.line};
  if (tag.text == "for") return for_statement(std::move(node));
  if (tag.text == "if") return if_statement(std::move(node));
  if (tag.text == "set") return set_statement(std::move(node));
  if (tag.text == "macro") return macro_statement(std::move(node));
  if (tag.text == "call") return call_statement(std::move(node));
  if (tag.text == "with") return with_statement(std::move(node));
  if (tag.text == "filter") return filter_statement(std::move(node));
  if (tag.text == "print") return print_statement(std::move(node));
  if (tag.text == "break") return loop_control(std::move(node), StatementKind::kBreak);
  if (tag.text == "continue") return loop_control(std::move(node), StatementKind::kContinue);
  if (tag.text == "generation") {
    node.body = function_body("endgeneration");
    return node;
  }
  for (const std::string_view other : {"block", "extends", "include", "import", "from", "autoescape"}) {
    if (tag.text == other) fail_at(tag.line, "the tag '" + tag.text + "' is not supported in chat templates");
  }
  fail_at(tag.line, "Encountered unknown tag '" + tag.text + "'.");
}

Statement Parser::for_statement(Statement node) {
  node.kind = StatementKind::kFor;
  ++for_nesting_;
  node.target = target(false, "in");
  expect_name("in");
  node.values.push_back(tuple(Condition::kForbidden, "recursive"));
  if (skip_name("if")) node.test = expression();
  node.recursive = skip_name("recursive");
  ++breakable_;
  node.body = body({"else", "endfor"});
  --breakable_;
  if (next().text == "else") node.otherwise = body("endfor");
  --for_nesting_;
  return node;
}

Statement Parser::if_statement(Statement node) {
  node.kind = StatementKind::kIf;
  node.values.push_back(tuple(Condition::kForbidden));
  node.body = body({"elif", "else", "endif"});
  while (at_name("elif")) {
    Statement branch{StatementKind::kIf, next().line};
    branch.values.push_back(tuple(Condition::kForbidden));
    branch.body = body({"elif", "else", "endif"});
    node.branches.push_back(std::move(branch));
  }
  if (next().text == "else") node.otherwise = body("endif");
  return node;
}

Statement Parser::set_statement(Statement node) {
  node.target = target(true);
  if (skip_operator("=")) {
    node.kind = StatementKind::kSet;
    node.values.push_back(tuple());
    return node;
  }
  node.kind = StatementKind::kSetBlock;
  if (at_operator("|")) node.values.push_back(filters(nullptr, false));
  node.body = body("endset");
  return node;
}

Signature Parser::signature() {
  Signature result;
  expect_operator("(");
  while (!at_operator(")")) {
    if (!result.names.empty()) expect_operator(",");
    const int64_t line = current().line;
    result.names.push_back(expect_name());
    const bool has_default = skip_operator("=");
    if (!has_default && !result.defaults.empty() && result.defaults.back()) {
      fail_at(line, "non-default argument follows default argument");
    }
    result.defaults.push_back(has_default ? expression() : nullptr);
  }
  next();
  return result;
}

Statement Parser::macro_statement(Statement node) {
  node.kind = StatementKind::kMacro;
  node.text = expect_name();
  node.signature = signature();
  node.body = function_body("endmacro");
  return node;
}

Statement Parser::call_statement(Statement node) {
  node.kind = StatementKind::kCallBlock;
  if (at_operator("(")) node.signature = signature();
  node.values.push_back(expression());
  if (node.values[0]->kind != ExpressionKind::kCall) fail_at(node.line, "expected call");
  node.body = function_body("endcall");
  return node;
}

Statement Parser::with_statement(Statement node) {
  node.kind = StatementKind::kWith;
  const int loops = std::exchange(for_nesting_, 0);  // `loop` may be a name here
  while (!at(TokenKind::kBlockEnd)) {
    if (!node.targets.empty()) expect_operator(",");
    node.targets.push_back(target(false));
    expect_operator("=");
    node.values.push_back(expression());
  }
  for_nesting_ = loops;
  node.body = body("endwith");
  return node;
}

Statement Parser::filter_statement(Statement node) {
  node.kind = StatementKind::kFilterBlock;
  node.values.push_back(filters(nullptr, true));
  node.body = body("endfilter");
  return node;
}

Statement Parser::print_statement(Statement node) {
  node.kind = StatementKind::kPrint;
  while (!at(TokenKind::kBlockEnd)) {
    if (!node.values.empty()) expect_operator(",");
    node.values.push_back(expression());
  }
  return node;
}

Statement Parser::loop_control(Statement node, StatementKind kind) {
  if (breakable_ == 0) fail_at(node.line, "'break' and 'continue' belong inside a loop");
  node.kind = kind;
  return node;
}

}  // namespace

Program parse_template(const std::string& source, const std::string& name) {
  Program program = Parser(source, name).run();
  resolve_scopes(program, name);
  return program;
}

}  // namespace tercet::jinja
