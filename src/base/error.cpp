#include "base/error.h"

#include <utility>

namespace tercet {
namespace {

std::string sentence(const std::string& message, const ErrorContext& context) {
  std::string text;
  if (!context.file.empty()) text += context.file + ": ";
  if (!context.tensor.empty()) text += "tensor '" + context.tensor + "': ";
  text += message;
  if (!context.expected.empty()) text += "; expected " + context.expected;
  if (!context.found.empty()) text += (context.expected.empty() ? "; found " : ", found ") + context.found;
  return text;
}

}  // namespace

const char* to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kCheckpoint:
      return "checkpoint";
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kIo:
      return "io";
    case ErrorKind::kDevice:
      return "device";
    case ErrorKind::kInternal:
      return "internal";
  }
  return "internal";
}

Error::Error(ErrorKind kind, const std::string& message, ErrorContext context)
    : std::runtime_error(sentence(message, context)),
      kind_(kind),
      message_(message),
      context_(std::move(context)) {}

}  // namespace tercet
