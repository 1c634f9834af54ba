#include "text/tokenizer_json.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/error.h"
#include "text/unicode.h"

namespace tercet {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const std::string& file, const std::string& message, const std::string& expected,
                         const std::string& found) {
  throw Error(ErrorKind::kCheckpoint, message, {.file = file, .expected = expected, .found = found});
}

/// `text` in quotes, shortened for a message.
std::string in_quotes(std::string_view text) {
  constexpr int64_t kLongest = 60;
  std::string_view tail = "'";
  if (static_cast<int64_t>(text.size()) > kLongest) {
    text = text.substr(0, kLongest);
    text = text.substr(0, valid_utf8_length(text));
    tail = "...'";
  }
  return std::string("'").append(text).append(tail);
}

std::string shown(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list of " + std::to_string(value.size());
  return value.is_string() ? in_quotes(value.get_ref<const std::string&>()) : value.dump();
}

/// One object of the file and its path in it. Every getter refuses what is missing or of another type.
class Section {
 public:
  Section(const Json& node, std::string path, const std::string& file)
      : node_(node), path_(std::move(path)), file_(file) {
    if (!node_.is_object()) refuse(name(), "an object", shown(node_));
  }

  const Json& get(const char* key) const {
    static const Json null;
    const auto found = node_.find(key);
    return found == node_.end() ? null : *found;
  }

  Section object(const char* key) const { return Section(get(key), name(key), file_); }

  const Json& array(const char* key) const {
    if (!get(key).is_array()) refuse(name(key), "a list", shown(get(key)));
    return get(key);
  }

  const std::string& string(const char* key) const {
    if (!get(key).is_string()) refuse(name(key), "a string", shown(get(key)));
    return get(key).get_ref<const std::string&>();
  }

  bool boolean(const char* key) const {
    if (!get(key).is_boolean()) refuse(name(key), "true or false", shown(get(key)));
    return get(key).get<bool>();
  }

  /// Refuses keys that are not named here: they might change what the tokenizer does.
  void only(std::initializer_list<std::string_view> keys) const {
    for (const auto& item : node_.items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) != keys.end()) continue;
      std::string expected;
      for (const std::string_view key : keys) expected.append(expected.empty() ? "" : ", ").append(key);
      refuse("the keys of " + name(), expected, in_quotes(item.key()));
    }
  }

  /// Refuses a value that is none of these; a missing key counts as null.
  void one_of(const char* key, std::initializer_list<Json> values) const {
    if (std::find(values.begin(), values.end(), get(key)) != values.end()) return;
    std::string expected;
    for (const Json& value : values) expected.append(expected.empty() ? "" : " or ").append(shown(value));
    refuse(name(key), expected, shown(get(key)));
  }

  std::string name(const std::string& key = {}) const {
    if (path_.empty()) return key.empty() ? "the file" : key;
    return key.empty() ? path_ : path_ + "." + key;
  }

  [[noreturn]] void refuse(const std::string& where, const std::string& expected,
                           const std::string& found) const {
    tercet::refuse(file_, where + " is not supported; use the tokenizer.json that came with the model",
                   expected, found);
  }

 private:
  const Json& node_;
  std::string path_;
  const std::string& file_;
};

/// ByteLevel as pre-tokenizer, post-processor or decoder. Its offsets are never used; the rest must change
/// nothing.
void check_byte_level(const Section& section, bool splits) {
  section.only({"type", "add_prefix_space", "trim_offsets", "use_regex"});
  section.one_of("type", {"ByteLevel"});
  if (!splits) return;
  section.one_of("add_prefix_space", {false});
  section.one_of("use_regex", {false});
}

