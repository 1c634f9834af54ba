#include "text/jinja_scope.h"

#include <algorithm>
#include <map>
#include <set>

#include "text/jinja_filters.h"
#include "text/jinja_lexer.h"
#include "text/jinja_tests.h"

namespace tercet::jinja {
namespace {

template <class Visit>
void visit_parts(const Expression& node, const Visit& visit) {
  const auto look = [&](const ExpressionPointer& part) {
    if (part) visit(*part);
  };
  for (const auto& part : node.parts) look(part);
  for (const auto& part : node.call.positional) look(part);
  for (const auto& [key, part] : node.call.named) look(part);
  look(node.call.star);
  look(node.call.star_star);
}

template <class Visit>
void visit_names(const Expression& node, const Visit& visit) {
  if (node.kind == ExpressionKind::kName) visit(node.name);
  visit_parts(node, [&](const Expression& part) { visit_names(part, visit); });
}

/// How a scope first meets a name.
enum class First { kParameter, kOuter, kAssigned };

/// The names of one scope, in the order jinja2's compiler meets them.
class Symbols {
 public:
  explicit Symbols(const Symbols* outer) : outer_(outer) {}

  void parameter(const std::string& name) {
    assigned_.insert(name);
    first_[name] = First::kParameter;
  }
  void load(const std::string& name) {
    if (!knows(name)) first_.emplace(name, First::kOuter);
  }
  void load_all(const Expression& node) {
    visit_names(node, [this](const std::string& name) { load(name); });
  }
  void store(const std::string& name) {
    assigned_.insert(name);
    first_.emplace(name, outer_ != nullptr && outer_->knows(name) ? First::kOuter : First::kAssigned);
  }
  void store_target(const Expression& node) {
    if (node.kind == ExpressionKind::kName) store(node.name);
    if (node.kind == ExpressionKind::kNamespaceTarget) load_all(node);
    if (node.kind == ExpressionKind::kTuple) {
      for (const auto& part : node.parts) store_target(*part);
    }
  }
  void parameter_target(const Expression& node) {
    visit_names(node, [this](const std::string& name) { parameter(name); });
  }

  /// What only some branches assign may still come from outside.
  void merge(const std::vector<Symbols>& branches) {
    std::set<std::string> conditional;
    for (const Symbols& branch : branches) {
      for (const auto& [name, first] : branch.first_) first_.emplace(name, first);
      for (const std::string& name : branch.assigned_) {
        if (!assigned_.contains(name)) conditional.insert(name);
      }
    }
    for (const std::string& name : conditional) {
      assigned_.insert(name);
      first_[name] = First::kOuter;
    }
  }

  void visit(const Block& block) {
    for (const Statement& node : block) visit(node);
  }

  std::vector<std::string> hidden() const {
    std::vector<std::string> names;
    for (const auto& [name, first] : first_) {
      if (first == First::kAssigned) names.push_back(name);
    }
    return names;
  }

 private:
  bool knows(const std::string& name) const {
    return first_.contains(name) || (outer_ != nullptr && outer_->knows(name));
  }

  void visit(const Statement& node);

  const Symbols* outer_;
  std::map<std::string, First> first_;
  std::set<std::string> assigned_;
};

/// The part of a statement that belongs to the scope it stands in.
void Symbols::visit(const Statement& node) {
  switch (node.kind) {
    case StatementKind::kPrint:
    case StatementKind::kFor:
    case StatementKind::kCallBlock:
    case StatementKind::kFilterBlock:
    case StatementKind::kWith:
      for (const auto& value : node.values) load_all(*value);
      break;
    case StatementKind::kSet:
      load_all(*node.values[0]);
      store_target(*node.target);
      break;
    case StatementKind::kSetBlock:
      store_target(*node.target);
      break;
    case StatementKind::kMacro:
      store(node.text);
      break;
    case StatementKind::kIf: {
      load_all(*node.values[0]);
      std::vector<Symbols> branches(3, *this);
      branches[0].visit(node.body);
      branches[1].visit(node.branches);
      branches[2].visit(node.otherwise);
      merge(branches);
      break;
    }
    default:
      break;
  }
}

class Resolver {
 public:
  explicit Resolver(const std::string& name) : name_(name) {}

  void run(Program& program) {
    Symbols symbols(nullptr);
    symbols.visit(program.body);
    program.hidden = symbols.hidden();
    inner(program.body, symbols, false);
  }

 private:
  /// The scopes inside a block; `soft`: inside a condition, where unknown filters and tests may stand.
  void inner(Block& block, const Symbols& symbols, bool soft) {
    for (Statement& node : block) inner(node, symbols, soft);
  }

