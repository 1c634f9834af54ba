#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/value.h"
#include "text/value_operators.h"

namespace tercet::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<Expression>;

/// The arguments of a call, a filter or a test.
struct CallSyntax {
  std::vector<ExpressionPointer> positional;
  std::vector<std::pair<std::string, ExpressionPointer>> named;
  ExpressionPointer star;       ///< *args, or null
  ExpressionPointer star_star;  ///< **kwargs, or null
};

enum class ExpressionKind {
  kConstant,         ///< value
  kName,             ///< name
  kTuple,            ///< parts
  kList,             ///< parts
  kDict,             ///< parts: key, value, key, value ...
  kArithmetic,       ///< parts[0] operation parts[1]
  kNegative,         ///< parts[0]
  kPositive,         ///< parts[0]
  kConcat,           ///< parts
  kCompare,          ///< parts[0] comparisons[0] parts[1] comparisons[1] parts[2] ...
  kAnd,              ///< parts
  kOr,               ///< parts
  kNot,              ///< parts[0]
  kConditional,      ///< parts[1] if parts[0] else parts[2], which may be null
  kAttribute,        ///< parts[0].name
  kItem,             ///< parts[0][parts[1]]
  kSlice,            ///< parts[0][parts[1]:parts[2]:parts[3]], each of the three may be null
  kCall,             ///< parts[0](call)
  kFilter,           ///< parts[0] | name(call); parts[0] is null for the text of a block
  kTest,             ///< parts[0] is name(call)
  kNamespaceTarget,  ///< parts[0].name as the target of an assignment
};

struct Expression {
  ExpressionKind kind;
  int64_t line;
  std::string name;
  Value value;
  Operator operation{};
  std::vector<Comparison> comparisons;
  std::vector<ExpressionPointer> parts;
  CallSyntax call;
  int depth = 1;  ///< of the tree below, itself included
};

struct Statement;
using Block = std::vector<Statement>;

/// What a macro, a call block or a generation block is called with.
struct Signature {
  std::vector<std::string> names;
  std::vector<ExpressionPointer> defaults;  ///< as long as names; null: none
  bool uses_caller = false;
  bool uses_kwargs = false;
  bool uses_varargs = false;
};

enum class StatementKind {
  kText,         ///< text
  kPrint,        ///< values
  kIf,           ///< values[0], body, else branches (an `elif` is a kIf of its own), otherwise
  kFor,          ///< target, values[0], test, recursive, body, otherwise
  kSet,          ///< target = values[0]
  kSetBlock,     ///< target = body, through values[0] (a filter) where present
  kMacro,        ///< text is the name
  kCallBlock,    ///< values[0] is the call; body is its caller
  kFilterBlock,  ///< values[0] is the filter of body
  kWith,         ///< targets = values, body
  kScope,        ///< body with names of its own (generation)
  kBreak,
  kContinue,
};

struct Statement {
  Statement(StatementKind kind_of, int64_t line_of) : kind(kind_of), line(line_of) {}

  StatementKind kind;
  int64_t line;
  std::string text;
  ExpressionPointer target;
  std::vector<ExpressionPointer> targets;
  std::vector<ExpressionPointer> values;
  ExpressionPointer test;
  bool recursive = false;
  Signature signature;
  Block body;
  std::vector<Statement> branches;
  Block otherwise;
  /// Names that body and otherwise, as scopes, set before they read them: there a variable of the same name
  /// in the conversation is not seen. See jinja_scope.h.
  std::vector<std::string> hidden;
  std::vector<std::string> otherwise_hidden;
};

/// A parsed template.
struct Program {
  Block body;
  std::vector<std::string> hidden;
};

}  // namespace tercet::jinja