std::string read_split_pattern(const Section& root, const std::string& file) {
  const Section sequence = root.object("pre_tokenizer");
  sequence.only({"type", "pretokenizers"});
  sequence.one_of("type", {"Sequence"});
  const Json& steps = sequence.array("pretokenizers");
  if (steps.size() != 2) sequence.refuse("pre_tokenizer.pretokenizers", "Split and ByteLevel", shown(steps));
  const Section split(steps[0], "pre_tokenizer.pretokenizers[0]", file);
  split.only({"type", "pattern", "behavior", "invert"});
  split.one_of("type", {"Split"});
  split.one_of("behavior", {"Isolated"});
  split.one_of("invert", {false, nullptr});
  const Section pattern = split.object("pattern");
  pattern.only({"Regex"});
  check_byte_level(Section(steps[1], "pre_tokenizer.pretokenizers[1]", file), true);
  return pattern.string("Regex");
}

void check_surroundings(const Section& root) {
  root.only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
             "post_processor", "decoder", "model"});
  root.one_of("version", {"1.0"});
  root.one_of("truncation", {nullptr});
  root.one_of("padding", {nullptr});
  const Section normalizer = root.object("normalizer");
  normalizer.only({"type"});
  normalizer.one_of("type", {"NFC"});
  if (!root.get("post_processor").is_null()) check_byte_level(root.object("post_processor"), false);
  check_byte_level(root.object("decoder"), false);
}

Section read_model(const Section& root) {
  Section model = root.object("model");
  model.only({"type", "dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  model.one_of("type", {"BPE"});
  model.one_of("dropout", {nullptr});
  model.one_of("unk_token", {nullptr});
  model.one_of("continuing_subword_prefix", {nullptr, ""});
  model.one_of("end_of_word_suffix", {nullptr, ""});
  model.one_of("fuse_unk", {false, nullptr});
  model.one_of("byte_fallback", {false, nullptr});
  model.one_of("ignore_merges", {false, nullptr});
  return model;
}

/// The byte alphabet of GPT-2: printable Latin-1 stands for itself, the other 68 bytes for U+0100 and up, in
/// order.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    bytes_.fill(-1);
    int32_t next = 0x100;
    for (int32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte != 0xad);
      points_[byte] = printable ? byte : next++;
      bytes_[points_[byte]] = byte;
    }
  }

  std::string spelling(int32_t byte) const {
    std::string out;
    append_utf8(out, points_[byte]);
    return out;
  }

  /// The bytes that a token stands for. One with a character outside the alphabet stands for its own UTF-8.
  std::string bytes_of(const std::string& token) const {
    std::string out;
    for (int64_t at = 0; at < static_cast<int64_t>(token.size());) {
      const Utf8Step step = utf8_step(token, at);
      const int32_t byte = step.value < static_cast<int32_t>(bytes_.size()) ? bytes_[step.value] : -1;
      if (byte < 0) return token;
      out.push_back(static_cast<char>(byte));
      at += step.length;
    }
    return out;
  }

 private:
  std::array<int32_t, 256> points_;
  std::array<int32_t, 0x100 + 68> bytes_;
};

/// Puts a token in its place; its id must be below `count` and free.
void place(TokenizerSpec& spec, const std::string& token, const Json& id, int64_t count,
           const std::string& where) {
  static const ByteAlphabet alphabet;
  const std::string expected = "an id from 0 to " + std::to_string(count - 1) + ", each used once";
  if (token.empty()) refuse(spec.file, where + " has an empty token", "a token of at least one byte", "''");
  if (!id.is_number_unsigned() || id.get<uint64_t>() >= static_cast<uint64_t>(count)) {
    refuse(spec.file, where + " has no usable id for token " + in_quotes(token), expected, shown(id));
  }
  const auto value = id.get<int32_t>();
  if (!spec.bytes[value].empty()) refuse(spec.file, where + " has two tokens of one id", expected, shown(id));
  spec.bytes[value] = alphabet.bytes_of(token);
  spec.ids.emplace(token, value);
}

void read_vocabulary(const Section& model, TokenizerSpec& spec) {
  const Section vocab = model.object("vocab");
  const auto count = static_cast<int64_t>(spec.bytes.size());
  for (const auto& item : model.get("vocab").items())
    place(spec, item.key(), item.value(), count, vocab.name());
}

