// The last line that each rank of a program has printed. Workers know them, and are asked while
// somebody looks at the program, not otherwise: one message to each worker that has ranks of it,
// once in `every` at most, answered with what has changed.
//
//   look ──► a message a worker ──► answers: only ranks that have printed since ──► show
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
  std::vector<std::uint64_t> sizes;  // of each: what it had printed when it was last told of
};

struct last_lines_answer {
  struct line {
    std::uint32_t rank = 0;
    std::uint64_t size = 0;
    std::string text;  // as it was printed
  };
  core::program_id program{};
  std::uint32_t attempt = 0;
  std::vector<line> lines;
};

/// As people may see it: UTF-8 on one line, without control characters, escape sequences and
/// overrides of direction, at most `last_line_bytes_max`.
std::string last_line_shown(std::string_view printed);
inline constexpr std::size_t last_line_bytes_max = 200;

class last_lines {
 public:
  /// Programs that are remembered. More: the one that nobody has looked at for longest is not, or
  /// the new one, where somebody looks at all of them.
  static constexpr std::size_t programs_max = 16;
  /// Who wait for answers about one program. More: they are told what is known.
  static constexpr std::size_t waiting_max = 64;
  static constexpr core::duration every = std::chrono::seconds(1);
  /// A worker that has not answered for so long does not: it is older than these questions.
  static constexpr core::duration patience = 3 * every;

  struct attempt_asked {
    core::program_id program{};
    std::uint32_t attempt = 0;
    std::uint32_t ranks = 0;
  };
  /// The stream of a rank's worker; none: it is away.
  using worker_of = std::function<core::stream_id(std::uint32_t rank)>;
  /// False: it is away.
  using send = std::function<bool(core::stream_id, last_lines_query const&)>;

  /// Asks unless it has just been done. `done`, where it is one, is called once: when all who were
  /// asked have answered, or are gone.
  void look(core::time_point now, attempt_asked const& of, worker_of const& worker, send const& ask,
            std::function<void()> done);
  /// Only who was asked may answer, and for its own ranks alone.
  void answered(core::stream_id stream, last_lines_answer answer);
  /// The worker is gone.
  void gone(core::stream_id stream);
  /// Sets what is known, of the ranks of this attempt.
  void show(core::program_id program, std::uint32_t attempt,
            std::vector<core::rank_view>& ranks) const;

 private:
  struct line {
    std::uint64_t size = 0;
    std::string text;
  };
  struct watched {
    std::uint32_t attempt = 0;
    core::time_point looked{}, asked{};
    std::vector<line> lines;  // by rank
    struct question {
      std::vector<std::uint32_t> ranks;
      core::time_point since{};
    };
    std::map<core::stream_id, question> awaited;
    std::vector<std::function<void()>> waiting;
  };
  /// Null: there is no room.
  watched* remember(core::time_point now, attempt_asked const& of);
  static void settle(watched& w);

  std::map<core::program_id, watched> watched_;
};

}  // namespace muster::server
