#include "checkpoint/safetensors_writer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "base/durable_file.h"

namespace tercet {
namespace {

using Json = nlohmann::ordered_json;

void check(const std::vector<TensorToWrite>& tensors) {
  std::set<std::string_view> names;
  for (const TensorToWrite& tensor : tensors) {
    int64_t bytes = size_of(tensor.dtype);
    for (const int64_t size : tensor.shape) bytes *= size;
    TERCET_CHECK(names.insert(tensor.name).second);
    TERCET_CHECK_EQ(static_cast<int64_t>(tensor.bytes.size()), bytes);
  }
}

/// The eight bytes of length and the JSON, padded to a multiple of eight, for tensors that lie in this order.
std::string header_of(const std::vector<TensorToWrite>& tensors) {
  Json root = {{"__metadata__", {{"format", "pt"}}}};
  // Appended without operator[], whose search would make the work quadratic.
  std::vector<std::pair<const std::string, Json>>& entries = root.get_ref<Json::object_t&>();
  size_t offset = 0;
  for (const TensorToWrite& tensor : tensors) {
    const size_t end = offset + tensor.bytes.size();
    entries.emplace_back(
        tensor.name,
        Json{{"dtype", name_of(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}});
    offset = end;
  }
  std::string text = root.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + text;
}

}  // namespace

void write_safetensors(const std::string& path, const std::vector<TensorToWrite>& tensors) {
  check(tensors);
  std::vector<TensorToWrite> sorted = tensors;
  std::stable_sort(sorted.begin(), sorted.end(), [](const TensorToWrite& a, const TensorToWrite& b) {
    return size_of(a.dtype) > size_of(b.dtype);
  });
  DurableFile file(path);
  file.write(header_of(sorted));
  for (const TensorToWrite& tensor : sorted) file.write(tensor.bytes);
  file.commit();
}

}  // namespace tercet
