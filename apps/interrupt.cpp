#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

namespace tercet {
namespace {

std::atomic<bool> interrupted{false};
std::string last_words;
std::string words_of_shrunk_file;

/// Only calls that are safe in a signal handler.
void say(const std::string& text) {
  const char* rest = text.data();
  for (size_t left = text.size(); left > 0;) {
    const ssize_t written = ::write(STDERR_FILENO, rest, left);
    if (written <= 0) break;
    rest += written;
    left -= static_cast<size_t>(written);
  }
}

void say_and_stop(int signal) {
  say(last_words);
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
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);  // as under nohup, or behind &
  }
}

void say_when_a_file_shrinks(const std::string& text) {
  words_of_shrunk_file = text;
  struct sigaction action = {};
  action.sa_handler = [](int) {
    say(words_of_shrunk_file);
    ::_exit(1);
  };
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace tercet
