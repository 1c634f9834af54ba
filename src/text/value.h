#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja_budget.h"

namespace tercet::jinja {

class Dict;
class Object;
class Value;

/// Python's int, within 128 bits; operations that leave the range fail.
using Int = __int128;
using List = std::vector<Value>;

/// A list or a tuple, never changed once made. `grouped`: the pair of the filter groupby, whose items have
/// the names "grouper" and "list".
struct Sequence;

/// How deep lists, dicts and what refers to them may nest.
inline constexpr int kMaxValueDepth = 256;

/// A Python value as templates see it. Everything but an Object is immutable (the sandbox forbids changes),
/// so copies share. Strings are valid UTF-8.
class Value {
 public:
  enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kList, kTuple, kDict, kObject };

  /// "Missing": an undefined value without a message.
  Value() = default;
  template <class T>
  requires std::same_as<T, bool> Value(T value) : data_(value) {}
  template <class T>
  requires(std::integral<T> && !std::same_as<T, bool>) Value(T value) : data_(static_cast<Int>(value)) {}
  Value(Int value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  template <std::derived_from<Object> T>
  Value(std::shared_ptr<T> value) : data_(std::shared_ptr<Object>(std::move(value))) {}

  static Value none() { return Value(None{}); }
  /// jinja2's Undefined; `message` is the error's when it is used.
  static Value undefined(std::string message);
  /// These fail when nested deeper than kMaxValueDepth.
  static Value list(List items);
  static Value tuple(List items);
  static Value group(Value grouper, Value items);
  static Value dict(Dict items);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is_missing() const;
  bool is_undefined() const { return kind() == Kind::kUndefined; }
  bool is_none() const { return kind() == Kind::kNone; }
  bool is_bool() const { return kind() == Kind::kBool; }
  bool is_int() const { return kind() == Kind::kInt; }
  bool is_float() const { return kind() == Kind::kFloat; }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_string() const { return kind() == Kind::kString; }
  bool is_sequence() const { return kind() == Kind::kList || kind() == Kind::kTuple; }
  bool is_dict() const { return kind() == Kind::kDict; }
  bool is_object() const { return kind() == Kind::kObject; }

  /// The accessors demand the kind they name (std::bad_variant_access otherwise).
  bool as_bool() const { return std::get<bool>(data_); }
  double as_float() const { return std::get<double>(data_); }
  const std::string& as_string() const { return *std::get<StringPointer>(data_); }
  const List& items() const;
  bool is_group() const;
  const Dict& as_dict() const { return *std::get<DictPointer>(data_); }
  Object& as_object() const { return *std::get<ObjectPointer>(data_); }
  const std::shared_ptr<Object>& object_pointer() const { return std::get<ObjectPointer>(data_); }
  const std::string& undefined_message() const;

  /// The object as T, or null.
  template <class T>
  std::shared_ptr<T> object() const {
    return is_object() ? std::dynamic_pointer_cast<T>(object_pointer()) : nullptr;
  }
  /// An int or a bool as an int.
  std::optional<Int> integer() const;
  /// A number as a double.
  std::optional<double> number() const;

  /// 0 for scalars, else one more than the deepest part.
  int depth() const;
  /// Python's bool(): what `if` asks.
  bool truth() const;
  /// Python's `is`: the same object; equal scalars of one kind count as the same.
  bool same(const Value& other) const;
  /// type(x).__name__.
  std::string type_name() const;
  /// What jinja2 calls the type in the messages of undefined values: "dict object", "None".
  std::string described_type() const;
  /// The undefined value of an attribute that this value lacks.
  Value lacking(std::string_view attribute) const;

 private:
  struct None {};
  struct Undefined {
    std::shared_ptr<const std::string> message;
  };
  struct ListData {
    std::shared_ptr<const Sequence> data;
  };
  struct TupleData {
    std::shared_ptr<const Sequence> data;
  };
  using StringPointer = std::shared_ptr<const std::string>;
  using DictPointer = std::shared_ptr<const Dict>;
  using ObjectPointer = std::shared_ptr<Object>;

  explicit Value(None value) : data_(value) {}
  const Sequence& sequence() const;

  std::variant<Undefined, None, bool, Int, double, StringPointer, ListData, TupleData, DictPointer,
               ObjectPointer>
      data_;
};

struct Sequence {
  List items;
  int depth = 1;
  bool grouped = false;
};

/// Python's dict: insertion order, any hashable key, 1 == 1.0 == True.
class Dict {
 public:
  const Value* find(std::string_view key) const;
  const Value* find(const Value& key, Budget& budget) const;
  void set(std::string key, Value value);
  void set(const Value& key, Value value, Budget& budget);
  const std::vector<std::pair<Value, Value>>& items() const { return items_; }
  int64_t size() const { return static_cast<int64_t>(items_.size()); }
  int depth() const { return depth_; }

 private:
  template <class Same>
  int64_t position(size_t hash, const Same& same) const;
  void append(size_t hash, Value key, Value value);

  std::vector<std::pair<Value, Value>> items_;
  std::unordered_multimap<size_t, int64_t> index_;
  int depth_ = 1;
};

/// A Python iterator.
class Iterator {
 public:
  virtual ~Iterator() = default;
  /// The next item, or false at the end.
  virtual bool next(Value& out) = 0;
};
using IteratorPointer = std::shared_ptr<Iterator>;

class Interpreter;

/// The arguments of a call.
struct Arguments {
  List positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// What is neither a scalar nor a plain container: functions, loops, namespaces, views, generators.
class Object : public std::enable_shared_from_this<Object> {
 public:
  virtual ~Object() = default;
  virtual std::string type_name() const = 0;
  /// With a trailing dot; empty for Python's own types.
  virtual std::string module() const { return {}; }
  virtual void repr(std::string& out, Budget& budget) const;
  virtual bool truth() const { return true; }
  /// Python's len(), or nothing where the type has none.
  virtual std::optional<int64_t> length() { return std::nullopt; }
  /// Null where the type cannot be iterated.
  virtual IteratorPointer iterate() { return nullptr; }
  /// An attribute, or a missing value.
  virtual Value attribute(std::string_view name);
  /// object[key], or a missing value.
  virtual Value item(const Value& key);
  virtual bool callable() const { return false; }
  virtual Value call(Interpreter& interpreter, const Arguments& arguments);
  virtual int depth() const { return 0; }
  /// Drops all references, for objects that can be part of a cycle.
  virtual void release() {}
};

/// iter(x): fails with Python's message where x cannot be iterated.
IteratorPointer iterate(const Value& value);
/// The same, or null.
IteratorPointer try_iterate(const Value& value);
/// list(x).
List to_list(const Value& value, Budget& budget);
/// len(x), or nothing where the type has none.
std::optional<int64_t> try_length(const Value& value, Budget& budget);

}  // namespace tercet::jinja
