#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja_interpreter.h"
#include "text/value.h"

namespace tercet::jinja {

/// A function of the host: a global, or a method bound to its object.
class Function : public Object {
 public:
  using Body = std::function<Value(Interpreter&, const Arguments&)>;
  Function(std::string name, Body body, int depth = 0)
      : name_(std::move(name)), body_(std::move(body)), depth_(depth) {}

  std::string type_name() const override { return "function"; }
  void repr(std::string& out, Budget& budget) const override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override {
    return body_(interpreter, arguments);
  }
  int depth() const override { return depth_; }

 private:
  std::string name_;
  Body body_;
  int depth_;
};

/// namespace(): the one object whose attributes templates can set.
class Namespace : public Object {
 public:
  explicit Namespace(Dict attributes) : attributes_(std::move(attributes)) {}

  std::string type_name() const override { return "Namespace"; }
  std::string module() const override { return "jinja2.utils."; }
  void repr(std::string& out, Budget& budget) const override;
  Value attribute(std::string_view name) override;
  void set(const std::string& name, Value value) { attributes_.set(name, std::move(value)); }
  void release() override { attributes_ = {}; }

 private:
  Dict attributes_;
};

/// An iterator as a value: what lazy filters return. It can be walked once.
class Generator : public Object {
 public:
  /// `depth`: of the values it draws from. Fails when generators are stacked too deep.
  Generator(IteratorPointer iterator, int depth, std::string type_name = "generator");

  std::string type_name() const override { return type_name_; }
  IteratorPointer iterate() override { return iterator_; }
  int depth() const override { return depth_; }

 private:
  IteratorPointer iterator_;
  int depth_;
  std::string type_name_;
};

/// A generator that yields what `next` puts out, until it returns false.
Value make_generator(int depth, std::function<bool(Value&)> next);

/// dict.keys(), dict.values(), dict.items().
class DictView : public Object {
 public:
  enum class Part { kKeys, kValues, kItems };
  DictView(Value dict, Part part) : dict_(std::move(dict)), part_(part) {}

  std::string type_name() const override;
  void repr(std::string& out, Budget& budget) const override;
  bool truth() const override { return dict_.as_dict().size() != 0; }
  std::optional<int64_t> length() override { return dict_.as_dict().size(); }
  IteratorPointer iterate() override;
  int depth() const override { return dict_.depth() + 1; }

  int64_t size() const { return dict_.as_dict().size(); }
  Value at(int64_t index) const;

 private:
  Value dict_;
  Part part_;
};

class Range : public Object {
 public:
  Range(Int start, Int stop, Int step);

  std::string type_name() const override { return "range"; }
  void repr(std::string& out, Budget& budget) const override;
  bool truth() const override { return count_ != 0; }
  std::optional<int64_t> length() override { return count_; }
  IteratorPointer iterate() override;
  Value item(const Value& key) override;

  int64_t size() const { return count_; }
  Value at(int64_t index) const { return Value(start_ + step_ * index); }
  Int start() const { return start_; }
  Int step() const { return step_; }

 private:
  Int start_, stop_, step_;
  int64_t count_;
};

/// The variable `loop`; also the walk itself.
class Loop : public Object {
 public:
  /// `length`: of what is walked, where known. `statement`: of a recursive loop, else null.
  Loop(IteratorPointer items, std::optional<int64_t> length, int64_t depth0, const Statement* statement,
       ScopePointer scope, Budget& budget)
      : items_(std::move(items)),
        length_(length),
        depth0_(depth0),
        statement_(statement),
        scope_(std::move(scope)),
        budget_(budget) {}

  bool next(Value& out);

  std::string type_name() const override { return "LoopContext"; }
  std::string module() const override { return "jinja2.runtime."; }
  void repr(std::string& out, Budget& budget) const override;
  std::optional<int64_t> length() override;
  IteratorPointer iterate() override;
  Value attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override;
  void release() override { last_changed_.clear(); }

 private:
  bool peek();
  Value position(std::string_view name);
  Value cycle(const Arguments& arguments) const;
  bool changed(Interpreter& interpreter, const Arguments& arguments);

  IteratorPointer items_;
  std::optional<int64_t> length_;
  int64_t depth0_;
  const Statement* statement_;
  ScopePointer scope_;
  Budget& budget_;
  int64_t index0_ = -1;
  Value before_, current_, after_;
  bool has_after_ = false;
  List last_changed_;
  bool was_asked_ = false;
};

/// A macro, or the caller of a call block. The interpreter keeps the scope alive.
class Macro : public Object {
 public:
  Macro(std::string_view name, const Statement& definition, std::weak_ptr<Scope> scope)
      : name_(name), definition_(definition), scope_(std::move(scope)) {}

  std::string type_name() const override { return "Macro"; }
  std::string module() const override { return "jinja2.runtime."; }
  void repr(std::string& out, Budget& budget) const override;
  Value attribute(std::string_view name) override;
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, const Arguments& arguments) override {
    return Value(interpreter.run_function(definition_, scope_.lock(), arguments));
  }

 private:
  std::string name_;
  const Statement& definition_;
  std::weak_ptr<Scope> scope_;
};

}  // namespace tercet::jinja
