#include "text/jinja_objects.h"

#include <algorithm>

#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

constexpr int64_t kMaxRange = 100000;  // the sandbox's

class FunctionIterator : public Iterator {
 public:
  explicit FunctionIterator(std::function<bool(Value&)> next) : next_(std::move(next)) {}
  bool next(Value& out) override { return next_ && next_(out); }

 private:
  std::function<bool(Value&)> next_;
};

/// Walks an object that has size() and at().
template <class Indexed>
class IndexIterator : public Iterator {
 public:
  explicit IndexIterator(std::shared_ptr<Indexed> object) : object_(std::move(object)) {}
  bool next(Value& out) override {
    if (at_ >= object_->size()) return false;
    out = object_->at(at_++);
    return true;
  }

 private:
  std::shared_ptr<Indexed> object_;
  int64_t at_ = 0;
};

template <class Indexed>
IteratorPointer by_index(Object& object) {
  return std::make_shared<IndexIterator<Indexed>>(
      std::static_pointer_cast<Indexed>(object.shared_from_this()));
}

}  // namespace

void Function::repr(std::string& out, Budget&) const {
  out += "<function " + name_ + ">";
}

void Namespace::repr(std::string& out, Budget& budget) const {
  out += "<Namespace ";
  append_repr(out, Value::dict(attributes_), budget);
  out += '>';
}

Value Namespace::attribute(std::string_view name) {
  const Value* value = attributes_.find(name);
  return value != nullptr ? *value : Value();
}

Generator::Generator(IteratorPointer iterator, int depth, std::string type_name)
    : iterator_(std::move(iterator)), depth_(depth + 1), type_name_(std::move(type_name)) {
  if (depth_ > kMaxValueDepth) fail("iterators are stacked too deep; use lists in between");
}

Value make_generator(int depth, std::function<bool(Value&)> next) {
  return Value(std::make_shared<Generator>(std::make_shared<FunctionIterator>(std::move(next)), depth));
}

std::string DictView::type_name() const {
  return part_ == Part::kKeys ? "dict_keys" : part_ == Part::kValues ? "dict_values" : "dict_items";
}

void DictView::repr(std::string& out, Budget& budget) const {
  out += type_name() + "([";
  for (int64_t i = 0; i < size(); ++i) {
    if (i > 0) out += ", ";
    append_repr(out, at(i), budget);
  }
  out += "])";
}

Value DictView::at(int64_t index) const {
  const auto& [key, value] = dict_.as_dict().items()[static_cast<size_t>(index)];
  if (part_ == Part::kKeys) return key;
  if (part_ == Part::kValues) return value;
  return Value::tuple({key, value});
}

IteratorPointer DictView::iterate() {
  return by_index<DictView>(*this);
}

Range::Range(Int start, Int stop, Int step) : start_(start), stop_(stop), step_(step), count_(0) {
  if (step == 0) fail("range() arg 3 must not be zero");
  const bool any = step > 0 ? start < stop : start > stop;
  if (!any) return;
  using Unsigned = unsigned __int128;
  const Unsigned distance = step > 0 ? Unsigned(stop) - Unsigned(start) : Unsigned(start) - Unsigned(stop);
  const Unsigned stride = step > 0 ? Unsigned(step) : -Unsigned(step);
  const Unsigned count = (distance - 1) / stride + 1;
  if (count > Unsigned(kMaxRange)) {
    fail("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" + std::to_string(kMaxRange) +
         ").");
  }
  count_ = static_cast<int64_t>(count);
}

void Range::repr(std::string& out, Budget&) const {
  out += "range(" + int_text(start_) + ", " + int_text(stop_);
  if (step_ != 1) out += ", " + int_text(step_);
  out += ')';
}

IteratorPointer Range::iterate() {
  return by_index<Range>(*this);
}

Value Range::item(const Value& key) {
  const auto index = key.integer();
  if (!index || *index >= count_ || *index < -count_) return Value();
  return at(static_cast<int64_t>(*index < 0 ? *index + count_ : *index));
}

bool Loop::next(Value& out) {
  if (has_after_) {
    out = std::move(after_);
    has_after_ = false;
  } else if (!items_->next(out)) {
    return false;
  }
  ++index0_;
  before_ = std::move(current_);
  current_ = out;
  return true;
}

