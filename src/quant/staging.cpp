#include "quant/staging.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <vector>

#include "base/durable_file.h"
#include "base/error.h"
#include "checkpoint/strict_json.h"

namespace tercet {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr const char* kRunFile = "/run.json";

/// Exchanges two folders in one step, or, where the file system cannot, in two.
void replace_folder(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  if (errno != EINVAL && errno != ENOSYS) {
    throw Error(ErrorKind::kIo,
                std::string("the output cannot take the destination's place: ") + std::strerror(errno),
                {.file = to});
  }
  const std::string aside = from + ".replaced";
  fs::rename(to, aside);
  fs::rename(from, to);
}

/// Whether a staging folder holds only what runs leave there.
bool is_ours(const std::string& folder) {
  static const std::regex kRecords("(run|part-[0-9]+)\\.json(\\.[0-9]+\\.tmp)?");
  static const std::regex kFirst("run\\.json\\.[0-9]+\\.tmp");
  const bool started = fs::exists(folder + kRunFile);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool output =
        name == "output" && fs::is_directory(entry.symlink_status()) && (started || fs::is_empty(entry));
    const bool record =
        fs::is_regular_file(entry.symlink_status()) && std::regex_match(name, started ? kRecords : kFirst);
    if (!output && !record) return false;
  }
  return true;
}

bool is_replaceable(const fs::path& folder) {
  return fs::is_directory(folder) && (fs::is_empty(folder) || fs::exists(folder / "config.json"));
}

/// Locks a folder for as long as the result lives; null if another process holds it.
std::shared_ptr<int> lock_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw Error(ErrorKind::kIo, std::strerror(errno), {.file = folder});
  std::shared_ptr<int> lock(new int(descriptor), [](int* held) {
    ::close(*held);
    delete held;
  });
  return ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ? lock : nullptr;
}

/// What DurableFile leaves of a file that was being written when the process was killed.
void remove_temporaries(const std::string& folder) {
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tmp") left.push_back(entry.path());
  }
  for (const fs::path& path : left) fs::remove(path);
}

bool lies_in(const fs::path& inner, const fs::path& outer) {
  return std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end()).first == outer.end();
}

}  // namespace

void check_destination(const std::string& source, const std::string& destination, bool overwrite) {
  const fs::path from = fs::weakly_canonical(fs::absolute(source));
  const fs::path to = fs::weakly_canonical(fs::absolute(destination));
  const fs::path staging = to.string() + ".staging";
  if (destination.empty() || lies_in(from, to) || lies_in(to, from) || lies_in(from, staging)) {
    throw Error(ErrorKind::kUsage, "the destination must lie apart from the source; choose another",
                {.file = destination, .expected = "a folder outside " + source, .found = to.string()});
  }
  if (fs::is_symlink(destination) && !fs::exists(destination)) {
    throw Error(ErrorKind::kUsage, "the destination is a link to nothing; remove it or choose another",
                {.file = destination, .expected = "a folder, or nothing", .found = "a link"});
  }
  if (overwrite && fs::exists(to) && !is_replaceable(to)) {
    throw Error(ErrorKind::kUsage, "--overwrite replaces model folders only; choose another destination",
                {.file = destination, .expected = "a folder with config.json", .found = "something else"});
  }
}

json read_record(const std::string& path) {
  constexpr int64_t kMaxBytes = 1'000'000'000;
  return parse_strict_json(read_text_file(path, kMaxBytes), path);
}

void write_text_file(const std::string& path, const std::string& text) {
  DurableFile file(path);
  file.write(text);
  file.commit();
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
    : destination_(destination),
      folder_(destination + ".staging"),
      output_(folder_ + "/output"),
      overwrite_(options.overwrite) {
  if (fs::exists(destination) && !options.overwrite) {
    throw Error(ErrorKind::kUsage, "the destination exists; choose another or give --overwrite",
                {.file = destination, .expected = "no such folder", .found = "one"});
  }
  lock();
  if (!is_ours(folder_)) {
    throw Error(
        ErrorKind::kUsage, "the staging folder holds something else; move it away",
        {.file = folder_, .expected = "no such folder, or an unfinished run", .found = "other files"});
  }
  const bool started = fs::exists(folder_ + kRunFile);
  if (started && options.resume) {
    const std::string changed = differences(earlier_run(), run);
    if (changed.empty()) {
      fs::create_directories(output_);
      remove_temporaries(output_);
      return;
    }
    throw Error(ErrorKind::kUsage,
                "the run to be resumed was started differently; give the same options or remove its folder",
                {.file = folder_, .expected = "the same run", .found = changed});
  }
  if (started && !options.overwrite) {
    throw Error(ErrorKind::kUsage,
                "an unfinished run is in the way; give --resume to continue it or --overwrite to start again",
                {.file = folder_, .expected = "no such folder", .found = "an unfinished run"});
  }
  // run.json stays until the new one replaces it: stopped in between, this is still an unfinished run.
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (entry.path().filename() != "run.json") fs::remove_all(entry);
  }
  fs::create_directories(output_);
  write_text_file(folder_ + kRunFile, run.dump(1));
}

json Staging::earlier_run() const {
  try {
    return read_record(folder_ + kRunFile);
  } catch (const Error& error) {
    throw Error(
        ErrorKind::kUsage,
        "the record of the unfinished run cannot be read; give --overwrite without --resume to start again",
        {.file = folder_ + kRunFile, .found = error.message()});
  }
}

void Staging::lock() {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    throw Error(ErrorKind::kIo, "the folder cannot be created: " + failure.message(), {.file = folder_});
  }
  lock_ = lock_folder(folder_);
  if (lock_) return;
  throw Error(ErrorKind::kUsage,
              "another process is quantizing to this destination; wait for it, or choose another",
              {.file = folder_, .expected = "a folder that no process works in", .found = "a lock"});
}

std::string Staging::part_path(int64_t part) const {
  return folder_ + "/part-" + std::to_string(part) + ".json";
}

std::optional<json> Staging::finished(int64_t part) const {
  if (!fs::exists(part_path(part))) return std::nullopt;
  try {
    return read_record(part_path(part));
  } catch (const Error&) {
    return std::nullopt;  // damaged: it is done again
  }
}

void Staging::finish(int64_t part, const json& description) const {
  write_text_file(part_path(part), description.dump(1));
}

void Staging::publish() const {
  const bool there = fs::exists(destination_);
  if (there && !(overwrite_ && is_replaceable(destination_))) {
    throw Error(ErrorKind::kUsage,
                "the destination has appeared meanwhile; move it away and give --resume, the work is kept",
                {.file = destination_, .expected = "no such folder", .found = "one"});
  }
  if (there) {
    replace_folder(output_, destination_);
  } else if (::renameat2(AT_FDCWD, output_.c_str(), AT_FDCWD, destination_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) {
      throw Error(ErrorKind::kIo, std::string("the output cannot be renamed: ") + std::strerror(errno),
                  {.file = destination_});
    }
    fs::rename(output_, destination_);
  }
  fs::remove_all(folder_);
}

void remove_leftovers(const std::string& destination) {
  const std::string folder = destination + ".staging";
  if (!fs::is_directory(folder)) return;
  const auto lock = lock_folder(folder);
  if (lock && is_ours(folder)) fs::remove_all(folder);
}

}  // namespace tercet
