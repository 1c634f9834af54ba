// The header of a safetensors file: eight bytes of little-endian length N, N bytes of JSON
//   {"__metadata__": {TEXT: TEXT, ...}, NAME: {"dtype": "BF16", "shape": [2, 3], "data_offsets": [begin,
//   end]}, ...}
// padded with spaces, then the data, which the offsets count from. Parsed by events: what a hostile header
// may ask for is bounded by its own length.
#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors data is used in place");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxRank = 8;
constexpr size_t kMaxNameBytes = 1024;

struct Entry {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;
  std::vector<uint64_t> offsets;  // begin, end
};

class HeaderReader final : public nlohmann::json_sax<json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  std::vector<Entry> take() { return std::move(entries_); }

  bool null() override { refuse("null"); }
  bool boolean(bool) override { refuse("true or false"); }
  bool number_integer(number_integer_t v) override { refuse(std::to_string(v)); }
  bool number_float(number_float_t, const string_t& text) override { refuse(cut(text)); }
  bool binary(binary_t&) override { refuse("binary data"); }

  bool number_unsigned(number_unsigned_t v) override {
    if (state_ != State::kShape && state_ != State::kOffsets) refuse(std::to_string(v));
    std::vector<uint64_t>& list = state_ == State::kShape ? entries_.back().shape : entries_.back().offsets;
    if (list.size() >= (state_ == State::kShape ? kMaxRank : 2)) refuse("a longer list");
    list.push_back(v);
    return true;
  }

  bool string(string_t& v) override {
    if (state_ == State::kMetadata) return true;
    if (state_ != State::kTensor || key_ != "dtype") refuse("the text " + in_quotes(v));
    const std::optional<DType> dtype = dtype_of(v);
    if (!dtype) {
      fail("the element type is not known", "a type such as BF16, F32 or I32", in_quotes(v));
    }
    entries_.back().dtype = *dtype;
    return true;
  }

  bool start_object(size_t) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kTop && key_ == "__metadata__") {
      state_ = State::kMetadata;
      seen_.clear();
    } else if (state_ == State::kTop) {
      state_ = State::kTensor;
      tensor_ = key_;
      seen_.clear();
      entries_.push_back({key_, DType::kF32, {}, {}});
    } else {
      refuse("an object");
    }
    return true;
  }

  bool start_array(size_t) override {
    if (state_ != State::kTensor || (key_ != "shape" && key_ != "data_offsets")) refuse("a list");
    state_ = key_ == "shape" ? State::kShape : State::kOffsets;
    return true;
  }

  bool end_array() override {
    if (state_ == State::kOffsets && entries_.back().offsets.size() != 2) refuse("a shorter list");
    state_ = State::kTensor;
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTensor && seen_.size() != 3) {
      fail("the tensor is not fully described", "dtype, shape and data_offsets", "one of them missing");
    }
    tensor_.clear();
    state_ = state_ == State::kTop ? State::kDone : State::kTop;
    return true;
  }

  bool key(string_t& v) override {
    std::unordered_set<std::string>& seen = state_ == State::kTop ? names_ : seen_;
    if (v.size() > kMaxNameBytes) {
      fail("a name is too long", "at most " + std::to_string(kMaxNameBytes) + " bytes",
           std::to_string(v.size()));
    }
    if (!seen.insert(v).second) {
      if (state_ == State::kTop) tensor_ = v;
      fail("a name is given twice", "every name once", in_quotes(v) + " twice");
    }
    if (state_ == State::kTensor && v != "dtype" && v != "shape" && v != "data_offsets") {
      fail("the tensor has an unknown property", "dtype, shape and data_offsets", in_quotes(v));
    }
    key_ = std::move(v);
    return true;
  }

  bool parse_error(size_t position, const std::string&, const json::exception& error) override {
    fail("the header is not valid JSON", "valid JSON",
         "an error at byte " + std::to_string(position) + " (" + cut(error.what(), 200) + ")");
  }

 private:
  enum class State { kStart, kTop, kMetadata, kTensor, kShape, kOffsets, kDone };

  [[noreturn]] void fail(const std::string& what, const std::string& expected,
                         const std::string& found) const {
    throw Error(ErrorKind::kCheckpoint, what + "; fetch the file again",
                {.file = file_, .tensor = tensor_, .expected = expected, .found = found});
  }

  [[noreturn]] void refuse(const std::string& found) {
    if (state_ == State::kTop && key_ != "__metadata__") tensor_ = key_;
    switch (state_) {
      case State::kMetadata:
        fail("the header's metadata must be text", "a text for " + in_quotes(key_), found);
      case State::kShape:
        fail("the shape is not valid", "a list of at most " + std::to_string(kMaxRank) + " sizes", found);
      case State::kOffsets:
        fail("the data offsets are not valid", "a list of two byte offsets", found);
      case State::kTensor:
        fail("the tensor's " + key_ + " is not valid", "dtype, shape and data_offsets", found);
      default:
        fail("the header is not an object of tensors", "an object of objects", found);
    }
  }

  std::string file_;
  State state_ = State::kStart;
  std::string key_;
  std::string tensor_;  // that is being described
  std::unordered_set<std::string> names_;
  std::unordered_set<std::string> seen_;  // keys of the inner object
  std::vector<Entry> entries_;
};

