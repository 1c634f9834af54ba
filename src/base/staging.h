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
  void commit();

 private:
  std::string path_;
  int fd_ = -1;
};

/// Writes a whole file by a DurableFile.
void write_durably(const std::string& path, std::string_view content);

/// Flushes a folder's entries to the disk.
void sync_folder(const std::string& path);

/// A result folder under construction: work goes to `TARGET.staging`, and `commit` puts it in place in one
/// step, so that TARGET is either as before or whole. What was staged stays if the program ends early, for a
/// later run to go on with.
class StagedFolder {
 public:
  /// Creates the staging folder and TARGET's parents. An earlier staging folder is kept if `resume`, else
  /// emptied. Throws Error(kUsage) if TARGET exists and `overwrite` is false.
  StagedFolder(const std::string& target, bool resume, bool overwrite);

  /// Where to write.
  const std::string& path() const { return staging_; }

  /// Puts the staged folder in TARGET's place; what was there is removed.
  void commit();

 private:
  std::string target_;
  std::string staging_;
};

}  // namespace tercet
