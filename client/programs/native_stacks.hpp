// Samples the stacks of processes that are not Python, or do not answer. The worker copies their
// registers and stacks (base/process/native). Another process maps them to functions. It parses
// untrusted files, so it has the rights of the ranks' user and no secrets of the worker.
//
// Any thread. of() waits for that process and kills it at the deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace muster {

class native_stacks {
 public:
  /// Limits of one call. Processes beyond them are left out.
  static constexpr std::size_t processes_max = 1'024;
  static constexpr std::size_t sample_bytes_max = std::size_t{64} << 20;
  static constexpr std::size_t text_bytes_max = std::size_t{64} << 10;  // per process

  /// `reader`: command line of the program that names frames (read_samples); if empty, nothing is
  /// found. `owner`: user and group of that program, if not those of this process.
  native_stacks(std::vector<std::string> reader, std::optional<std::pair<uid_t, gid_t>> owner)
      : reader_(std::move(reader)), owner_(owner) {}

  /// Returns the text of frame_finder by process. Processes that cannot be traced, have ended or
  /// were too late are left out.
  std::map<pid_t, std::string> of(std::vector<pid_t> const& processes,
                                  std::chrono::steady_clock::time_point until) const;

 private:
  std::vector<std::string> const reader_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
};

/// Main function of the other process. Reads samples from `in`; writes a line `PID BYTES` and the
/// text of each to `out` as soon as it is ready. Returns the exit status.
int read_samples(int in, int out);

}  // namespace muster
