#include "checkpoint/inspect.h"
#include "console.h"
#include "options.h"

namespace tercet {

int run_inspect(const InspectOptions& options) {
  const auto checkpoint = Checkpoint::open(options.model);
  const Inspection inspection = inspect(*checkpoint);
  JsonObject report;
  report.set("architecture", inspection.architecture)
      .set("layers", inspection.layers)
      .set("parameters", inspection.parameters)
      .set("bytes", inspection.bytes)
      .set("bits_per_weight", inspection.bits_per_weight);
  const QuantizationSummary& quantization = inspection.quantization;
  if (quantization.bits > 0) report.set("quantized_bits_per_weight", inspection.quantized_bits_per_weight);
  report.set("quantization", JsonObject()
                                 .set("method", quantization.method)
                                 .set("container", quantization.container)
                                 .set("bits", quantization.bits)
                                 .set("group_size", quantization.group_size));
  std::vector<JsonObject> components;
  for (const ComponentSummary& component : inspection.components) {
    components.push_back(JsonObject()
                             .set("name", component.name)
                             .set("tensors", component.tensors)
                             .set("parameters", component.parameters)
                             .set("bytes", component.bytes)
                             .set("bits_per_weight", component.bits_per_weight));
  }
  report.set("components", components);
  print_report(report, options.common.json);
  return 0;
}

}  // namespace tercet
