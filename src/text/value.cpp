#include "text/value.h"

#include <algorithm>

#include "text/jinja_unicode.h"
#include "text/value_operators.h"
#include "text/value_text.h"

namespace tercet::jinja {
namespace {

constexpr int64_t kIndexedFrom = 8;  // below, a scan is faster than the hash table

int nested(int depth) {
  if (depth > kMaxValueDepth) {
    fail("values are nested more than " + std::to_string(kMaxValueDepth) + " levels deep; use flatter ones");
  }
  return depth;
}

std::shared_ptr<const Sequence> make_sequence(List items) {
  int depth = 0;
  for (const Value& item : items) depth = std::max(depth, item.depth());
  return std::make_shared<const Sequence>(Sequence{std::move(items), nested(depth + 1), false});
}

class SequenceIterator : public Iterator {
 public:
  explicit SequenceIterator(Value sequence) : sequence_(std::move(sequence)) {}
  bool next(Value& out) override {
    if (at_ >= sequence_.items().size()) return false;
    out = sequence_.items()[at_++];
    return true;
  }

 private:
  Value sequence_;
  size_t at_ = 0;
};

class KeyIterator : public Iterator {
 public:
  explicit KeyIterator(Value dict) : dict_(std::move(dict)) {}
  bool next(Value& out) override {
    if (at_ >= dict_.as_dict().items().size()) return false;
    out = dict_.as_dict().items()[at_++].first;
    return true;
  }

 private:
  Value dict_;
  size_t at_ = 0;
};

class CharacterIterator : public Iterator {
 public:
  explicit CharacterIterator(Value text) : text_(std::move(text)) {}
  bool next(Value& out) override {
    const std::string_view rest = std::string_view(text_.as_string()).substr(at_);
    if (rest.empty()) return false;
    const std::string_view first = rest.substr(0, character_bytes(rest));
    at_ += first.size();
    out = Value(first);
    return true;
  }

 private:
  Value text_;
  size_t at_ = 0;
};

class EmptyIterator : public Iterator {
 public:
  bool next(Value&) override { return false; }
};

}  // namespace

Value Value::undefined(std::string message) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(message))};
  return value;
}

Value Value::list(List items) {
  Value value;
  value.data_ = ListData{make_sequence(std::move(items))};
  return value;
}

Value Value::tuple(List items) {
  Value value;
  value.data_ = TupleData{make_sequence(std::move(items))};
  return value;
}

Value Value::group(Value grouper, Value items) {
  const int depth = nested(std::max(grouper.depth(), items.depth()) + 1);
  Value value;
  value.data_ = TupleData{
      std::make_shared<const Sequence>(Sequence{{std::move(grouper), std::move(items)}, depth, true})};
  return value;
}

Value Value::dict(Dict items) {
  nested(items.depth());
  Value value;
  value.data_ = std::make_shared<const Dict>(std::move(items));
  return value;
}

bool Value::is_missing() const {
  return is_undefined() && std::get<Undefined>(data_).message == nullptr;
}

const std::string& Value::undefined_message() const {
  return *std::get<Undefined>(data_).message;
}

const Sequence& Value::sequence() const {
  return kind() == Kind::kList ? *std::get<ListData>(data_).data : *std::get<TupleData>(data_).data;
}

const List& Value::items() const {
  return sequence().items;
}

bool Value::is_group() const {
  return kind() == Kind::kTuple && sequence().grouped;
}

std::optional<Int> Value::integer() const {
  if (is_int()) return std::get<Int>(data_);
  if (is_bool()) return static_cast<Int>(as_bool());
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (is_float()) return as_float();
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

int Value::depth() const {
  switch (kind()) {
    case Kind::kList:
    case Kind::kTuple:
      return sequence().depth;
    case Kind::kDict:
      return as_dict().depth();
    case Kind::kObject:
      return as_object().depth();
    default:
      return 0;
  }
}

bool Value::truth() const {
  switch (kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return as_bool();
    case Kind::kInt:
      return *integer() != 0;
    case Kind::kFloat:
      return as_float() != 0;
    case Kind::kString:
      return !as_string().empty();
    case Kind::kList:
    case Kind::kTuple:
      return !items().empty();
    case Kind::kDict:
      return as_dict().size() != 0;
    case Kind::kObject:
      return as_object().truth();
  }
  return false;
}

bool Value::same(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kUndefined:
      return std::get<Undefined>(data_).message == std::get<Undefined>(other.data_).message;
    case Kind::kNone:
      return true;
    case Kind::kBool:
      return as_bool() == other.as_bool();
    case Kind::kInt:
      return *integer() == *other.integer();
    case Kind::kFloat:
      return as_float() == other.as_float();
    case Kind::kString:
      return as_string() == other.as_string();
    case Kind::kList:
    case Kind::kTuple:
      return &sequence() == &other.sequence();
    case Kind::kDict:
      return &as_dict() == &other.as_dict();
    case Kind::kObject:
      return &as_object() == &other.as_object();
  }
  return false;
}

