#include "checkpoint/inspect.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tercet {
namespace {

double bits_a_weight(int64_t bytes, int64_t parameters) {
  return parameters == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(parameters);
}

ComponentSummary& component_of(std::vector<ComponentSummary>& components, const std::string& name) {
  const auto same = [&](const ComponentSummary& component) { return component.name == name; };
  const auto entry = std::find_if(components.begin(), components.end(), same);
  if (entry != components.end()) return *entry;
  components.push_back({.name = name});
  return components.back();
}

}  // namespace

Inspection inspect(const Checkpoint& checkpoint) {
  Inspection result;
  result.architecture = checkpoint.config().architecture;
  result.layers = checkpoint.config().layer_count();
  int64_t text_parameters = 0, text_bytes = 0;
  int64_t quantized_parameters = 0, quantized_bytes = 0;
  std::map<std::pair<int, int64_t>, int64_t> weights_of;  // (bits, group) -> weights
  for (const FoundTensor& found : checkpoint.inventory()) {
    int64_t bytes = 0;
    for (const StoredTensor* stored : found.stored) bytes += stored->bytes;
    ComponentSummary& component = component_of(result.components, found.spec->component);
    component.tensors += static_cast<int64_t>(found.stored.size());
    component.parameters += found.parameters;
    component.bytes += bytes;
    result.parameters += found.parameters;
    result.bytes += bytes;
    if (found.spec->component != "mtp" && found.spec->component != "vision") {
      text_parameters += found.parameters;
      text_bytes += bytes;
    }
    if (found.packed) {
      quantized_parameters += found.parameters;
      quantized_bytes += bytes - found.stored.back()->bytes;  // g_idx can be derived
      weights_of[{found.packed->bits, found.packed->group_size}] += found.parameters;
    }
  }
  for (ComponentSummary& c : result.components) c.bits_per_weight = bits_a_weight(c.bytes, c.parameters);
  result.bits_per_weight = bits_a_weight(text_bytes, text_parameters);
  result.quantized_bits_per_weight = bits_a_weight(quantized_bytes, quantized_parameters);
  result.quantization = {.method = "none", .container = "none"};
  if (!weights_of.empty()) {
    const auto most = std::max_element(weights_of.begin(), weights_of.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    result.quantization = {checkpoint.quantization()->method, checkpoint.quantization()->container,
                           most->first.first, most->first.second};
  }
  return result;
}

}  // namespace tercet
