#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace tercet {
namespace {

std::atomic<bool> interrupted{false};
std::string last_words;

void say_and_stop(int signal) {
  const char* rest = last_words.data();
  for (size_t left = last_words.size(); left > 0;) {
    const ssize_t written = ::write(STDERR_FILENO, rest, left);
    if (written <= 0) break;
    rest += written;
    left -= static_cast<size_t>(written);
  }
  ::raise(signal);  // with the default action, which SA_RESETHAND has brought back
}

static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

}  // namespace

std::atomic<bool>& catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted.store(true); };
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  return interrupted;
}

void say_when_stopped(const std::string& text) {
  last_words = text;
  struct sigaction action = {};
  action.sa_handler = say_and_stop;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace tercet
