// Stacks of processes that are not Python, or do not answer: a worker copies registers and stacks
// of its ranks (base/process/native), and another process, with the rights of the ranks' user and
// none of the worker's secrets, finds out which functions these are, since the tables for that
// stand in files of strangers.
//
// Any thread; of() waits for that process, which is killed at the deadline.
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
  /// Of one look. What is beyond is left out.
  static constexpr std::size_t processes_max = 1'024;
  static constexpr std::size_t sample_bytes_max = std::size_t{64} << 20;
  static constexpr std::size_t text_bytes_max = std::size_t{64} << 10;  // of one process

  /// `reader`: the program that names frames (read_samples) and its words; empty: nothing is ever
  /// found. `owner`: whose rights it has, unless this process's.
  native_stacks(std::vector<std::string> reader, std::optional<std::pair<uid_t, gid_t>> owner)
      : reader_(std::move(reader)), owner_(owner) {}

  /// As frame_finder writes them. A process is not in it that may not be traced, has ended, or
  /// came too late.
  std::map<pid_t, std::string> of(std::vector<pid_t> const& processes,
                                  std::chrono::steady_clock::time_point until) const;

 private:
  std::vector<std::string> const reader_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
};

/// The other process: reads samples from `in` and writes to `out`, of each as soon as it is done, a
/// line `PID BYTES` and so many bytes of text. Answers the status to exit with.
int read_samples(int in, int out);

}  // namespace muster
