// The last line that each rank of a program has printed. Workers are queried only while a client
// watches the program, at most once per `every`. The workers answer with changed lines. Owned by a
// hub; used only on the engine thread.
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
  std::vector<std::uint64_t> sizes;  // size of the rank's output at the last answer
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

/// Returns at most `last_line_bytes_max` bytes of UTF-8, without control characters, escape
/// sequences and direction overrides.
std::string displayable_line(std::string_view printed);
inline constexpr std::size_t last_line_bytes_max = 200;

class last_lines {
 public:
  /// Maximum number of programs. At the limit, the program that was watched least recently is
  /// dropped. If all programs were watched recently, the new program is not stored.
  static constexpr std::size_t programs_max = 16;
  /// Maximum number of waiting callers per program. Further callers are called immediately.
  static constexpr std::size_t waiting_max = 64;
  static constexpr core::duration every = std::chrono::seconds(1);
  /// Maximum wait for a worker, which may be busy or too old to answer.
  static constexpr core::duration patience = 3 * every;

  struct attempt {
    core::program_id program{};
    std::uint32_t number = 0;
    std::uint32_t ranks = 0;
  };
  /// Returns no stream if the rank's worker is disconnected.
  using worker_of = std::function<core::stream_id(std::uint32_t rank)>;
  /// Returns false if the worker is disconnected.
  using send = std::function<bool(core::stream_id, last_lines_query const&)>;

  /// Queries the attempt's workers unless they were just queried. Calls `done` once, if set, when
  /// all workers have answered or disconnected.
  void refresh(core::time_point now, attempt const& of, worker_of const& worker, send const& ask,
               std::function<void()> done);
  /// Ignores lines of ranks that the query did not contain.
  void deliver(core::stream_id stream, last_lines_answer answer);
  void forget_worker(core::stream_id stream);
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
