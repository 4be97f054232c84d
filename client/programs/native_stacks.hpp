// Samples the native stacks of non-Python processes and of Python processes that do not respond.
// The worker copies their registers and stacks (base/process/native). A reader process maps the
// copies to functions. Because the reader parses untrusted files, it runs as the ranks' user and
// has no access to the worker's secrets.
//
// Thread-safe. of() waits for the reader process and kills it at the deadline.
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
  /// Limits of one call; processes beyond the limits are omitted.
  static constexpr std::size_t processes_max = 1'024;
  static constexpr std::size_t sample_bytes_max = std::size_t{64} << 20;
  static constexpr std::size_t text_bytes_max = std::size_t{64} << 10;  // per process

  /// `reader` is the command line of the reader process (read_samples); if empty, frames have no
  /// names. `owner` is the reader's user and group; if empty, this process's user and group are
  /// used.
  native_stacks(std::vector<std::string> reader, std::optional<std::pair<uid_t, gid_t>> owner)
      : reader_(std::move(reader)), owner_(owner) {}

  /// Returns the text that frame_finder produces for each process. Omits processes that cannot be
  /// traced, have exited or did not respond in time.
  std::map<pid_t, std::string> of(std::vector<pid_t> const& processes,
                                  std::chrono::steady_clock::time_point until) const;

 private:
  std::vector<std::string> const reader_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
};

/// Main function of the reader process. For each sample read from `in`, writes a line `PID BYTES`
/// and the text to `out` as soon as the text is ready. Returns the exit status.
int read_samples(int in, int out);

}  // namespace muster
