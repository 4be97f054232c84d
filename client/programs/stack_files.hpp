// Where ranks that are Python programs write their stacks, and how they are asked to: each
// interpreter that a rank starts runs a module of ours first, which registers faulthandler on a
// real-time signal with a file named as its pid and the descriptor. Nothing of the rank is stopped
// for it. Who writes nothing, as it is no Python or does not answer, is looked at from outside.
//
//   modules/sitecustomize.py ──► in front of PYTHONPATH     now/PID.FD ◄── written at the signal
//
// Any thread; take() waits for the ranks, and for another take(), 1.3 seconds at most.
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
  static constexpr std::chrono::milliseconds patience{900};  // unless told
  /// More for those that should have written and have not.
  static constexpr std::chrono::milliseconds after_silence{400};
  /// Of one rank, and of all in one answer; with many ranks each has less.
  static constexpr std::size_t rank_bytes_max = std::size_t{16} << 10;
  static constexpr std::size_t answer_bytes_max = std::size_t{1} << 20;
  /// Of all ranks that are asked for at one time. More are not asked.
  static constexpr std::size_t processes_max = 1'024;

  /// `works`: directory of the ranks' working directories, works/ATTEMPT/RANK. File names below a
  /// working directory are returned relative to it, so that ranks with their own copies of the same
  /// code have equal stacks.
  /// `owner`: whose processes the ranks are, unless they are this one's. `signal` 0: nothing is
  /// prepared, and take() says OFF. `native`: of whoever writes nothing. Errors: std::system_error.
  stack_files(std::filesystem::path directory, std::filesystem::path const& works,
              std::optional<std::pair<uid_t, gid_t>> owner, int signal, native_stacks native);

  /// Removes files of processes that are gone.
  void tidy() const;
  /// What a launcher is told.
  struct prepared {
    std::filesystem::path modules{}, directory{};
    int signal = 0;  // 0: nothing is prepared
  };
  prepared of_ranks() const;

  /// Adds the stacks of these ranks. `pids`: of the first process of each.
  void take(std::map<std::uint32_t, pid_t> const& pids, v1::RankStacks& to,
            std::chrono::milliseconds wait = patience) const;
  bool are_off() const { return signal_ == 0; }

 private:
  struct look;
  void ask(look& l) const;
  void look_from_outside(look& l, std::chrono::steady_clock::time_point until) const;

  std::filesystem::path const modules_, now_, works_;
  int const signal_;
  native_stacks const native_;
  mutable std::timed_mutex taking_;  // two at one time would write into the same files
};

}  // namespace muster
