#include "base/memory_limit.h"

#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <string>

#include "base/error.h"

namespace tercet {

int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  int64_t total = 0;
  bool known = false;
  for (std::string word; info >> word;) {
    int64_t kib = 0;
    if ((word == "MemAvailable:" || word == "SwapFree:") && info >> kib) {
      total += kib * 1024;
      known = true;
    }
  }
  return known ? total : std::numeric_limits<int64_t>::max();
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