std::string Value::type_name() const {
  switch (kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return is_group() ? "_GroupTuple" : "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kObject:
      return as_object().type_name();
  }
  return {};
}

std::string Value::described_type() const {
  if (is_none()) return "None";
  std::string module;
  if (is_object()) module = as_object().module();
  if (is_group()) module = "jinja2.filters.";
  return module + type_name() + " object";
}

Value Value::lacking(std::string_view attribute) const {
  std::string message = "'";
  message.append(described_type()).append("' has no attribute ");
  append_quoted(message, attribute);
  return undefined(std::move(message));
}

template <class Same>
int64_t Dict::position(size_t hash, const Same& same) const {
  if (index_.empty()) {
    for (int64_t i = 0; i < size(); ++i) {
      if (same(items_[static_cast<size_t>(i)].first)) return i;
    }
    return -1;
  }
  const auto [first, last] = index_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (same(items_[static_cast<size_t>(entry->second)].first)) return entry->second;
  }
  return -1;
}

const Value* Dict::find(std::string_view key) const {
  const auto same = [&](const Value& other) { return other.is_string() && other.as_string() == key; };
  const int64_t at = position(index_.empty() ? 0 : hash_of(key), same);
  return at < 0 ? nullptr : &items_[static_cast<size_t>(at)].second;
}

const Value* Dict::find(const Value& key, Budget& budget) const {
  const int64_t at =
      position(hash_of(key, budget), [&](const Value& other) { return equal(key, other, budget); });
  return at < 0 ? nullptr : &items_[static_cast<size_t>(at)].second;
}

void Dict::append(size_t hash, Value key, Value value) {
  depth_ = std::max({depth_, key.depth() + 1, value.depth() + 1});
  items_.emplace_back(std::move(key), std::move(value));
  if (size() == kIndexedFrom) {
    Budget unlimited{Limits{}};
    for (int64_t i = 0; i < size(); ++i)
      index_.emplace(hash_of(items_[static_cast<size_t>(i)].first, unlimited), i);
  } else if (size() > kIndexedFrom) {
    index_.emplace(hash, size() - 1);
  }
}

void Dict::set(std::string key, Value value) {
  if (const Value* old = find(std::string_view(key))) {
    depth_ = std::max(depth_, value.depth() + 1);
    *const_cast<Value*>(old) = std::move(value);
    return;
  }
  const size_t hash = hash_of(std::string_view(key));
  append(hash, Value(std::move(key)), std::move(value));
}

void Dict::set(const Value& key, Value value, Budget& budget) {
  const size_t hash = hash_of(key, budget);
  const int64_t at = position(hash, [&](const Value& other) { return equal(key, other, budget); });
  if (at < 0) return append(hash, key, std::move(value));
  depth_ = std::max(depth_, value.depth() + 1);
  items_[static_cast<size_t>(at)].second = std::move(value);
}

void Object::repr(std::string& out, Budget&) const {
  out.append("<").append(module()).append(type_name()).append(" object>");
}

Value Object::attribute(std::string_view) {
  return Value();
}

Value Object::item(const Value&) {
  return Value();
}

Value Object::call(Interpreter&, const Arguments&) {
  fail("'" + type_name() + "' object is not callable");
}

IteratorPointer try_iterate(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return std::make_shared<EmptyIterator>();
    case Value::Kind::kString:
      return std::make_shared<CharacterIterator>(value);
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return std::make_shared<SequenceIterator>(value);
    case Value::Kind::kDict:
      return std::make_shared<KeyIterator>(value);
    case Value::Kind::kObject:
      return value.as_object().iterate();
    default:
      return nullptr;
  }
}

IteratorPointer iterate(const Value& value) {
  IteratorPointer iterator = try_iterate(value);
  if (!iterator) fail("'" + value.type_name() + "' object is not iterable");
  return iterator;
}

List to_list(const Value& value, Budget& budget) {
  if (value.is_sequence()) {
    budget.step(static_cast<int64_t>(value.items().size()));
    return value.items();
  }
  List items;
  const IteratorPointer iterator = iterate(value);
  for (Value item; iterator->next(item);) {
    budget.step();
    items.push_back(std::move(item));
  }
  return items;
}

std::optional<int64_t> try_length(const Value& value, Budget& budget) {
  switch (value.kind()) {
    case Value::Kind::kUndefined:
      return 0;
    case Value::Kind::kString:
      budget.scan(static_cast<int64_t>(value.as_string().size()));
      return code_point_count(value.as_string());
    case Value::Kind::kList:
    case Value::Kind::kTuple:
      return static_cast<int64_t>(value.items().size());
    case Value::Kind::kDict:
      return value.as_dict().size();
    case Value::Kind::kObject:
      return value.as_object().length();
    default:
      return std::nullopt;
  }
}

}  // namespace tercet::jinja
