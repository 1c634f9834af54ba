#include "base/staging.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/check.h"
#include "base/error.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw Error(ErrorKind::kIo, what + ": " + std::strerror(error), {.file = path});
}

std::string parent_of(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

}  // namespace

DurableFile::DurableFile(const std::string& path)
    : path_(path), fd_(::open((path + ".tmp").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
  if (fd_ < 0) fail(path_, "cannot write the file", errno);
}

DurableFile::~DurableFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink((path_ + ".tmp").c_str());
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) fail(path_, "cannot write the file", errno);
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void DurableFile::commit() {
  TERCET_CHECK(fd_ >= 0);
  if (::fsync(fd_) != 0) fail(path_, "cannot flush the file", errno);
  ::close(fd_);
  fd_ = -1;
  if (::rename((path_ + ".tmp").c_str(), path_.c_str()) != 0) fail(path_, "cannot rename the file", errno);
  sync_folder(parent_of(path_));
}

void write_durably(const std::string& path, std::string_view content) {
  DurableFile file(path);
  file.write(content);
  file.commit();
}

void sync_folder(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail(path, "cannot open the folder", errno);
  const int error = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (error != 0) fail(path, "cannot flush the folder", error);
}

StagedFolder::StagedFolder(const std::string& target, bool resume, bool overwrite)
    : target_(fs::path(target).lexically_normal().string()) {
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  staging_ = target_ + ".staging";
  std::error_code error;
  if (fs::exists(target_) && !overwrite) {
    throw Error(ErrorKind::kUsage, "the output exists; choose another or pass --overwrite",
                {.file = target_, .expected = "a path that does not exist", .found = "a file or folder"});
  }
  if (!resume) fs::remove_all(staging_, error);
  if (!error) fs::create_directories(staging_, error);
  if (error) fail(staging_, "cannot prepare the staging folder", error.value());
}

void StagedFolder::commit() {
  sync_folder(staging_);
  if (fs::exists(target_)) {
    // Exchanged, not removed first: a kill between two steps must not leave TARGET missing.
    if (::renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
      fail(target_, "cannot put the result in place", errno);
    }
    std::error_code error;
    fs::remove_all(staging_, error);
    if (error) fail(staging_, "cannot remove what was there before", error.value());
  } else if (::rename(staging_.c_str(), target_.c_str()) != 0) {
    fail(target_, "cannot put the result in place", errno);
  }
  sync_folder(parent_of(target_));
}

}  // namespace tercet
