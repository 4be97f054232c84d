// Where ranks are just now, which their workers find out. One question to each worker that has
// ranks of the attempt; ranks whose worker is away, or does not answer, are said to be so.
//
// Owned by a hub; engine thread only. Limits: rounds_max.
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

/// In a text: behind it are the processes that the rank has started (programs.proto).
inline constexpr std::string_view started_by_rank = "A process that it has started (";

/// Of the rank's own process; where that has none, of the first one that it has started.
std::string own_stack(std::string_view text);

struct rank_stack {
  std::uint32_t rank = 0;
  stack_state state = stack_state::unknown;
  std::string text{};     // UTF-8, as faulthandler writes it
  std::string process{};  // "S in futex_wait_queue"
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
  /// Rounds of questions that have not ended. More: the oldest ends, with what is known of it.
  static constexpr std::size_t rounds_max = 64;

  using worker_function = std::function<core::stream_id(std::uint32_t rank)>;  // none: away
  using ask_function = std::function<bool(core::stream_id, stacks_query const&)>;
  /// Asks all workers of the ranks of `of`; gives the number of the round.
  std::uint64_t begin(stacks_query const& of, worker_function const& worker,
                      ask_function const& ask);
  /// `done` is called once, when nothing is awaited any more, maybe from inside. A round that is
  /// not known has nothing to wait for.
  void await(std::uint64_t round, std::function<void()> done);
  /// What is known by now, by rank; the round is forgotten.
  std::vector<rank_stack> end(std::uint64_t round);

  /// Only who was asked may answer; ranks that were not asked for are passed over.
  void answered(core::stream_id stream, stacks_answer answer);
  /// The worker is gone.
  void gone(core::stream_id stream);

 private:
  struct question {
    core::stream_id stream{};
    std::vector<std::uint32_t> ranks;
  };
  struct round {
    std::map<std::uint32_t, rank_stack> stacks;
    std::map<std::uint64_t, question> waits;  // by number
    std::function<void()> done;
  };
  static void tell_if_over(round& r);

  std::map<std::uint64_t, round> rounds_;
  std::uint64_t last_ = 0;  // of questions and rounds
};

}  // namespace muster::server
