#include "quant/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <nlohmann/json.hpp>
#include <set>

#include "base/check.h"
#include "checkpoint/gptq_tensors.h"
#include "checkpoint/safetensors_writer.h"
#include "quant/staging.h"

namespace tercet {
namespace {

/// The part that a canonical tensor name belongs to.
int64_t part_of(const std::string& name, const ModelConfig& config) {
  if (!name.starts_with("layers.")) return config.layer_count();
  return std::stoll(name.substr(std::string("layers.").size()));
}

std::string module_of(const std::string& tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

std::string canonical_of(const Checkpoint& source, const std::string& disk_name) {
  const std::string prefix = source.disk_name("");
  return disk_name.starts_with(prefix) ? disk_name.substr(prefix.size()) : disk_name;
}

/// What one shard will hold: views of the source and packed tensors of its own.
class ShardContent {
 public:
  explicit ShardContent(bool gptq_v1) : gptq_v1_(gptq_v1) {}

  void keep(const StoredTensor& tensor) {
    add(tensor.name, tensor.dtype, tensor.shape, {tensor.data, static_cast<size_t>(tensor.bytes)});
  }
  void keep(const std::string& disk_name, const DenseMatrix& matrix) {
    const int64_t bytes = matrix.rows * matrix.cols * size_of(matrix.dtype);
    add(disk_name + ".weight", matrix.dtype, {matrix.rows, matrix.cols},
        {matrix.data, static_cast<size_t>(bytes)});
  }
  void pack(const std::string& disk_name, const QuantizedMatrix& matrix) {
    for (TensorData& tensor : gptq_tensors(matrix, gptq_v1_)) {
      packed_.push_back(std::move(tensor.bytes));
      add(disk_name + tensor.suffix, tensor.dtype, tensor.shape, packed_.back());
    }
  }
  const std::vector<TensorToWrite>& tensors() const { return tensors_; }

 private:
  void add(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
           std::span<const std::byte> bytes) {
    tensors_.push_back({name, dtype, shape, bytes});
  }

  bool gptq_v1_;
  std::list<std::vector<std::byte>> packed_;  // a list: its elements stay where they are
  std::vector<TensorToWrite> tensors_;
};

/// Canonical names of the matrices in a fused tensor, expert after expert.
std::vector<std::string> fused_modules(const TensorSpec& spec) {
  std::vector<std::string> modules;
  const std::string base = module_of(spec.name) + ".";
  for (int64_t expert = 0; expert < spec.shape[0]; ++expert) {
    for (const ExpertMatrix& matrix : expert_matrices(spec)) {
      modules.push_back(base + std::to_string(expert) + "." + matrix.name);
    }
  }
  return modules;
}

void add_fused(const Checkpoint& source, const MixedSource& mixed, const FoundTensor& found,
               ShardContent& shard) {
  const std::vector<std::string> modules = fused_modules(*found.spec);
  const bool untouched = std::none_of(modules.begin(), modules.end(), [&](const std::string& module) {
    return mixed.replaced().contains(module);
  });
  if (untouched) return shard.keep(*found.stored.front());
  for (const std::string& module : modules) {
    const CanonicalMatrix matrix = mixed.matrix(module);
    const std::string name = source.disk_name(module);
    if (const auto* quantized = std::get_if<QuantizedMatrix>(&matrix)) {
      shard.pack(name, *quantized);
    } else {
      shard.keep(name, std::get<DenseMatrix>(matrix));
    }
  }
}

void add_found(const Checkpoint& source, const MixedSource& mixed, const FoundTensor& found,
               ShardContent& shard) {
  const StoredTensor& stored = *found.stored.front();
  if (found.spec->kind == TensorKind::kExperts && stored.shape.size() == 3)
    return add_fused(source, mixed, found, shard);
  const std::string name = module_of(stored.name);
  const std::string module = canonical_of(source, name);
  if (mixed.replaced().contains(module)) return shard.pack(name, mixed.replaced().at(module));
  if (found.packed) return shard.pack(name, std::get<QuantizedMatrix>(source.matrix(module)));
  shard.keep(stored);
}

}  // namespace

std::string shard_name(const ModelConfig& config, int64_t part) {
  return fmt::format("model-{:05}-of-{:05}.safetensors", part + 1, config.layer_count() + 1);
}

std::vector<FoundTensor> kept_integers(const Checkpoint& source,
                                       const std::vector<std::vector<MatrixPlan>>& plan) {
  std::set<std::string> planned;
  for (const auto& part : plan) {
    for (const MatrixPlan& matrix : part) planned.insert(matrix.disk_name);
  }
  std::vector<FoundTensor> kept;
  for (const FoundTensor& found : source.inventory()) {
    if (found.packed && !planned.contains(module_of(found.stored.front()->name))) kept.push_back(found);
  }
  return kept;
}

void write_shard(const Checkpoint& source, const MixedSource& mixed, int64_t part, bool gptq_v1,
                 const std::string& folder) {
  ShardContent shard(gptq_v1);
  for (const FoundTensor& found : source.inventory()) {
    if (part_of(found.spec->name, source.config()) == part) add_found(source, mixed, found, shard);
  }
  write_safetensors(folder + "/" + shard_name(source.config(), part), shard.tensors());
  source.drop_pages();
}

void read_shard(const Checkpoint& source, const std::vector<MatrixPlan>& plan, const QuantizeOptions& options,
                int64_t part, const std::string& folder, MixedSource& mixed) {
  const SafetensorsFile file(folder + "/" + shard_name(source.config(), part));
  const auto tensor = [&](const std::string& name) -> const StoredTensor& {
    const StoredTensor* found = file.find(name);
    TERCET_CHECK(found != nullptr);  // the part's hash was compared
    return *found;
  };
  for (const MatrixPlan& matrix : plan) {
    const std::string& name = matrix.disk_name;
    mixed.put(matrix.linear.module,
              read_gptq({.qweight = tensor(name + ".qweight"),
                         .qzeros = tensor(name + ".qzeros"),
                         .scales = tensor(name + ".scales"),
                         .g_idx = tensor(name + ".g_idx"),
                         .packed = {matrix.settings.bits, matrix.settings.group_size, options.symmetric},
                         .v1 = options.gptq_v1}));
  }
}

void write_index(const ModelConfig& config, const std::string& folder) {
  nlohmann::json index;  // keys in alphabetical order
  int64_t bytes = 0;
  for (int64_t part = 0; part <= config.layer_count(); ++part) {
    const std::string name = shard_name(config, part);
    const SafetensorsFile file(folder + "/" + name);
    for (const StoredTensor& tensor : file.tensors()) {
      index["weight_map"][tensor.name] = name;
      bytes += tensor.bytes;
    }
  }
  index["metadata"]["total_size"] = bytes;
  write_text_file(folder + "/model.safetensors.index.json", index.dump(2) + "\n");
}

}  // namespace tercet
