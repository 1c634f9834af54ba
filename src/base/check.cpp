#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace tercet::internal {

void check_failed(const char* file, int line, const char* expression, const std::string& values) {
  std::fprintf(stderr, "%s:%d: check failed: %s%s%s\n", file, line, expression,
               values.empty() ? "" : "; values ", values.c_str());
  std::abort();
}

}  // namespace tercet::internal
