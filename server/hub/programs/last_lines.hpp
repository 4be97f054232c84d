// The last line that each rank of a program has printed. Workers are queried only while somebody
// watches the program: at most once in `every`, with one message each. They answer with the lines
// that have changed.
//
// Owned by a hub; engine thread only. Limits: programs_max, waiting_max.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/core/api/program_views.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::server {

struct last_lines_query {
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<std::uint32_t> ranks;  // in ascending order
  std::vector<std::uint64_t> sizes;  // size of each rank's output at the last answer
};

struct last_lines_answer {
  struct line {
    std::uint32_t rank = 0;
    std::uint64_t size = 0;
    std::string text;  // as printed
  };
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<line> lines;
};

/// Returns the displayable part of a line: UTF-8 without control characters, escape sequences and
/// direction overrides, at most `last_line_bytes_max`.
std::string displayable_line(std::string_view printed);
inline constexpr std::size_t last_line_bytes_max = 200;

class last_lines {
 public:
  /// Maximum number of programs. Beyond it, the program that was watched least recently is dropped,
  /// or the new program if all were watched recently.
  static constexpr std::size_t programs_max = 16;
  /// Maximum number of callers that wait for one program. Further callers are called at once.
  static constexpr std::size_t waiting_max = 64;
  static constexpr core::duration every = std::chrono::seconds(1);
  /// A worker is not waited for beyond this time: it is busy, or too old to answer.
  static constexpr core::duration patience = 3 * every;

  struct attempt {
    core::program_id program{};
    std::uint32_t number = 0;
    std::uint32_t ranks = 0;
  };
  /// Returns the stream of a rank's worker; none if it is disconnected.
  using worker_of = std::function<core::stream_id(std::uint32_t rank)>;
  /// Returns false if the worker is disconnected.
  using send = std::function<bool(core::stream_id, last_lines_query const&)>;

  /// Queries the workers of an attempt unless they were just queried. Calls `done` once, if it is
  /// set, when all workers have answered or disconnected.
  void refresh(core::time_point now, attempt const& of, worker_of const& worker, send const& ask,
               std::function<void()> done);
  /// Stores an answer. Lines of ranks that the worker was not asked for are ignored.
  void deliver(core::stream_id stream, last_lines_answer answer);
  void forget_worker(core::stream_id stream);
  /// Sets the last lines of the ranks of this attempt, if they are stored.
  void fill(core::program_id program, std::uint32_t attempt,
            std::vector<core::rank_view>& ranks) const;

 private:
  struct line {
    std::uint64_t size = 0;
    std::string text;
  };
  struct stored_program {
    std::uint32_t attempt = 0;
    core::time_point looked_at{}, asked_at{};
    std::vector<line> lines;
    struct question {
      std::vector<std::uint32_t> ranks;
      core::time_point since{};
    };
    std::map<core::stream_id, question> awaited;
    std::vector<std::function<void()>> waiting;
  };
  /// Returns null if the limit is reached.
  stored_program* find_or_add(core::time_point now, attempt const& of);
  static void call_if_complete(stored_program& p);

  std::map<core::program_id, stored_program> programs_;
};

}  // namespace muster::server
