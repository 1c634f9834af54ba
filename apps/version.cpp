#include "version.h"

#include "backends.h"
#include "build_info.h"

namespace tercet {

std::string commit() {
  return build_info::kCommit;
}

std::string version_line() {
  return std::string("tercet ") + build_info::kVersion + " (" + commit() + ", " + build_info::kCompilers +
         ", " + picked_isa() + ", " + build_info::kCuda + ")";
}

}  // namespace tercet