  void inner(Statement& node, const Symbols& symbols, bool soft);
  void for_scopes(Statement& node, const Symbols& symbols);
  void function_scope(Statement& node, const Symbols& symbols);
  void check(const Expression& node, bool soft) const;
  void check_if_present(const ExpressionPointer& node, bool soft) const {
    if (node) check(*node, soft);
  }

  const std::string& name_;
};

/// Removes from `names` what a block assigns before reading it, and reports what it reads.
class Uses {
 public:
  bool caller() const { return found_.contains("caller"); }
  bool kwargs() const { return found_.contains("kwargs"); }
  bool varargs() const { return found_.contains("varargs"); }

  void visit(const Block& block) {
    for (const Statement& node : block) visit(node);
  }

 private:
  void load(const Expression& node) {
    visit_names(node, [this](const std::string& name) {
      if (wanted_.contains(name)) found_.insert(name);
    });
  }
  void drop(const Expression& node) {
    visit_names(node, [this](const std::string& name) { wanted_.erase(name); });
  }

  void visit(const Statement& node) {
    for (const std::string& name : node.signature.names) wanted_.erase(name);
    for (const auto& value : node.signature.defaults) {
      if (value) load(*value);
    }
    const bool value_first = node.kind == StatementKind::kIf || node.kind == StatementKind::kPrint;
    if (value_first) load_values(node);
    if (node.target) drop(*node.target);
    for (const auto& target : node.targets) drop(*target);
    if (!value_first) load_values(node);
    visit(node.body);
    visit(node.branches);
    visit(node.otherwise);
    if (node.test) load(*node.test);
  }
  void load_values(const Statement& node) {
    for (const auto& value : node.values) load(*value);
  }

  std::set<std::string> wanted_{"caller", "kwargs", "varargs"};
  std::set<std::string> found_;
};

void Resolver::check(const Expression& node, bool soft) const {
  if (!soft && node.kind == ExpressionKind::kFilter && find_filter(node.name) == nullptr) {
    fail_syntax(name_, node.line, "No filter named '" + node.name + "'.");
  }
  if (!soft && node.kind == ExpressionKind::kTest && find_test(node.name) == nullptr) {
    fail_syntax(name_, node.line, "No test named '" + node.name + "'.");
  }
  const bool soft_parts = soft || node.kind == ExpressionKind::kConditional;
  visit_parts(node, [&](const Expression& part) { check(part, soft_parts); });
}

void Resolver::for_scopes(Statement& node, const Symbols& symbols) {
  check_if_present(node.test, false);
  Symbols body(&symbols);
  body.parameter_target(*node.target);
  body.parameter("loop");
  body.visit(node.body);
  node.hidden = body.hidden();
  inner(node.body, body, false);
  Symbols otherwise(&symbols);
  otherwise.visit(node.otherwise);
  node.otherwise_hidden = otherwise.hidden();
  inner(node.otherwise, otherwise, false);
}

void Resolver::function_scope(Statement& node, const Symbols& symbols) {
  Symbols body(&symbols);
  for (const std::string& name : node.signature.names) body.parameter(name);
  for (const auto& value : node.signature.defaults) {
    if (!value) continue;
    check(*value, false);
    body.load_all(*value);
  }
  body.visit(node.body);
  Uses uses;
  uses.visit(node.body);
  const auto named = [&](const char* name) {
    const auto& names = node.signature.names;
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  node.signature.uses_caller = uses.caller();
  node.signature.uses_kwargs = uses.kwargs() && !named("kwargs");
  node.signature.uses_varargs = uses.varargs() && !named("varargs");
  if (node.signature.uses_caller) body.parameter("caller");
  if (node.signature.uses_kwargs) body.parameter("kwargs");
  if (node.signature.uses_varargs) body.parameter("varargs");
  node.hidden = body.hidden();
  inner(node.body, body, false);
}

void Resolver::inner(Statement& node, const Symbols& symbols, bool soft) {
  const bool condition = node.kind == StatementKind::kIf;
  for (const auto& value : node.values) check(*value, soft || condition);
  switch (node.kind) {
    case StatementKind::kIf:
      inner(node.body, symbols, true);
      inner(node.branches, symbols, true);
      inner(node.otherwise, symbols, true);
      break;
    case StatementKind::kFor:
      for_scopes(node, symbols);
      break;
    case StatementKind::kMacro:
    case StatementKind::kCallBlock:
      function_scope(node, symbols);
      break;
    case StatementKind::kSetBlock:
    case StatementKind::kFilterBlock:
    case StatementKind::kWith:
    case StatementKind::kScope: {
      Symbols body(&symbols);
      for (const auto& target : node.targets) body.parameter_target(*target);
      body.visit(node.body);
      node.hidden = body.hidden();
      inner(node.body, body, false);
      break;
    }
    default:
      break;
  }
}

}  // namespace

void resolve_scopes(Program& program, const std::string& name) {
  Resolver(name).run(program);
}

}  // namespace tercet::jinja
