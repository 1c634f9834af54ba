#include "checkpoint/verify_tensors.h"

#include <algorithm>
#include <unordered_set>

#include "base/error.h"
#include "format/gptq.h"

namespace tercet {
namespace {

using Shape = std::vector<int64_t>;

std::string description(const StoredTensor& tensor) {
  return std::string(name_of(tensor.dtype)) + " " + to_string(tensor.shape);
}

class Verifier {
 public:
  explicit Verifier(const TensorCheck& check) : check_(check) {}

  std::vector<FoundTensor> run() {
    for (const TensorSpec& spec : check_.expected) {
      if (spec.kind == TensorKind::kExperts) {
        experts(spec);
      } else if (spec.quantizable()) {
        linear(spec, name_on_disk(spec.module(), check_.prefix), spec.shape);
      } else {
        floats(spec, name_on_disk(spec.name, check_.prefix), spec.shape);
      }
    }
    refuse_unknown();
    return std::move(found_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const StoredTensor& tensor,
                         const std::string& expected) const {
    throw Error(ErrorKind::kCheckpoint, what,
                {.file = std::string(tensor.file),
                 .tensor = tensor.name,
                 .expected = expected,
                 .found = description(tensor)});
  }

  const StoredTensor& require(const std::string& name, const Shape& shape) const {
    const StoredTensor* tensor = check_.tensors.find(name);
    if (tensor == nullptr) {
      throw Error(
          ErrorKind::kCheckpoint, "a tensor that the configuration implies is missing; fetch all files again",
          {.file = check_.folder, .tensor = name, .expected = to_string(shape), .found = "no such tensor"});
    }
    if (tensor->shape != shape)
      fail("the shape is not what the configuration implies", *tensor, to_string(shape));
    return *tensor;
  }

  void floats(const TensorSpec& spec, const std::string& name, const Shape& shape) {
    const StoredTensor& tensor = require(name, shape);
    if (!is_float(tensor.dtype)) fail("the tensor must hold floats", tensor, "BF16, F16 or F32");
    known_.insert(&tensor);
    found_.push_back({&spec, tensor.elements(), {&tensor}, std::nullopt});
  }

  /// A matrix under its own name, as floats or as integers.
  void linear(const TensorSpec& spec, const std::string& module, const Shape& shape) {
    if (check_.tensors.find(module + ".qweight") != nullptr) {
      integers(spec, module, shape);
    } else {
      floats(spec, module + ".weight", shape);
    }
  }

  void integers(const TensorSpec& spec, const std::string& module, const Shape& shape) {
    const StoredTensor& qweight = *check_.tensors.find(module + ".qweight");
    if (!check_.quantization) {
      fail("the matrix is quantized, but config.json has no quantization_config", qweight,
           "a quantization_config");
    }
    const std::optional<ModuleQuantization> packed = check_.quantization->of(module);
    if (!packed) {
      fail("the matrix is quantized, but quantization_config's dynamic rules leave it out", qweight,
           "the float tensor " + module + ".weight");
    }
    const int64_t rows = shape[0];
    const int64_t cols = shape[1];
    const int64_t group_size = packed->group_size < 0 ? cols : packed->group_size;
    const int64_t groups = (cols + group_size - 1) / group_size;
    const std::vector<const StoredTensor*> parts = {
        &require(module + ".qweight", {packed_words(cols, packed->bits), rows}),
        &require(module + ".qzeros", {groups, packed_words(rows, packed->bits)}),
        &require(module + ".scales", {groups, rows}), &require(module + ".g_idx", {cols})};
    for (const StoredTensor* part : parts) {
      const bool is_scales = part == parts[2];
      const bool valid =
          is_scales ? part->dtype == DType::kF16 || part->dtype == DType::kBF16 || part->dtype == DType::kF32
                    : part->dtype == DType::kI32;
      if (!valid) fail("the element type is not valid here", *part, is_scales ? "F16, BF16 or F32" : "I32");
      known_.insert(part);
    }
    found_.push_back({&spec, rows * cols, parts, packed});
  }

  /// Fused, or one matrix an expert. Experts are only counted up while they are found, so a configuration
  /// that promises thousands costs nothing.
  void experts(const TensorSpec& spec) {
    const std::string fused = name_on_disk(spec.name, check_.prefix);
    const std::string base = fused.substr(0, fused.rfind('.') + 1);
    const std::vector<ExpertMatrix> matrices = expert_matrices(spec);
    const std::string first = base + "0." + matrices.front().name;
    const bool separate = check_.tensors.find(first + ".weight") != nullptr ||
                          check_.tensors.find(first + ".qweight") != nullptr;
    if (!separate) return floats(spec, fused, spec.shape);
    for (int64_t e = 0; e < spec.shape[0]; ++e) {
      for (const ExpertMatrix& matrix : matrices) {
        linear(spec, base + std::to_string(e) + "." + matrix.name, {matrix.rows, spec.shape[2]});
      }
    }
  }

  void refuse_unknown() const {
    if (static_cast<int64_t>(known_.size()) == check_.tensors.count()) return;
    for (const SafetensorsFile& file : check_.tensors.files()) {
      for (const StoredTensor& tensor : file.tensors()) {
        if (!known_.contains(&tensor)) {
          fail("the tensor is not part of what the configuration describes; remove it or correct config.json",
               tensor, "no tensor of this name");
        }
      }
    }
  }

  const TensorCheck& check_;
  std::unordered_set<const StoredTensor*> known_;
  std::vector<FoundTensor> found_;
};

}  // namespace

std::string name_on_disk(const std::string& canonical, const std::string& prefix) {
  if (canonical.starts_with("lm_head") || canonical.starts_with("mtp.")) return canonical;
  if (canonical.starts_with("visual.")) return "model." + canonical;
  return prefix + canonical;
}

std::vector<FoundTensor> verify_tensors(const TensorCheck& check) {
  return Verifier(check).run();
}

}  // namespace tercet
