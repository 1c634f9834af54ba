#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tercet {

/// A file that appears under its name only when it is whole: written beside it as `PATH.tmp`, flushed to the
/// disk, renamed. Destroyed before `commit`, it leaves nothing. Failures are Error(kIo).
class DurableFile {
 public:
  explicit DurableFile(const std::string& path);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Puts the file in place, replacing what had its name; the folder's entry is flushed too.
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  std::string temporary_;
  int fd_ = -1;
};

}  // namespace tercet
