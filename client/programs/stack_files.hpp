// Collects the stacks of ranks. Each Python interpreter that a rank starts first runs a Muster
// module. The module registers faulthandler for a real-time signal, with a file named after the PID
// and the file descriptor. The rank keeps running while its stack is written. Non-Python processes,
// and processes that do not respond, are sampled from outside. Files:
//
//     modules/sitecustomize.py ──► first in PYTHONPATH     now/PID.FD ◄── written at the signal
//
// Thread-safe. take() waits at most 1.3 seconds for the ranks and for another take().
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "client/programs/native_stacks.hpp"
#include "muster/v1/worker.pb.h"

namespace muster {

class stack_files {
 public:
  static constexpr std::chrono::milliseconds patience{900};  // default of take()
  /// Extra time to sample signalled processes from outside that have not written their stacks.
  static constexpr std::chrono::milliseconds after_silence{400};
  /// Maximum bytes for one rank and for a whole answer. In an answer with many ranks, the limit per
  /// rank is lower.
  static constexpr std::size_t rank_bytes_max = std::size_t{16} << 10;
  static constexpr std::size_t answer_bytes_max = std::size_t{1} << 20;
  /// Maximum number of processes, of all ranks together, that one take() signals.
  static constexpr std::size_t processes_max = 1'024;

  /// `works` is the directory of the ranks' working directories, works/ATTEMPT/RANK. File names
  /// below a working directory are returned relative to it, so that ranks with their own copies of
  /// the same code have equal stacks. `owner` is the ranks' user and group, if they differ from
  /// this process's user and group. If `signal` is 0, stack sampling is disabled and take() reports
  /// OFF. `native` samples the processes that write nothing.
  /// @throws std::system_error
  stack_files(std::filesystem::path directory, std::filesystem::path const& works,
              std::optional<std::pair<uid_t, gid_t>> owner, int signal, native_stacks native);

  /// Removes the files of processes that have exited.
  void tidy() const;
  struct prepared {
    std::filesystem::path modules{}, directory{};
    int signal = 0;  // 0 disables stack sampling
  };
  prepared of_ranks() const;

  /// `pids` contains the first process of each rank.
  void take(std::map<std::uint32_t, pid_t> const& pids, v1::RankStacks& to,
            std::chrono::milliseconds wait = patience) const;
  bool are_off() const { return signal_ == 0; }

 private:
  struct look;
  void ask(look& l) const;
  void look_from_outside(look& l, std::chrono::steady_clock::time_point until) const;

  std::filesystem::path const modules_, now_;
  std::string const works_, resolved_works_;  // Python may have resolved symbolic links
  int const signal_;
  native_stacks const native_;
  mutable std::timed_mutex taking_;  // concurrent calls would use the same files
};

}  // namespace muster
