// Current stacks of ranks, sampled by their workers. Each worker with ranks of the attempt gets one
// query. Ranks whose worker is disconnected or silent are marked. Owned by a hub; used only on the
// engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/attempt_record.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::server {

using core::stack_state;

/// Marks the stacks of processes that the rank has started; see programs.proto.
inline constexpr std::string_view started_by_rank = "A process that it has started (";

/// Returns the stack of the rank's own process or, if missing, of the first process that it
/// started.
std::string own_stack(std::string_view text);

struct rank_stack {
  std::uint32_t rank = 0;
  stack_state state = stack_state::unknown;
  std::string text{};     // UTF-8, in the format of faulthandler
  std::string process{};  // such as "S in futex_wait_queue"
};

struct stacks_query {
  std::uint64_t number = 0;
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<std::uint32_t> ranks;
};

struct stacks_answer {
  std::uint64_t number = 0;
  bool busy = false;
  std::vector<rank_stack> stacks;
};

class rank_stacks {
 public:
  /// Maximum number of unfinished rounds. At the limit, the oldest round is completed without the
  /// missing answers.
  static constexpr std::size_t rounds_max = 64;

  /// Returns no stream if the rank's worker is disconnected.
  using worker_function = std::function<core::stream_id(std::uint32_t rank)>;
  /// Returns false if the worker is disconnected.
  using ask_function = std::function<bool(core::stream_id, stacks_query const&)>;
  /// Begins a round and returns its number.
  std::uint64_t begin(stacks_query const& of, worker_function const& worker,
                      ask_function const& ask);
  /// Calls `done` once all answers have arrived, or immediately if the round is complete or
  /// unknown.
  void await(std::uint64_t round, std::function<void()> done);
  std::vector<rank_stack> end(std::uint64_t round);

  /// Ignores stacks of ranks that the query did not contain.
  void deliver(core::stream_id stream, stacks_answer answer);
  void forget_worker(core::stream_id stream);

 private:
  struct question {
    core::stream_id stream{};
    std::vector<std::uint32_t> ranks;
  };
  struct round {
    std::map<std::uint32_t, rank_stack> stacks;
    std::map<std::uint64_t, question> awaited;
    std::function<void()> done;
  };
  static void call_if_complete(round& r);

  std::map<std::uint64_t, round> rounds_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::server