/// Bytes of the tensor; empty if they pass 2^63.
std::optional<uint64_t> bytes_of(const Entry& entry) {
  uint64_t product = static_cast<uint64_t>(size_of(entry.dtype));
  for (const uint64_t size : entry.shape) {
    if (__builtin_mul_overflow(product, size, &product) || product >> 63U != 0) return std::nullopt;
  }
  return product;
}

std::string range_text(uint64_t begin, uint64_t end) {
  return "bytes " + std::to_string(begin) + " to " + std::to_string(end);
}

[[noreturn]] void refuse_entry(const std::string& file, const Entry& entry, const std::string& what,
                               const std::string& expected, const std::string& found) {
  throw Error(ErrorKind::kCheckpoint, what + "; fetch the file again",
              {.file = file, .tensor = entry.name, .expected = expected, .found = found});
}

/// Checks one tensor by itself.
void check_entry(const Entry& entry, uint64_t data_bytes, const std::string& file) {
  const uint64_t begin = entry.offsets[0];
  const uint64_t end = entry.offsets[1];
  if (begin > end) {
    refuse_entry(file, entry, "the data offsets run backwards", "begin at most end", range_text(begin, end));
  }
  if (end > data_bytes) {
    refuse_entry(file, entry,
                 "the data ends before the tensor does: the file is cut short or its header is wrong",
                 "at least " + std::to_string(end) + " bytes of data", std::to_string(data_bytes) + " bytes");
  }
  const std::optional<uint64_t> bytes = bytes_of(entry);
  if (!bytes || *bytes != end - begin) {
    refuse_entry(file, entry, "dtype and shape disagree with the length of the data",
                 bytes ? std::to_string(*bytes) + " bytes" : "a size below 2^63 bytes",
                 range_text(begin, end));
  }
}

/// Checks that the entries, sorted by offset, cover `data_bytes` exactly.
void check_layout(const std::vector<Entry>& entries, uint64_t data_bytes, const std::string& file) {
  for (const Entry& entry : entries) check_entry(entry, data_bytes, file);
  uint64_t position = 0;
  for (const Entry& entry : entries) {
    const uint64_t begin = entry.offsets[0];
    if (begin != position) {
      refuse_entry(
          file, entry,
          begin < position ? "the data overlaps another tensor's" : "there is a gap before the tensor's data",
          "data from byte " + std::to_string(position), range_text(begin, entry.offsets[1]));
    }
    position = entry.offsets[1];
  }
  if (position != data_bytes) {
    throw Error(ErrorKind::kCheckpoint, "there is data after the last tensor; fetch the file again",
                {.file = file,
                 .tensor = entries.empty() ? "" : entries.back().name,
                 .expected = std::to_string(position) + " bytes of data",
                 .found = std::to_string(data_bytes) + " bytes"});
  }
}

/// The header's JSON, its length checked against the file's.
std::string_view header_text(std::span<const std::byte> bytes, const std::string& file) {
  const auto fail = [&](const std::string& what, const std::string& expected, const std::string& found) {
    throw Error(ErrorKind::kCheckpoint, what + "; fetch the file again",
                {.file = file, .expected = expected, .found = found});
  };
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    fail("the file is too short for a safetensors header", "at least 8 bytes",
         std::to_string(bytes.size()) + " bytes");
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeaderBytes) {
    fail("the header is too long", "at most " + std::to_string(kMaxHeaderBytes) + " bytes",
         std::to_string(length) + " bytes");
  }
  if (length > bytes.size() - sizeof(length)) {
    fail("the file ends inside its header", std::to_string(length) + " bytes of header",
         std::to_string(bytes.size() - sizeof(length)) + " bytes");
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof(length), length);
  if (text.empty() || text.front() != '{') {
    fail("the header does not begin with an object", "'{'", text.empty() ? "nothing" : "another byte");
  }
  return text;
}

}  // namespace

std::vector<StoredTensor> parse_safetensors(std::span<const std::byte> bytes, std::string_view file) {
  const std::string name(file);
  const std::string_view text = header_text(bytes, name);
  HeaderReader reader(file);
  json::sax_parse(text.begin(), text.end(), &reader);
  std::vector<Entry> entries = reader.take();
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.offsets, a.name) < std::tie(b.offsets, b.name);
  });
  const size_t data_begin = sizeof(uint64_t) + text.size();
  check_layout(entries, bytes.size() - data_begin, name);

  std::vector<StoredTensor> tensors;
  tensors.reserve(entries.size());
  for (Entry& entry : entries) {
    const uint64_t begin = entry.offsets[0];
    tensors.push_back({.name = std::move(entry.name),
                       .dtype = entry.dtype,
                       .shape = {entry.shape.begin(), entry.shape.end()},
                       .data = bytes.data() + data_begin + begin,
                       .bytes = static_cast<int64_t>(entry.offsets[1] - begin),
                       .file = file});
  }
  return tensors;
}

}  // namespace tercet