bool Loop::peek() {
  if (!has_after_) has_after_ = items_->next(after_);
  return has_after_;
}

std::optional<int64_t> Loop::length() {
  if (!length_) {
    List rest;
    for (Value item; items_->next(item);) {
      budget_.step();
      rest.push_back(std::move(item));
    }
    length_ = static_cast<int64_t>(rest.size()) + index0_ + 1 + (has_after_ ? 1 : 0);
    items_ = jinja::iterate(Value::list(std::move(rest)));
  }
  return length_;
}

void Loop::repr(std::string& out, Budget&) const {
  out += "<LoopContext " + std::to_string(index0_ + 1) + ">";
}

namespace {

class LoopIterator : public Iterator {
 public:
  explicit LoopIterator(std::shared_ptr<Loop> loop) : loop_(std::move(loop)) {}
  bool next(Value& out) override {
    if (!loop_->next(out)) return false;
    out = Value::tuple({out, Value(loop_)});
    return true;
  }

 private:
  std::shared_ptr<Loop> loop_;
};

}  // namespace

IteratorPointer Loop::iterate() {
  return std::make_shared<LoopIterator>(std::static_pointer_cast<Loop>(shared_from_this()));
}

Value Loop::position(std::string_view name) {
  if (name == "index") return Value(index0_ + 1);
  if (name == "index0") return Value(index0_);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!peek());
  if (name == "length") return Value(*length());
  if (name == "revindex") return Value(*length() - index0_);
  if (name == "revindex0") return Value(*length() - index0_ - 1);
  if (name == "depth") return Value(depth0_ + 1);
  if (name == "depth0") return Value(depth0_);
  return Value();
}

Value Loop::attribute(std::string_view name) {
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return peek() ? after_ : Value::undefined("there is no next item");
  if (name != "cycle" && name != "changed") return position(name);
  const auto self = std::static_pointer_cast<Loop>(shared_from_this());
  if (name == "cycle") {
    return Value(std::make_shared<Function>(
        "cycle", [self](Interpreter&, const Arguments& arguments) { return self->cycle(arguments); }));
  }
  return Value(
      std::make_shared<Function>("changed", [self](Interpreter& interpreter, const Arguments& arguments) {
        return Value(self->changed(interpreter, arguments));
      }));
}

Value Loop::cycle(const Arguments& arguments) const {
  if (arguments.positional.empty()) fail("no items for cycling given");
  return arguments.positional[static_cast<size_t>(index0_) % arguments.positional.size()];
}

bool Loop::changed(Interpreter& interpreter, const Arguments& arguments) {
  if (!was_asked_) interpreter.keep(shared_from_this());
  const bool same = was_asked_ && equal(Value::tuple(last_changed_), Value::tuple(arguments.positional),
                                        interpreter.budget());
  was_asked_ = true;
  last_changed_ = arguments.positional;
  return !same;
}

Value Loop::call(Interpreter& interpreter, const Arguments& arguments) {
  if (statement_ == nullptr) fail("The loop must have the 'recursive' marker to be called recursively.");
  if (arguments.positional.size() != 1) fail("LoopContext.__call__() takes the items to loop over");
  return Value(interpreter.run_recursive(*statement_, scope_, arguments.positional[0], depth0_ + 1));
}

void Macro::repr(std::string& out, Budget&) const {
  out += "<Macro ";
  if (name_.empty()) {
    out += "anonymous";
  } else {
    append_quoted(out, name_);
  }
  out += '>';
}

Value Macro::attribute(std::string_view name) {
  const Signature& signature = definition_.signature;
  if (name == "name") return name_.empty() ? Value::none() : Value(name_);
  if (name == "caller") return Value(signature.uses_caller);
  if (name == "catch_kwargs") return Value(signature.uses_kwargs);
  if (name == "catch_varargs") return Value(signature.uses_varargs);
  if (name != "arguments") return Value();
  List names;
  for (const std::string& argument : signature.names) names.emplace_back(argument);
  return Value::tuple(std::move(names));
}

}  // namespace tercet::jinja
