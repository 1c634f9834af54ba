#include "base/memory_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <limits>
#include <string>

#include "base/error.h"

namespace tercet {

namespace {

/// The sum of the entries of those names in a file of lines "Name: KIB kB"; `otherwise` without any.
int64_t sum_of(const char* file, std::initializer_list<const char*> names, int64_t otherwise) {
  std::ifstream lines(file);
  int64_t total = 0;
  bool known = false;
  for (std::string word; lines >> word;) {
    int64_t kib = 0;
    const bool wanted =
        std::any_of(names.begin(), names.end(), [&](const char* name) { return word == name; });
    if (!wanted || !(lines >> kib)) continue;
    total += kib * 1024;
    known = true;
  }
  return known ? total : otherwise;
}

}  // namespace

int64_t available_memory() {
  return sum_of("/proc/meminfo", {"MemAvailable:", "SwapFree:"}, std::numeric_limits<int64_t>::max());
}

int64_t resident_memory() {
  return sum_of("/proc/self/status", {"RssAnon:"}, 0);
}

void require_memory(int64_t bytes) {
  const int64_t available = available_memory();
  if (bytes <= available) return;
  const auto gigabytes = [](int64_t count) {
    return fmt::format("{:.1f} GB", static_cast<double>(count) / 1e9);
  };
  throw Error(
      ErrorKind::kDevice,
      "there is not enough memory; take a smaller model, fewer bits, a shorter context or a smaller batch",
      {.expected = gigabytes(bytes), .found = gigabytes(available) + " available"});
}

}  // namespace tercet
