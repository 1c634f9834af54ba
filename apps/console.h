#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "json_output.h"

namespace tercet {

/// Sends log lines to standard error; `quiet` keeps those below warnings to itself.
void start_log(bool quiet);
void log_info(const std::string& message);
void log_warning(const std::string& message);

/// What a failure prints: a sentence, or with `json` the line `{"error": {...}}`.
std::string failure_text(const Error& error, bool json);

/// Prints a failure on standard error and returns the exit code: 2 for wrong usage, else 1.
int report_failure(const Error& error, bool json);

/// Writes to standard output at once. Throws Error(kIo) if it cannot.
void print(const std::string& text);

/// Prints what a command found: one line of JSON, or a line "key: value" for each value.
void print_report(const JsonObject& report, bool json);

/// A bar on standard error where that is a terminal, a line for each named part where it is not, and nothing
/// where `quiet` was asked.
class Progress {
 public:
  Progress(std::string label, int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `part` is what has just been done, or empty.
  void update(int64_t done, const std::string& part = "");

 private:
  std::string label_;
  int64_t total_;
  bool quiet_;
  bool bar_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace tercet
