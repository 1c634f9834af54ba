#include "checkpoint/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/error.h"
#include "base/staging.h"

namespace tercet {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kPieceBytes = 1 << 20;

/// The eight bytes of length and the JSON, padded to a multiple of eight, for tensors that lie in this order.
template <class Tensor>
std::string header_of(const std::vector<Tensor>& tensors, int64_t (*bytes_of)(const Tensor&)) {
  Json root = {{"__metadata__", {{"format", "pt"}}}};
  int64_t offset = 0;
  for (const Tensor& tensor : tensors) {
    const int64_t end = offset + bytes_of(tensor);
    // Not root[name], whose search would make the work quadratic.
    root.get_ref<Json::object_t&>().std::vector<std::pair<const std::string, Json>>::emplace_back(
        tensor.name,
        Json{{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string text = root.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

template <class Tensor>
void sort_for_alignment(std::vector<Tensor>& tensors) {
  std::stable_sort(tensors.begin(), tensors.end(),
                   [](const Tensor& a, const Tensor& b) { return size_of(a.dtype) > size_of(b.dtype); });
}

void check_size(const std::string& name, DType dtype, const std::vector<int64_t>& shape, size_t bytes) {
  int64_t expected = size_of(dtype);
  for (const int64_t size : shape) expected *= size;
  TERCET_CHECK(!name.empty());
  TERCET_CHECK_EQ(static_cast<int64_t>(bytes), expected);
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Error(ErrorKind::kIo, what + ": " + std::strerror(errno), {.file = path});
}

/// Appends [offset, offset + count) of an open file.
void copy_range(int fd, const std::string& path, int64_t offset, int64_t count, std::vector<std::byte>& piece,
                DurableFile& out) {
  while (count > 0) {
    const ssize_t got =
        ::pread(fd, piece.data(), static_cast<size_t>(std::min<int64_t>(count, kPieceBytes)), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(path, "cannot read back the tensors");
    out.write({piece.data(), static_cast<size_t>(got)});
    offset += got;
    count -= got;
  }
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors) {
  std::vector<TensorToWrite> sorted = tensors;
  for (const TensorToWrite& tensor : sorted)
    check_size(tensor.name, tensor.dtype, tensor.shape, tensor.bytes.size());
  sort_for_alignment(sorted);
  DurableFile file(path);
  file.write(header_of<TensorToWrite>(
      sorted, [](const TensorToWrite& t) { return static_cast<int64_t>(t.bytes.size()); }));
  for (const TensorToWrite& tensor : sorted) file.write(tensor.bytes);
  file.commit();
}

ShardWriter::ShardWriter(std::string folder, int64_t shard_bytes)
    : folder_(std::move(folder)), shard_bytes_(shard_bytes) {
  data_fd_ = ::open(data_path().c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (data_fd_ < 0) fail(data_path(), "cannot write the file");
}

ShardWriter::~ShardWriter() {
  if (data_fd_ < 0) return;
  ::close(data_fd_);
  ::unlink(data_path().c_str());
}

std::string ShardWriter::data_path() const {
  return folder_ + "/.open-shard.data";
}

std::string ShardWriter::shard_path(size_t number) const {
  return folder_ + "/.shard-" + std::to_string(number);
}

void ShardWriter::add(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                      std::span<const std::byte> bytes) {
  check_size(name, dtype, shape, bytes.size());
  const auto size = static_cast<int64_t>(bytes.size());
  if (!open_.empty() && size_ + size > shard_bytes_) close_shard();
  open_.push_back({name, dtype, shape, size_, size});
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(data_fd_, bytes.data(), bytes.size(), size_);
    if (written < 0 && errno != EINTR) fail(data_path(), "cannot write the file");
    if (written <= 0) continue;
    bytes = bytes.subspan(static_cast<size_t>(written));
    size_ += written;
  }
}

void ShardWriter::close_shard() {
  sort_for_alignment(open_);
  std::vector<std::byte> piece(kPieceBytes);
  DurableFile file(shard_path(names_.size() + 1));
  file.write(header_of<Stored>(open_, [](const Stored& t) { return t.bytes; }));
  names_.emplace_back();
  for (const Stored& tensor : open_) {
    copy_range(data_fd_, data_path(), tensor.offset, tensor.bytes, piece, file);
    names_.back().push_back(tensor.name);
  }
  file.commit();
  total_ += size_;
  size_ = 0;
  open_.clear();
  if (::ftruncate(data_fd_, 0) != 0) fail(data_path(), "cannot empty the file");
}

int64_t ShardWriter::finish() {
  if (!open_.empty()) close_shard();
  std::map<std::string, std::string> weight_map;
  size_t count = 0;
  for (size_t i = 0; i < names_.size(); ++i) {
    std::array<char, 64> name{};
    std::snprintf(name.data(), name.size(), "model-%05zu-of-%05zu.safetensors", i + 1, names_.size());
    for (const std::string& tensor : names_[i]) weight_map[tensor] = name.data();
    count += names_[i].size();
    const std::string path = folder_ + "/" + name.data();
    if (std::rename(shard_path(i + 1).c_str(), path.c_str()) != 0) fail(path, "cannot rename the file");
  }
  TERCET_CHECK_EQ(weight_map.size(), count);  // no tensor was added twice
  const Json index = {{"metadata", {{"total_size", total_}}}, {"weight_map", weight_map}};
  write_durably(folder_ + "/model.safetensors.index.json", index.dump(2) + "\n");
  ::close(data_fd_);
  data_fd_ = -1;
  ::unlink(data_path().c_str());
  sync_folder(folder_);
  return total_;
}

}  // namespace tercet
