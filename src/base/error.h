#pragma once

#include <stdexcept>
#include <string>

namespace tercet {

/// What kind of thing failed; the names are part of the command-line contract.
enum class ErrorKind { kCheckpoint, kUsage, kIo, kDevice, kInternal };

/// The contract's name of a kind: "checkpoint", "usage", "io", "device", "internal".
const char* to_string(ErrorKind kind);

/// Where a failure was met and what would have been right. Empty fields are left out of messages.
struct ErrorContext {
  std::string file{};
  std::string tensor{};
  std::string expected{};
  std::string found{};
};

/// The one exception type: a bad file, configuration, request of the command line, or device failure.
/// `what()` is a sentence that names file, tensor, expected and found, and says what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, ErrorContext context = {});

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const ErrorContext& context() const { return context_; }

 private:
  ErrorKind kind_;
  std::string message_;
  ErrorContext context_;
};

}  // namespace tercet
