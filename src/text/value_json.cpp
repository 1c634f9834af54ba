#include "text/value_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

/// Builds a Value from the events of the parser; false stops it.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::string name) : name_(std::move(name)) {}

  bool null() override { return add(Value::none()); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override { return add(Value(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Value(value)); }
  bool number_float(number_float_t value, const string_t& text) override {
    const bool whole = text.find_first_of(".eE") == std::string::npos;  // an integer beyond 64 bits
    return add(whole ? Value(*parse_int(text, 10)) : Value(value));
  }
  bool string(string_t& value) override { return add(Value(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open({true, {}, {}, {}}); }
  bool key(string_t& value) override {
    open_.back().key = std::move(value);
    return true;
  }
  bool end_object() override { return close(Value::dict(std::move(open_.back().dict))); }
  bool start_array(std::size_t) override { return open({false, {}, {}, {}}); }
  bool end_array() override { return close(Value::list(std::move(open_.back().list))); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    throw Error(ErrorKind::kUsage, "not valid JSON at byte " + std::to_string(position) + ": " + error.what(),
                {.file = name_});
  }

  Value take() { return std::move(result_); }

 private:
  struct Open {
    bool is_dict;
    Dict dict;
    List list;
    std::string key;
  };

  bool open(Open container) {
    if (open_.size() >= static_cast<size_t>(kMaxValueDepth)) {
      throw Error(ErrorKind::kUsage,
                  "JSON nested more than " + std::to_string(kMaxValueDepth) + " levels deep",
                  {.file = name_});
    }
    open_.push_back(std::move(container));
    return true;
  }

  bool close(Value container) {
    open_.pop_back();
    return add(std::move(container));
  }

  bool add(Value value) {
    if (open_.empty()) {
      result_ = std::move(value);
    } else if (open_.back().is_dict) {
      open_.back().dict.set(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().list.push_back(std::move(value));
    }
    return true;
  }

  std::string name_;
  std::vector<Open> open_;
  Value result_;
};

class Writer {
 public:
  Writer(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

  void write(const Value& value) {
    const DepthGuard guard(budget_);
    budget_.step();
    budget_.grown(static_cast<int64_t>(out_.size()));
    switch (value.kind()) {
      case Value::Kind::kNone:
        out_ += "null";
        break;
      case Value::Kind::kBool:
        out_ += value.as_bool() ? "true" : "false";
        break;
      case Value::Kind::kInt:
        out_ += int_text(*value.integer());
        break;
      case Value::Kind::kFloat:
        out_ += json_float(value.as_float());
        break;
      case Value::Kind::kString:
        write_string(value.as_string());
        break;
      case Value::Kind::kList:
      case Value::Kind::kTuple:
        write_list(value.items());
        break;
      case Value::Kind::kDict:
        write_dict(value.as_dict());
        break;
      default:
        fail("Object of type " + value.type_name() + " is not JSON serializable");
    }
  }

  std::string take() { return std::move(out_); }

 private:
  static std::string json_float(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return float_text(value);
  }

  void write_string(const std::string& text);
  void write_list(const List& items);
  void write_dict(const Dict& dict);

  /// A line break and the indentation of the current level, where the style has them.
  void new_line() {
    if (!style_.indent) return;
    budget_.grown(static_cast<int64_t>(out_.size() + style_.indent->size() * static_cast<size_t>(level_)));
    out_ += '\n';
    for (int i = 0; i < level_; ++i) out_ += *style_.indent;
  }

  static std::string key_text(const Value& key) {
    switch (key.kind()) {
      case Value::Kind::kString:
        return key.as_string();
      case Value::Kind::kNone:
        return "null";
      case Value::Kind::kBool:
        return key.as_bool() ? "true" : "false";
      case Value::Kind::kInt:
        return int_text(*key.integer());
      case Value::Kind::kFloat:
        return json_float(key.as_float());
      default:
        fail("keys must be str, int, float, bool or None, not " + key.type_name());
    }
  }

  const JsonStyle& style_;
  Budget& budget_;
  std::string out_;
  int level_ = 0;
};

void Writer::write_string(const std::string& text) {
  out_ += nlohmann::json(text).dump(-1, ' ', style_.ensure_ascii);
  budget_.grown(static_cast<int64_t>(out_.size()));
}

void Writer::write_list(const List& items) {
  if (items.empty()) {
    out_ += "[]";
    return;
  }
  out_ += '[';
  ++level_;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += style_.item_separator;
    new_line();
    write(items[i]);
  }
  --level_;
  new_line();
  out_ += ']';
}

void Writer::write_dict(const Dict& dict) {
  if (dict.size() == 0) {
    out_ += "{}";
    return;
  }
  std::vector<const std::pair<Value, Value>*> items;
  for (const auto& item : dict.items()) items.push_back(&item);
  if (style_.sort_keys) {
    std::stable_sort(items.begin(), items.end(), [&](const auto* a, const auto* b) {
      return compare(Comparison::kLess, a->first, b->first, budget_);
    });
  }
  out_ += '{';
  ++level_;
  for (const auto* item : items) {
    if (item != items.front()) out_ += style_.item_separator;
    new_line();
    write_string(key_text(item->first));
    out_ += style_.key_separator;
    write(item->second);
  }
  --level_;
  new_line();
  out_ += '}';
}

}  // namespace

Value parse_json(std::string_view text, const std::string& name) {
  Builder builder(name);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

std::string dump_json(const Value& value, const JsonStyle& style, Budget& budget) {
  Writer writer(style, budget);
  writer.write(value);
  std::string text = writer.take();
  budget.text(static_cast<int64_t>(text.size()));
  return text;
}

}  // namespace tercet::jinja
