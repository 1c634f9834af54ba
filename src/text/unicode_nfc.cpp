// Normalization form C, on utf8proc's tables. Most text has the form already: it is only read, one table
// look-up a code point, and utf8proc works on the short spans between two boundaries that hold something
// else.

#include <utf8proc.h>

#include <algorithm>
#include <bitset>
#include <vector>

#include "base/check.h"
#include "text/unicode.h"

namespace tercet {
namespace {

constexpr int32_t kTableEnd = 0x30000;  // above it nothing decomposes, composes or has a combining class
constexpr int kMaxDecomposition = 8;
constexpr auto kDecompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
constexpr auto kCompose = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);

/// Appends the full canonical decomposition of one code point, in its own order.
void decompose(int32_t code_point, std::vector<int32_t>& out) {
  int32_t buffer[kMaxDecomposition];
  int boundclass = 0;
  const auto count = utf8proc_decompose_char(code_point, buffer, kMaxDecomposition, kDecompose, &boundclass);
  TERCET_CHECK(count >= 0 && count <= kMaxDecomposition);
  out.insert(out.end(), buffer, buffer + count);
}

using Boundaries = std::bitset<kTableEnd>;

/// Code points that never interact with what stands before them: a starter, its own NFC, and second in no
/// composition (quick check "yes" of Unicode annex 15).
Boundaries make_boundaries() {
  Boundaries boundaries;
  boundaries.set();
  std::vector<int32_t> parts;
  for (int32_t code_point = 0x80; code_point < kTableEnd; ++code_point) {
    parts.clear();
    decompose(code_point, parts);
    if (utf8proc_get_property(code_point)->combining_class != 0) boundaries.reset(code_point);
    if (parts.size() == 1 && parts[0] == code_point) continue;
    // The last part is what the composition adds to a shorter one.
    if (parts.size() > 1) boundaries.reset(parts.back());
    const auto count =
        utf8proc_normalize_utf32(parts.data(), static_cast<utf8proc_ssize_t>(parts.size()), kCompose);
    if (count != 1 || parts[0] != code_point) boundaries.reset(code_point);
  }
  return boundaries;
}

bool is_boundary(int32_t code_point) {
  static const Boundaries boundaries = make_boundaries();
  return code_point >= kTableEnd || boundaries[code_point];
}

/// Sorts each run of combining marks by class, stably; utf8proc's own order is quadratic in a run's length.
void order_marks(std::vector<int32_t>& points) {
  const auto combining = [](int32_t p) { return utf8proc_get_property(p)->combining_class; };
  const auto is_mark = [&](int32_t p) { return combining(p) != 0; };
  for (auto run = points.begin(); run != points.end();) {
    run = std::find_if(run, points.end(), is_mark);
    const auto end = std::find_if_not(run, points.end(), is_mark);
    std::stable_sort(run, end, [&](int32_t a, int32_t b) { return combining(a) < combining(b); });
    run = end;
  }
}

std::string normalize_span(std::string_view span) {
  std::vector<int32_t> points;
  const auto size = static_cast<int64_t>(span.size());
  for (int64_t at = 0; at < size;) {
    const Utf8Step step = utf8_step(span, at);
    decompose(step.value, points);
    at += step.length;
  }
  order_marks(points);
  const auto count =
      utf8proc_normalize_utf32(points.data(), static_cast<utf8proc_ssize_t>(points.size()), kCompose);
  TERCET_CHECK_LE(0, count);
  std::string out;
  for (int64_t i = 0; i < count; ++i) append_utf8(out, points[i]);
  return out;
}

}  // namespace

std::string_view nfc(std::string_view text, std::string& storage) {
  const auto size = static_cast<int64_t>(text.size());
  int64_t start = 0;   // the last boundary seen: what follows may change together with it
  int64_t copied = 0;  // text before this byte is in storage
  storage.clear();
  for (int64_t at = 0; at < size;) {
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      at += ascii_length(text.substr(at));
      start = at - 1;
      continue;
    }
    Utf8Step step = utf8_step(text, at);
    if (is_boundary(step.value)) {
      start = at;
      at += step.length;
      continue;
    }
    do {
      at += step.length;
      if (at < size) step = utf8_step(text, at);
    } while (at < size && !is_boundary(step.value));
    const std::string_view span = text.substr(start, at - start);
    const std::string normalized = normalize_span(span);
    if (normalized == span) continue;
    storage.append(text.substr(copied, start - copied)).append(normalized);
    copied = at;
  }
  if (copied == 0) return text;
  storage.append(text.substr(copied));
  return storage;
}

}  // namespace tercet
