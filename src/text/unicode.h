#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tercet {

/// One step through UTF-8 bytes. `value` is the code point, or -1 where the bytes are invalid; `length` (at
/// least 1) is then the maximal subpart that stands for one U+FFFD, as Unicode recommends and Python and Rust
/// do it. `truncated`: the bytes end inside a sequence that more bytes could still complete (`value` is -1).
struct Utf8Step {
  int32_t value;
  int64_t length;
  bool truncated;
};

/// The step at byte `at`, which must lie inside `text`. Surrogates and overlong forms are invalid.
Utf8Step utf8_step(std::string_view text, int64_t at);

/// Appends the UTF-8 form of a code point, 0 ... 0x10ffff.
void append_utf8(std::string& out, int32_t code_point);

/// The length in bytes of the longest prefix that is valid UTF-8.
int64_t valid_utf8_length(std::string_view text);

/// The length in bytes of the longest prefix that is ASCII.
int64_t ascii_length(std::string_view text);

/// `text` with U+FFFD for every maximal invalid subpart: bytes.decode("utf-8", "replace").
std::string lossy_utf8(std::string_view text);

/// Normalization form C of valid UTF-8. Returns `text` itself where it already has that form, else a view of
/// `storage`. Time is O(n log n) for any input, long runs of combining marks included.
std::string_view nfc(std::string_view text, std::string& storage);

}  // namespace tercet
