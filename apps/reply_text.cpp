#include "reply_text.h"

#include <algorithm>
#include <utility>

namespace tercet {

std::string StopStrings::push(std::string_view text) {
  if (found_) return {};
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : strings_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    found_ = true;
    held_.resize(first);
    return std::exchange(held_, {});
  }
  size_t keep = 0;
  for (const std::string& stop : strings_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
      if (held_.ends_with(std::string_view(stop).substr(0, length))) keep = length;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopStrings::finish() {
  return std::exchange(held_, {});
}

bool ReplyText::push(int32_t token) {
  if (std::find(stop_ids_.begin(), stop_ids_.end(), token) != stop_ids_.end()) return true;
  emit(stops_.push(decoder_.push(token)));
  return !stops_.found();
}

void ReplyText::finish() {
  emit(stops_.push(decoder_.finish()));
  emit(stops_.finish());
}

void ReplyText::emit(const std::string& piece) {
  if (piece.empty()) return;
  text_ += piece;
  if (sink_) sink_(piece);
}

}  // namespace tercet
