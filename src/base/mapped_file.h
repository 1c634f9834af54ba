#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tercet {

/// A file mapped read-only into memory; pages are read when first touched. Movable, its address and bytes
/// stay.
class MappedFile {
 public:
  /// Throws Error(kIo) that names the file and the system's reason; only regular files are mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, static_cast<size_t>(size_)}; }

  /// Gives the resident pages back to the system; the next touch reads them again. The bytes stay valid.
  void drop_pages() const;

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace tercet
