#pragma once

#include <cstdint>
#include <string>

namespace tercet::jinja {

/// What a template from anywhere may cost. All limits are far above what a chat template needs.
struct Limits {
  int64_t steps = 10'000'000;              ///< nodes evaluated, elements compared, items produced
  int64_t text_bytes = int64_t{64} << 20;  ///< the output, and any single string
  int64_t total_bytes = int64_t{1} << 30;  ///< all strings made during one rendering
  int depth = 1000;                        ///< nested evaluation: expressions, statements, macro calls
};

/// Throws tercet::Error (kUsage) with exactly this message: what Python would have raised.
[[noreturn]] void fail(const std::string& message);

/// Counts the cost of one rendering and throws when a limit is passed.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  /// Counts `n` steps.
  void step(int64_t n = 1) {
    steps_ += n;
    if (steps_ > limits_.steps) fail_steps();
  }

  /// Counts a pass over `bytes` of text or a container of that size.
  void scan(int64_t bytes) { step(bytes / 64); }

  /// Counts a string of `bytes` that is about to be made.
  void text(int64_t bytes);

  /// Checks the length of a string that is still growing.
  void grown(int64_t bytes) const {
    if (bytes > limits_.text_bytes) fail_text();
  }

  /// Enters one level of evaluation; leave() undoes it.
  void enter() {
    if (++depth_ > limits_.depth) fail_depth();
  }
  void leave() { --depth_; }

 private:
  [[noreturn]] void fail_steps() const;
  [[noreturn]] void fail_text() const;
  [[noreturn]] void fail_depth() const;

  Limits limits_;
  int64_t steps_ = 0;
  int64_t total_ = 0;
  int depth_ = 0;
};

/// Holds one level of a Budget's depth for a C++ scope.
class DepthGuard {
 public:
  explicit DepthGuard(Budget& budget) : budget_(budget) { budget_.enter(); }
  ~DepthGuard() { budget_.leave(); }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Budget& budget_;
};

}  // namespace tercet::jinja
