#include "checkpoint/safetensors.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = 100'000'000;

[[noreturn]] void fail(const std::string& what, ErrorContext context) {
  throw Error(ErrorKind::kCheckpoint, what, std::move(context));
}

using WeightMap = std::map<std::string, std::string>;  // tensor -> file name

/// A plain file name, so that an index cannot reach outside of its folder.
bool is_plain_name(const std::string& name) {
  return name.size() <= 255 && name.find('/') == std::string::npos && name.find('\0') == std::string::npos &&
         name.ends_with(".safetensors");
}

WeightMap read_index(const std::string& path) {
  const StrictJson root = parse_strict_json(read_text_file(path, kMaxIndexBytes), path);
  if (const auto metadata = root.find("metadata"); metadata != root.end() && metadata->is_object()) {
    const auto total = metadata->find("total_size");
    // Published indexes write it as a float literal; it is not needed, and anything but a number shows a
    // broken file.
    if (total != metadata->end() && (!total->is_number() || total->get<double>() < 0)) {
      fail("the index's total_size is not valid",
           {.file = path, .expected = "a number of bytes", .found = shown(*total)});
    }
  }
  const auto weight_map = root.find("weight_map");
  if (weight_map == root.end() || !weight_map->is_object() || weight_map->empty()) {
    fail("the index has no weight_map",
         {.file = path, .expected = "an object 'weight_map' of tensor names", .found = "none"});
  }
  WeightMap result;
  for (const auto& [tensor, file] : weight_map->items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      fail("the index does not name a file of this folder", {.file = path,
                                                             .tensor = tensor,
                                                             .expected = "the name of a .safetensors file",
                                                             .found = shown(file)});
    }
    result.emplace(tensor, file.get<std::string>());
  }
  return result;
}

std::set<std::string> safetensors_names(const std::string& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.ends_with(".safetensors") && !name.starts_with(".")) names.insert(name);
  }
  if (error) throw Error(ErrorKind::kIo, "cannot list the folder: " + error.message(), {.file = folder});
  return names;
}

/// The files that the index names; they must exist, and no other shard of the model may lie beside them.
std::set<std::string> indexed_names(const WeightMap& index, const std::set<std::string>& present,
                                    const std::string& index_path) {
  std::set<std::string> names;
  for (const auto& [tensor, file] : index) {
    if (names.insert(file).second && !present.contains(file)) {
      fail("a file that the index names is missing; fetch it",
           {.file = index_path, .tensor = tensor, .expected = "the file " + file, .found = "no such file"});
    }
  }
  for (const std::string& name : present) {
    if (name.starts_with("model") && !names.contains(name)) {
      fail("a model file is not in the index; remove it or write the index again",
           {.file = index_path, .expected = "an entry for " + name, .found = "none"});
    }
  }
  return names;
}

void check_index(const WeightMap& index, const std::vector<SafetensorsFile>& files,
                 const std::string& index_path) {
  size_t count = 0;
  for (const SafetensorsFile& file : files) {
    const std::string name = fs::path(file.path()).filename().string();
    for (const StoredTensor& tensor : file.tensors()) {
      const auto entry = index.find(tensor.name);
      if (entry == index.end() || entry->second != name) {
        fail("the index disagrees with the files; write it again or fetch all files again",
             {.file = index_path,
              .tensor = tensor.name,
              .expected = "the file " + name,
              .found = entry == index.end() ? "no entry" : entry->second});
      }
      ++count;
    }
  }
  if (count == index.size()) return;
  for (const auto& [tensor, name] : index) {
    for (const SafetensorsFile& file : files) {
      if (fs::path(file.path()).filename() == name && file.find(tensor) == nullptr) {
        fail("a tensor that the index names is missing; fetch the file again",
             {.file = file.path(),
              .tensor = tensor,
              .expected = "the tensor, as the index says",
              .found = "none"});
      }
    }
  }
}

}  // namespace

std::string to_string(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : map_(std::make_unique<MappedFile>(path)), tensors_(parse_safetensors(map_->bytes(), map_->path())) {}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  for (const StoredTensor& tensor : tensors_) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

SafetensorsFolder SafetensorsFolder::open(const std::string& folder) {
  std::set<std::string> names = safetensors_names(folder);
  const std::string index_path = folder + "/" + kIndexName;
  WeightMap index;
  if (fs::exists(index_path)) {
    index = read_index(index_path);
    names = indexed_names(index, names, index_path);
  }
  if (names.empty()) {
    fail("the folder holds no weights",
         {.file = folder, .expected = "at least one .safetensors file", .found = "none"});
  }
  SafetensorsFolder result;
  for (const std::string& name : names) result.files_.emplace_back(folder + "/" + name);
  for (const SafetensorsFile& file : result.files_) {
    for (const StoredTensor& tensor : file.tensors()) {
      const auto [entry, added] = result.by_name_.emplace(tensor.name, &tensor);
      if (!added) {
        fail("a tensor is stored twice; keep one of the files",
             {.file = file.path(),
              .tensor = tensor.name,
              .expected = "one copy",
              .found = "another in " + std::string(entry->second->file)});
      }
    }
  }
  if (!index.empty()) check_index(index, result.files_, index_path);
  return result;
}

const StoredTensor* SafetensorsFolder::find(std::string_view name) const {
  const auto entry = by_name_.find(name);
  return entry == by_name_.end() ? nullptr : entry->second;
}

void SafetensorsFolder::drop_pages() const {
  for (const SafetensorsFile& file : files_) file.drop_pages();
}

}  // namespace tercet
