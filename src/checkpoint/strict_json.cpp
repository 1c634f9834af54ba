#include "checkpoint/strict_json.h"

#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"

namespace tercet {
namespace {

using Json = StrictJson;

constexpr size_t kMaxDepth = 64;

/// Builds the tree from parser events, which is where duplicate keys and depth can still be seen.
class TreeBuilder final : public nlohmann::json_sax<Json> {
 public:
  explicit TreeBuilder(const std::string& file) : file_(file) {}

  Json take() { return std::move(root_); }

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return value(std::move(v)); }
  bool binary(binary_t& v) override { return value(std::move(v)); }
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& v) override {
    if (!seen_.back().insert(v).second) {
      throw Error(ErrorKind::kCheckpoint, "a key is given twice; keep one of them",
                  {.file = file_, .expected = "every key once", .found = in_quotes(v) + " twice"});
    }
    key_ = std::move(v);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Json::exception& error) override {
    throw Error(
        ErrorKind::kCheckpoint, "the file is not valid JSON; correct it or fetch it again",
        {.file = file_,
         .expected = "valid JSON",
         .found = "an error at byte " + std::to_string(position) + " (" + cut(error.what(), 200) + ")"});
  }

 private:
  Json* put(Json v) {
    if (open_.empty()) {
      root_ = std::move(v);
      return &root_;
    }
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(v));
      return &open_.back()->back();
    }
    // Not operator[], which would look through all keys: that there are no duplicates is known.
    std::vector<std::pair<const std::string, Json>>& pairs = open_.back()->get_ref<Json::object_t&>();
    return &pairs.emplace_back(key_, std::move(v)).second;
  }

  template <class T>
  bool value(T&& v) {
    put(Json(std::forward<T>(v)));
    return true;
  }

  bool open(Json v) {
    if (open_.size() >= kMaxDepth) {
      throw Error(
          ErrorKind::kCheckpoint, "the JSON is nested too deeply",
          {.file = file_, .expected = "at most " + std::to_string(kMaxDepth) + " levels", .found = "more"});
    }
    open_.push_back(put(std::move(v)));
    seen_.emplace_back();
    return true;
  }

  bool close() {
    open_.pop_back();
    seen_.pop_back();
    return true;
  }

  std::string file_;
  Json root_;
  std::vector<Json*> open_;  // not yet closed; their addresses hold, as only the innermost grows
  std::vector<std::unordered_set<std::string>> seen_;  // keys of each of them
  std::string key_;
};

}  // namespace

StrictJson parse_strict_json(std::string_view text, const std::string& file) {
  TreeBuilder builder(file);
  Json::sax_parse(text.begin(), text.end(), &builder);
  Json root = builder.take();
  if (!root.is_object()) {
    throw Error(ErrorKind::kCheckpoint, "the file does not hold a JSON object",
                {.file = file, .expected = "an object", .found = std::string("a ") + root.type_name()});
  }
  return root;
}

std::string read_text_file(const std::string& path, int64_t limit) {
  const MappedFile file(path);
  if (file.size() > limit) {
    throw Error(ErrorKind::kCheckpoint, "the file is too long to be what its name says",
                {.file = path,
                 .expected = "at most " + std::to_string(limit) + " bytes",
                 .found = std::to_string(file.size()) + " bytes"});
  }
  return {reinterpret_cast<const char*>(file.data()), static_cast<size_t>(file.size())};
}

std::string cut(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xc0U) == 0x80U) --limit;
  return text.substr(0, limit) + "...";
}

std::string in_quotes(const std::string& text) {
  std::string result = "'";
  result += cut(text);
  result += "'";
  return result;
}

std::string shown(const StrictJson& value) {
  return cut(value.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace tercet
