#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/jinja_ast.h"
#include "text/value.h"

namespace tercet::jinja {

/// The error of raise_exception(): its message is the template's own.
class RaisedByTemplate : public Error {
 public:
  explicit RaisedByTemplate(const std::string& message) : Error(ErrorKind::kUsage, message) {}
};

/// The names of one scope and the scope around it. A missing value hides outer ones.
struct Scope {
  std::vector<std::pair<std::string_view, Value>> names;
  std::shared_ptr<Scope> outer;

  void set(std::string_view name, Value value);
  /// The innermost value of that name; null where no scope has it.
  const Value* find(std::string_view name) const;
};
using ScopePointer = std::shared_ptr<Scope>;

/// The name, no identifier, under which a block's filter finds the block's text.
inline constexpr std::string_view kBlockText = "<block text>";

class Loop;

/// Renders one program once. The program must outlive it; values made by it must not.
class Interpreter {
 public:
  Interpreter(const Program& program, const Limits& limits) : program_(program), budget_(limits) {}
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// The text of the program with these variables. Fails as jinja2 does, with the same message where a
  /// template meets it by design: undefined values and raise_exception.
  std::string run(const Dict& variables);

  /// The line of the statement or expression that was evaluated last.
  int64_t line() const { return line_; }

  Budget& budget() { return budget_; }
  Value evaluate(const Expression& node);
  Value call(const Value& callee, const Arguments& arguments);
  Value call_filter(const std::string& name, const Value& input, const Arguments& arguments);
  bool call_test(const std::string& name, const Value& input, const Arguments& arguments);
  /// object.name and object[key] with jinja2's fallbacks and the sandbox's rules.
  Value attribute(const Value& object, const std::string& name);
  Value item(const Value& object, const Value& key);

  /// Runs a macro or the body of a call block.
  std::string run_function(const Statement& definition, const ScopePointer& scope,
                           const Arguments& arguments);
  /// Runs a recursive loop over `items` from inside of it.
  std::string run_recursive(const Statement& node, const ScopePointer& scope, const Value& items,
                            int64_t depth);
  /// Whether `node`'s condition holds for an item of its loop.
  bool passes_filter(const Statement& node, const ScopePointer& scope, const Value& item);

  /// Keeps an object that can refer to itself; its references are dropped at the end.
  void keep(std::shared_ptr<Object> object) { cyclic_.push_back(std::move(object)); }

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  class Inside;

  // jinja_statements.cpp
  Flow execute(const Block& block);
  Flow execute(const Statement& node);
  Flow execute_if(const Statement& node);
  Flow execute_for(const Statement& node, const Value& items, int64_t depth);
  Flow run_loop(const Statement& node, const std::shared_ptr<Loop>& loop, bool& any);
  void execute_set(const Statement& node);
  Flow execute_set_block(const Statement& node);
  Flow execute_filter_block(const Statement& node);
  Flow execute_with(const Statement& node);
  void execute_call_block(const Statement& node);
  Value function(const Statement& node, std::string_view name);
  Flow capture(const Statement& node, Value& result);
  void assign(const Expression& target, const Value& value);
  void check_namespaces(const Expression& target);
  void write(std::string_view text);
  void bind_parameters(const Statement& definition, const Arguments& arguments);

  // jinja_expressions.cpp
  Value lookup(const std::string& name) const;
  Value evaluate_node(const Expression& node);
  Value evaluate_item(const Expression& node);
  Value evaluate_slice(const Expression& node);
  Value evaluate_dict(const Expression& node);
  Value evaluate_concat(const Expression& node);
  Value evaluate_conditional(const Expression& node);
  bool evaluate_comparison(const Expression& node);
  List evaluate_list(const Expression& node);
  Value evaluate_filter(const Expression& node);
  Arguments evaluate_arguments(const CallSyntax& call);

  const Program& program_;
  Budget budget_;
  ScopePointer scope_;
  std::string* out_ = nullptr;
  int64_t line_ = 1;
  std::vector<std::shared_ptr<Object>> cyclic_;
  std::vector<ScopePointer> captured_;  // scopes that macros refer to
};

}  // namespace tercet::jinja
