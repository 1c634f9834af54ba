#include "quant/staging.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr int64_t kMaxJsonBytes = 1'000'000'000;
constexpr const char* kRunFile = "/run.json";

[[noreturn]] void fail_io(const std::string& what, const std::string& path, int error) {
  throw Error(ErrorKind::kIo, what + ": " + std::strerror(error), {.file = path});
}

void write_all(int fd, const std::string& text, const std::string& path) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0) {
      const int error = errno;
      ::close(fd);
      fail_io("the file cannot be written", path, error);
    }
    done += static_cast<size_t>(count);
  }
}

json read_json(const std::string& path) {
  return parse_strict_json(read_text_file(path, kMaxJsonBytes), path);
}

/// Exchanges two folders in one step, or, where the file system cannot, in two.
void replace_folder(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS)
    fail_io("the output cannot take the destination's place", to, errno);
  const std::string aside = from + ".replaced";
  fs::rename(to, aside);
  fs::rename(from, to);
}

}  // namespace

void write_text_file(const std::string& path, const std::string& text) {
  const std::string temporary = path + ".part";
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail_io("the file cannot be created", temporary, errno);
  write_all(fd, text, temporary);
  const bool stored = ::fsync(fd) == 0;
  if (::close(fd) != 0 || !stored || std::rename(temporary.c_str(), path.c_str()) != 0) {
    fail_io("the file cannot be written", path, errno);
  }
}

std::string differences(const json& earlier, const json& now) {
  std::string text;
  const json changes = json::diff(earlier, now);
  for (const json& change : changes) {
    const json::json_pointer place(change["path"].get<std::string>());
    std::string name = change["path"].get<std::string>().substr(1);
    std::replace(name.begin(), name.end(), '/', '.');
    const auto value = [&](const json& tree) {
      return tree.contains(place) ? shown(tree[place]) : "nothing";
    };
    text += (text.empty() ? "" : ", ") + name + " (" + value(earlier) + ", now " + value(now) + ")";
  }
  return text;
}

Staging::Staging(const std::string& destination, const json& run, const QuantizeOptions& options)
    : destination_(destination), folder_(destination + ".staging"), output_(folder_ + "/output") {
  if (fs::exists(destination) && !options.overwrite) {
    throw Error(ErrorKind::kUsage, "the destination exists; choose another or give --overwrite",
                {.file = destination, .expected = "no such folder", .found = "one"});
  }
  const bool started = fs::exists(folder_ + kRunFile);
  if (started && options.resume) {
    const std::string changed = differences(read_json(folder_ + kRunFile), run);
    if (changed.empty()) return;
    throw Error(ErrorKind::kUsage,
                "the run to be resumed was started differently; give the same options or remove its folder",
                {.file = folder_, .expected = "the same run", .found = changed});
  }
  if (started && !options.overwrite) {
    throw Error(ErrorKind::kUsage,
                "an unfinished run is in the way; give --resume to continue it or --overwrite to start again",
                {.file = folder_, .expected = "no such folder", .found = "an unfinished run"});
  }
  fs::remove_all(folder_);
  fs::create_directories(output_);
  write_text_file(folder_ + kRunFile, run.dump(1));
}

std::string Staging::part_path(int64_t part) const {
  return folder_ + "/part-" + std::to_string(part) + ".json";
}

std::optional<json> Staging::finished(int64_t part) const {
  if (!fs::exists(part_path(part))) return std::nullopt;
  return read_json(part_path(part));
}

void Staging::finish(int64_t part, const json& description) const {
  write_text_file(part_path(part), description.dump(1));
}

void Staging::publish() const {
  if (fs::exists(destination_)) {
    replace_folder(output_, destination_);
  } else {
    fs::rename(output_, destination_);
  }
  fs::remove_all(folder_);
}

}  // namespace tercet
