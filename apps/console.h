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

/// A bar on standard error where that is a terminal and `quiet` was not asked; else nothing.
class Progress {
 public:
  Progress(std::string label, int64_t total, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(int64_t done);

 private:
  std::string label_;
  int64_t total_;
  bool shown_;
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_{};
};

}  // namespace tercet
