#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "loaded_model.h"

namespace tercet {

/// One line of a task file.
struct Task {
  std::string category;
  std::vector<int32_t> prompt;  // rendered and encoded
  std::string answer;
  bool code = false;  // scored by running it, else by equality
};

struct TaskCount {
  int64_t count = 0;
  int64_t correct = 0;
};

/// Reads task lines and renders them with the model's template. `thinking`: "on", "off", or "task" (as each
/// line says); `limit` lines at most, 0: all. Throws Error(kUsage) that names the line.
std::vector<Task> read_tasks(const std::string& path, const Checkpoint& checkpoint,
                             const Tokenizer& tokenizer, const std::string& thinking, int64_t limit);

/// Steps that answer the tasks in batches.
StepSize task_step_size(std::span<const Task> tasks);

/// Answers the tasks greedily, in at most 400 tokens each, and counts by category. `on_finish` hears how many
/// are answered.
std::map<std::string, TaskCount> score_tasks(Model& model, const Tokenizer& tokenizer, const StepSize& size,
                                             const std::vector<int32_t>& stop_ids,
                                             std::span<const Task> tasks,
                                             const std::function<void(int64_t)>& on_finish);

}  // namespace tercet
