#include "base/durable_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/error.h"

namespace tercet {

namespace {

/// The file that `path` leads to. Renaming would put a regular file in the place of a device or a link.
std::string regular_target(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, ignored);
  if (std::filesystem::exists(target, ignored) && !std::filesystem::is_regular_file(target, ignored)) {
    throw Error(ErrorKind::kIo, "only a regular file can be written whole or not at all; choose another",
                {.file = path, .expected = "a regular file, or none", .found = "a folder or device"});
  }
  return target.empty() ? path : target.string();
}

}  // namespace

DurableFile::DurableFile(const std::string& path)
    : path_(regular_target(path)),
      temporary_(path_ + "." + std::to_string(::getpid()) + ".tmp"),
      fd_(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (fd_ < 0) fail("the file cannot be created");
}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

void DurableFile::fail(const std::string& what) const {
  throw Error(ErrorKind::kIo, what + ": " + std::strerror(errno), {.file = path_});
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail("the file cannot be written");
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void DurableFile::commit() {
  TERCET_CHECK(fd_ >= 0);
  if (::fsync(fd_) != 0) fail("the file cannot be flushed");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("the file cannot be renamed");
  ::close(fd_);
  fd_ = -1;
  const std::string parent = std::filesystem::path(path_).parent_path().string();
  const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) fail("the folder cannot be opened");
  const bool flushed = ::fsync(folder) == 0;
  ::close(folder);
  if (!flushed) fail("the folder cannot be flushed");
}

}  // namespace tercet
