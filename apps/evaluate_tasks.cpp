#include "evaluate_tasks.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "code_score.h"
#include "console.h"
#include "conversation.h"
#include "files.h"
#include "runtime/generator.h"
#include "text/chat_template.h"
#include "text/value_json.h"
#include "text/windows.h"

namespace tercet {
namespace {

constexpr int64_t kTaskTokens = 400;

const std::string& text_field(const jinja::Dict& line, std::string_view key, const std::string& place) {
  const jinja::Value* value = line.find(key);
  if (value == nullptr || !value->is_string()) {
    throw Error(ErrorKind::kUsage, fmt::format("a task line needs the text '{}'", key), {.file = place});
  }
  return value->as_string();
}

Task read_task(std::string_view line, const std::string& place, const ChatTemplate& chat_template,
               const Tokenizer& tokenizer, const std::string& thinking) {
  const jinja::Value value = jinja::parse_json(line, place);
  const jinja::Value* messages = value.is_dict() ? value.as_dict().find("messages") : nullptr;
  if (messages == nullptr) throw Error(ErrorKind::kUsage, "a task line needs 'messages'", {.file = place});
  const jinja::Dict& fields = value.as_dict();
  const jinja::Value* tools = fields.find("tools");
  const jinja::Value* own = fields.find("thinking");
  const bool thinks = thinking == "task" ? own != nullptr && own->truth() : thinking == "on";
  Task task;
  task.category = text_field(fields, "category", place);
  task.answer = text_field(fields, "answer", place);
  const std::string& score = text_field(fields, "score", place);
  if (score != "exact" && score != "code") {
    throw Error(ErrorKind::kUsage, "a task line with an unknown score",
                {.file = place, .expected = "exact or code", .found = score});
  }
  task.code = score == "code";
  const jinja::Value none = jinja::Value::none();
  task.prompt = tokenizer.encode(chat_template.render(
      conversation_json(*messages, tools == nullptr ? none : *tools, thinks), true, place));
  return task;
}

struct TaskLine {
  int64_t number;
  std::string_view text;
};

/// Lines that are not blank.
std::vector<TaskLine> task_lines(std::string_view text) {
  std::vector<TaskLine> lines;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({number, line});
  }
  return lines;
}

/// What counts of a reply: its text after the reasoning, without end marker and surrounding white space.
std::string final_answer(const Tokenizer& tokenizer, std::span<const int32_t> tokens,
                         const std::vector<int32_t>& stop_ids) {
  if (!tokens.empty() && std::find(stop_ids.begin(), stop_ids.end(), tokens.back()) != stop_ids.end()) {
    tokens = tokens.first(tokens.size() - 1);
  }
  std::string text = tokenizer.decode(tokens);
  constexpr std::string_view kEnd = "</think>";
  const size_t end = text.rfind(kEnd);
  if (end != std::string::npos) text.erase(0, end + kEnd.size());
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

}  // namespace

std::vector<Task> read_tasks(const std::string& path, const Checkpoint& checkpoint,
                             const Tokenizer& tokenizer, const std::string& thinking, int64_t limit) {
  const ChatTemplate chat_template = ChatTemplate::load(checkpoint.folder());
  const std::string text = read_file(path);
  const std::vector<TaskLine> lines = task_lines(text);
  std::vector<Task> tasks;
  for (const int64_t i : spread_windows(std::ssize(lines), limit == 0 ? std::ssize(lines) : limit)) {
    const TaskLine& line = lines[static_cast<size_t>(i)];
    const std::string place = fmt::format("{} line {}", path, line.number);
    tasks.push_back(
        in_file(place, [&] { return read_task(line.text, place, chat_template, tokenizer, thinking); }));
  }
  if (tasks.empty()) throw Error(ErrorKind::kUsage, "there is no task in the file", {.file = path});
  return tasks;
}

StepSize task_step_size(std::span<const Task> tasks) {
  StepSize size = {.rows = 512, .sequences = 32, .context = 0, .logit_rows = 32};
  for (const Task& task : tasks) size.context = std::max(size.context, std::ssize(task.prompt) + kTaskTokens);
  return size;
}

std::map<std::string, TaskCount> score_tasks(Model& model, const Tokenizer& tokenizer, const StepSize& size,
                                             const std::vector<int32_t>& stop_ids,
                                             std::span<const Task> tasks,
                                             const std::function<void(int64_t)>& on_finish) {
  const bool python = has_python();
  if (!python && std::any_of(tasks.begin(), tasks.end(), [](const Task& task) { return task.code; })) {
    log_warning(
        "python3 is not there: tasks that are scored by running code are left out; install python3 to have "
        "them");
  }
  std::vector<Request> requests;
  std::vector<const Task*> asked;
  for (const Task& task : tasks) {
    if (task.code && !python) continue;
    Request request;
    request.prompt = task.prompt;
    request.sampling.temperature = 0;
    request.max_tokens = kTaskTokens;
    request.stop_ids = stop_ids;
    requests.push_back(std::move(request));
    asked.push_back(&task);
  }
  StatePool pool(model.backend(), state_shape(model.config(), false),
                 size.sequences * pages_for(size.context), size.sequences);
  Generator generator(model, pool, size, tokenizer.vocab_size());
  const std::vector<Reply> replies = generator.run(std::move(requests), nullptr, on_finish);

  std::map<std::string, TaskCount> counts;
  for (size_t i = 0; i < replies.size(); ++i) {
    const std::string answer = final_answer(tokenizer, replies[i].tokens, stop_ids);
    TaskCount& count = counts[asked[i]->category];
    ++count.count;
    const bool correct =
        asked[i]->code ? same_function(answer, asked[i]->answer) : answer == asked[i]->answer;
    count.correct += static_cast<int64_t>(correct);
  }
  return counts;
}

}  // namespace tercet
