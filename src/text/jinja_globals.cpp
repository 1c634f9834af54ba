#include "text/jinja_globals.h"

#include <ctime>

#include "text/jinja_arguments.h"
#include "text/jinja_objects.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// cycler(): gives its items in turn.
class Cycler : public Object {
 public:
  explicit Cycler(List items) : items_(std::move(items)) {}
  std::string type_name() const override { return "Cycler"; }
  std::string module() const override { return "jinja2.utils."; }
  Value attribute(std::string_view name) override {
    if (name == "current") return items_[at_];
    if (name != "next" && name != "reset") return Value();
    const auto self = std::static_pointer_cast<Cycler>(shared_from_this());
    const bool forward = name == "next";
    return Value(
        std::make_shared<Function>(std::string(name), [self, forward](Interpreter&, const Arguments&) {
          Value item = self->items_[self->at_];
          self->at_ = forward ? (self->at_ + 1) % self->items_.size() : 0;
          return forward ? item : Value::none();
        }));
  }
  void release() override { items_.clear(); }

 private:
  List items_;
  size_t at_ = 0;
};

/// joiner(): nothing the first time it is called, then the separator.
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) {}
  std::string type_name() const override { return "Joiner"; }
  std::string module() const override { return "jinja2.utils."; }
  bool callable() const override { return true; }
  Value call(Interpreter&, const Arguments&) override {
    const bool first = !used_;
    used_ = true;
    return first ? Value("") : separator_;
  }

 private:
  Value separator_;
  bool used_ = false;
};

Value range(Interpreter&, const Arguments& arguments) {
  const Bound bound("range", arguments, {"start", "stop", "step"}, 1);
  const int64_t first = to_index(bound[0]);
  const int64_t step = bound.integer(2, 1);
  return Value(bound.has(1) ? std::make_shared<Range>(first, to_index(bound[1]), step)
                            : std::make_shared<Range>(0, first, 1));
}

/// A dict from a mapping or pairs, and from named arguments.
Dict collected(Interpreter& interpreter, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) fail("dict expected at most 1 argument, got more");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is_dict()) {
      interpreter.budget().step(source.as_dict().size());
      dict = source.as_dict();
    } else {
      for (const Value& pair : to_list(source, interpreter.budget())) {
        const List parts = to_list(pair, interpreter.budget());
        if (parts.size() != 2) fail("dictionary update sequence element has not length 2");
        dict.set(parts[0], parts[1], interpreter.budget());
      }
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(name, value);
  return dict;
}

Value make_dict(Interpreter& interpreter, const Arguments& arguments) {
  return Value::dict(collected(interpreter, arguments));
}

Value make_namespace(Interpreter& interpreter, const Arguments& arguments) {
  const auto made = std::make_shared<Namespace>(collected(interpreter, arguments));
  interpreter.keep(made);
  return Value(made);
}

Value make_cycler(Interpreter& interpreter, const Arguments& arguments) {
  if (arguments.positional.empty()) fail("at least one item has to be provided");
  const auto made = std::make_shared<Cycler>(arguments.positional);
  interpreter.keep(made);
  return Value(made);
}

Value make_joiner(Interpreter&, const Arguments& arguments) {
  const Bound bound("joiner", arguments, {"sep"});
  return Value(std::make_shared<Joiner>(bound.value(0, Value(", "))));
}

Value raise_exception(Interpreter& interpreter, const Arguments& arguments) {
  const Bound bound("raise_exception", arguments, {"message"}, 1);
  throw RaisedByTemplate(to_text(bound[0], interpreter.budget()));
}

Value strftime_now(Interpreter&, const Arguments& arguments) {
  constexpr size_t kLongest = 4096;
  const std::string format = Bound("strftime_now", arguments, {"format"}, 1).text(0, {});
  if (format.empty()) return Value("");
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  std::string text(kLongest, '\0');
  const size_t length = std::strftime(text.data(), text.size(), format.c_str(), &local);
  if (length == 0) fail("strftime_now: the format gives no text, or too much");
  text.resize(length);
  return Value(std::move(text));
}

void add(Scope& scope, const char* name, Function::Body body) {
  scope.set(name, Value(std::make_shared<Function>(name, std::move(body))));
}

}  // namespace

void add_globals(Scope& scope) {
  add(scope, "range", range);
  add(scope, "dict", make_dict);
  add(scope, "namespace", make_namespace);
  add(scope, "cycler", make_cycler);
  add(scope, "joiner", make_joiner);
  add(scope, "raise_exception", raise_exception);
  add(scope, "strftime_now", strftime_now);
}

}  // namespace tercet::jinja
