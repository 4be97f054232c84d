// A topic with the newest log lines of a closure ("logs:cl_…") or a job ("logs:job_…"). Lines that
// are no longer in the topic are not sent; a client that has missed such lines receives `earlier`.
// The sequence number grows only when the topic has changed. Used on the web thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/hub/access/cluster_scope.hpp"
#include "web/engine/engine_link.hpp"
#include "web/live/log_page_reading.hpp"
#include "web/live/topic.hpp"

namespace muster::web {

// At the limit, the oldest line is removed.
inline constexpr std::size_t log_lines_shown = 500;
inline constexpr std::size_t log_bytes_shown = std::size_t{256} << 10;  // size of the lines as JSON

struct log_position {
  std::string name;
  server::log_target of;
  std::uint64_t after = 0;
};

struct log_update {
  std::string name;
  core::time_point now{};
  std::vector<server::log_line> lines;
  bool skipped = false;  // whether there are more lines than are shown
  std::uint64_t dropped = 0;
  bool ended = false;
  bool known = true;  // false if the job is unknown or its record was removed
  std::optional<server::closure_progress> progress;

  bool same_state(log_update const& o) const {
    return dropped == o.dropped && ended == o.ended && known == o.known && progress == o.progress;
  }
};

/// Uses one engine step. A log of a cluster outside the scope counts as unknown.
coro::task<muster::result<std::vector<log_update>>> collect_logs(
    engine_link& engine, std::vector<log_position> interests, server::shared_scope scope);

class log_topic final : public topic {
 public:
  /// Returns the closure or job of a log topic, or nothing for other topics. The job of a closure
  /// is determined later.
  static std::optional<server::log_target> target_named(std::string_view name);

  log_topic(std::string name, server::log_target of, std::uint64_t seq)
      : topic(name, seq), named_(std::move(name)), of_(of), too_old_(seq) {}

  log_position interest() const { return {named_, of_, last_}; }
  void update(log_update news);

  bool can_serve(std::uint64_t from) const override { return from > too_old_ && from <= seq(); }

 private:
  struct line {
    std::string json;
    std::uint64_t changed = 0;
    core::closure_id closure{};
    std::uint32_t attempt = 0;
    server::log_level level{};
    // Whether the next line of the same closure, attempt and level replaces this line.
    bool unfinished = false;
  };

  void write_body(json_out& out, std::uint64_t const* from) const override;
  void forget_oldest();
  void forget_unfinished(server::log_line const& next);

  std::string const named_;
  server::log_target const of_;
  std::deque<line> lines_;
  std::size_t bytes_ = 0;
  std::size_t unfinished_ = 0;
  std::uint64_t last_ = 0;
  // Clients at or below this sequence number receive a snapshot.
  std::uint64_t too_old_;
  bool earlier_ = false;
  log_update state_;
};

}  // namespace muster::web
