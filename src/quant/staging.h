#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "quant/options.h"

namespace tercet {

/// A JSON file that a run has written. Throws Error(kIo) or Error(kCheckpoint).
nlohmann::ordered_json read_record(const std::string& path);

/// Writes a text file whole or not at all, and onto the disk before returning. Throws Error(kIo).
void write_text_file(const std::string& path, const std::string& text);

/// Refuses a destination that would destroy something: the source itself or a folder in or around it, or,
/// with `overwrite`, anything but an empty folder or a model folder. Throws Error(kUsage).
void check_destination(const std::string& source, const std::string& destination, bool overwrite);

/// The folder `destination`.staging in which a run keeps what it has finished: `run.json` says what the run
/// is, `part-N.json` that part N is done, and `output` becomes `destination` at the end. Only one
/// process at a time works in it: it holds a lock on the folder for as long as it lives.
class Staging {
 public:
  /// Starts afresh or takes up what an earlier run left. `run` describes everything that the output depends
  /// on. Throws Error(kUsage) if the destination or the staging folder is in the way, if another process
  /// works in it, or if the earlier run's description differs: the message names the entries.
  Staging(const std::string& destination, const nlohmann::ordered_json& run, const QuantizeOptions& options);

  const std::string& output() const { return output_; }
  /// What `finish` was given for a part, by this run or an earlier one, if it can be read.
  std::optional<nlohmann::ordered_json> finished(int64_t part) const;
  /// Call it when all files of the part are written.
  void finish(int64_t part, const nlohmann::ordered_json& description) const;
  /// Puts the output in the destination's place, at once, and removes the staging folder. Throws
  /// Error(kUsage), and keeps the work, if something has appeared there that may not be replaced.
  void publish() const;

 private:
  std::string part_path(int64_t part) const;
  void lock();
  nlohmann::ordered_json earlier_run() const;

  std::string destination_;
  std::string folder_;
  std::string output_;
  bool overwrite_;
  std::shared_ptr<int> lock_;  // descriptor of the locked folder
};

/// Removes what a run left that was stopped after its output had taken its place; nothing that is in use or
/// not a run's.
void remove_leftovers(const std::string& destination);

/// The entries in which two descriptions differ, by their paths: "options.bits (4, now 3)".
std::string differences(const nlohmann::ordered_json& earlier, const nlohmann::ordered_json& now);

}  // namespace tercet
