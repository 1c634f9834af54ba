#include "console.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace tercet {
namespace {

void set_or_null(JsonObject& object, const std::string& key, const std::string& value) {
  if (value.empty()) {
    object.set_value(key, jinja::Value::none());
  } else {
    object.set(key, value);
  }
}

}  // namespace

void start_log(bool quiet) {
  auto logger =
      std::make_shared<spdlog::logger>("tercet", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%^%l%$: %v");
  logger->set_level(quiet ? spdlog::level::warn : spdlog::level::info);
  spdlog::set_default_logger(logger);
}

void log_info(const std::string& message) {
  spdlog::info("{}", message);
}

void log_warning(const std::string& message) {
  spdlog::warn("{}", message);
}

std::string failure_text(const Error& error, bool json) {
  if (json) {
    JsonObject details;
    details.set("kind", to_string(error.kind()));
    set_or_null(details, "file", error.context().file);
    set_or_null(details, "tensor", error.context().tensor);
    set_or_null(details, "expected", error.context().expected);
    set_or_null(details, "found", error.context().found);
    details.set("message", error.message());
    return JsonObject().set("error", details).text() + "\n";
  }
  return std::string("error: ") + error.what() + "\n";
}

int report_failure(const Error& error, bool json) {
  const std::string text = failure_text(error, json);
  std::fwrite(text.data(), 1, text.size(), stderr);  // where nobody listens, the exit code still tells
  return error.kind() == ErrorKind::kUsage ? 2 : 1;
}

void print(const std::string& text) {
  const bool whole =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!whole) throw Error(ErrorKind::kIo, "standard output cannot be written");
}

void print_report(const JsonObject& report, bool json) {
  print(json ? report.text() + "\n" : report.lines());
}

Progress::Progress(std::string label, int64_t total, bool quiet)
    : label_(std::move(label)),
      total_(total),
      quiet_(quiet || total == 0),
      bar_(!quiet_ && isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (bar_) fmt::print(stderr, "\r\x1b[K");
}

void Progress::update(int64_t done, const std::string& part) {
  const auto now = std::chrono::steady_clock::now();
  const double spent = std::chrono::duration<double>(now - start_).count();
  if (!bar_ && !quiet_ && !part.empty()) {
    log_info(fmt::format("{} {}/{}: {} done after {:.0f} s", label_, done, total_, part, spent));
  }
  if (!bar_ || now - drawn_ < std::chrono::milliseconds(100)) return;
  drawn_ = now;
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const std::string left = done > 0 ? fmt::format("{:.0f} s left", spent / share - spent) : "";
  const int64_t width = 30;
  const int64_t full = width * done / total_;
  fmt::print(stderr, "\r\x1b[K{} [{}{}] {}/{} {} {}", label_, std::string(static_cast<size_t>(full), '#'),
             std::string(static_cast<size_t>(width - full), ' '), done, total_, part, left);
}

}  // namespace tercet
