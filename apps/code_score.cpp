#include "code_score.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "code_runner.h"
#include "text/unicode.h"
#include "text/value_json.h"

namespace tercet {
namespace {

constexpr auto kTimeLimit = std::chrono::seconds(2);
constexpr rlim_t kMemoryLimit = rlim_t{512} << 20;

/// The system's python3 before one in PATH, which may be a wrapper that needs more than the limits grant.
std::string find_python() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string("/usr/bin:/usr/local/bin:") + (path == nullptr ? "" : path));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/python3";
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

/// A folder that goes away with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_((std::filesystem::temp_directory_path() / "tercet-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) {
      throw Error(ErrorKind::kIo, std::string("no temporary folder: ") + std::strerror(errno),
                  {.file = path_});
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// The child's part, after fork: only calls that are safe there. `input` becomes standard input.
/// Exit codes: the runner's where the answer cannot be run, and the child's where nothing could be.
constexpr int kBadAnswer = 2;
constexpr int kNotRun = 3;

[[noreturn]] void run_child(const char* python, const char* folder, int input) {
  const auto limit = [](__rlimit_resource_t resource, rlim_t value) {
    const rlimit both = {value, value};
    return setrlimit(resource, &both) == 0;
  };
  const bool limited = limit(RLIMIT_AS, kMemoryLimit) && limit(RLIMIT_CPU, kTimeLimit.count()) &&
                       limit(RLIMIT_FSIZE, 0) && limit(RLIMIT_NOFILE, 16) && limit(RLIMIT_CORE, 0);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (!limited || chdir(folder) != 0 || null < 0) _exit(kNotRun);
  if (dup2(input, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0)
    _exit(kNotRun);
  std::array<const char*, 6> arguments = {python, "-I", "-S", "-c", kCodeRunner, nullptr};
  std::array<const char*, 1> environment = {nullptr};
  execve(python, const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()));
  _exit(kNotRun);
}

/// The exit status, or -1 if the process had to be ended.
int wait_for(pid_t child) {
  const auto end = std::chrono::steady_clock::now() + kTimeLimit;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

bool has_python() {
  return !find_python().empty();
}

bool same_function(const std::string& reply, const std::string& answer) {
  const std::string python = find_python();
  const TemporaryFolder folder;
  jinja::Budget budget{jinja::Limits()};
  const jinja::Value both =
      jinja::Value::list({jinja::Value(lossy_utf8(reply)), jinja::Value(lossy_utf8(answer))});
  jinja::JsonStyle style;
  style.ensure_ascii = true;  // whatever encoding the child believes in
  const std::string input = jinja::dump_json(both, style, budget);

  // A file rather than a pipe: nobody waits for a reader that has died.
  const std::string path = folder.path() + "/input.json";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = file >= 0 && write(file, input.data(), input.size()) == std::ssize(input) &&
                       lseek(file, 0, SEEK_SET) == 0 && unlink(path.c_str()) == 0;
  const pid_t child = written ? fork() : -1;
  if (child == 0) run_child(python.c_str(), folder.path().c_str(), file);
  const int error = errno;
  if (file >= 0) close(file);
  if (child < 0)
    throw Error(ErrorKind::kIo, std::string("no process to run code in: ") + std::strerror(error));
  const int status = wait_for(child);
  if (status == kNotRun) {
    throw Error(ErrorKind::kIo, "python3 cannot be run within the limits of code tasks; see ulimit -a",
                {.file = python});
  }
  // Where a reply does not end, the answer may be what does not.
  if (status == kBadAnswer || (status < 0 && reply != answer && !same_function(answer, answer))) {
    throw Error(ErrorKind::kUsage, "a code task's own answer cannot be run; correct it",
                {.expected = "a fenced Python function of one number, without imports",
                 .found = answer.substr(0, 80)});
  }
  return status == 0;
}

}  // namespace tercet