/// After the vocabulary: an added token may repeat one of it, with its id.
void read_added_tokens(const Section& root, TokenizerSpec& spec) {
  const auto count = static_cast<int64_t>(spec.bytes.size());
  std::unordered_set<std::string_view> seen;
  for (const Json& item : root.array("added_tokens")) {
    const Section token(item, "added_tokens[" + std::to_string(spec.added.size()) + "]", spec.file);
    token.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized"}) token.one_of(flag, {false});
    const std::string& content = token.string("content");
    if (!seen.insert(content).second) {
      refuse(spec.file, token.name() + " repeats another", "each added token once", in_quotes(content));
    }
    const auto known = spec.ids.find(content);
    if (known == spec.ids.end()) {
      place(spec, content, token.get("id"), count, token.name());
    } else if (token.get("id") != known->second) {
      refuse(spec.file, token.name() + " has another id than the vocabulary for " + in_quotes(content),
             std::to_string(known->second), shown(token.get("id")));
    }
    spec.added.push_back({content, spec.ids.at(content), token.boolean("special")});
  }
}

/// How many ids there must be.
int64_t count_tokens(const Section& root, const Section& model, const std::string& file) {
  const Json& vocab = model.get("vocab");
  auto count = static_cast<int64_t>(vocab.size());
  for (const Json& item : root.array("added_tokens")) {
    const Section token(item, "added_tokens[]", file);
    if (!vocab.contains(token.string("content"))) ++count;
  }
  return count;
}

void read_byte_ids(TokenizerSpec& spec) {
  const ByteAlphabet alphabet;
  for (int32_t byte = 0; byte < 256; ++byte) {
    const auto found = spec.ids.find(alphabet.spelling(byte));
    if (found == spec.ids.end()) {
      refuse(spec.file, "model.vocab is not byte-level", "a token for each of the 256 bytes",
             "none for byte " + std::to_string(byte));
    }
    spec.byte_ids[byte] = found->second;
  }
}

void read_merges(const Section& model, TokenizerSpec& spec) {
  const auto where = [&] { return "model.merges[" + std::to_string(spec.merges.size()) + "]"; };
  const auto id_of = [&](const std::string& token) {
    const auto found = spec.ids.find(token);
    if (found == spec.ids.end()) {
      refuse(spec.file, where() + " names a token that the vocabulary lacks", "tokens of model.vocab",
             in_quotes(token));
    }
    return found->second;
  };
  const Json& merges = model.array("merges");
  spec.merges.reserve(merges.size());
  for (const Json& merge : merges) {
    std::string left, right;
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      left = merge[0].get_ref<const std::string&>();
      right = merge[1].get_ref<const std::string&>();
    } else if (merge.is_string()) {
      const auto& text = merge.get_ref<const std::string&>();
      const size_t space = text.find(' ');
      if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
        refuse(spec.file, where() + " is no pair", "two tokens with one space between them", in_quotes(text));
      }
      left = text.substr(0, space);
      right = text.substr(space + 1);
    } else {
      refuse(spec.file, where() + " is no pair", "\"a b\" or [\"a\", \"b\"]", shown(merge));
    }
    spec.merges.push_back({id_of(left), id_of(right), id_of(left + right)});
  }
}

}  // namespace

TokenizerSpec parse_tokenizer_json(std::string_view json, const std::string& file) {
  Json document;
  try {
    document = Json::parse(json);
  } catch (const Json::parse_error& error) {
    refuse(file, "not a JSON file; download it again", "JSON in UTF-8",
           "a syntax error at byte " + std::to_string(error.byte));
  } catch (const Json::out_of_range&) {
    refuse(file, "not a JSON file; download it again", "JSON in UTF-8", "a number out of range");
  }
  TokenizerSpec spec;
  spec.file = file;
  const Section root(document, "", file);
  check_surroundings(root);
  spec.split_pattern = read_split_pattern(root, file);
  const Section model = read_model(root);
  spec.bytes.resize(count_tokens(root, model, file));
  read_vocabulary(model, spec);
  read_byte_ids(spec);
  read_merges(model, spec);
  read_added_tokens(root, spec);
  return spec;
}

}  // namespace tercet
