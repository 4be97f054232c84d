// The `tasks` topic: a row for each task, in columns. A changed row is sent again. If only the
// heartbeat is new, the row is sent to clients that display it, or to all clients if the
// heartbeat's age crosses a threshold. Used on the web thread.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "server/core/api/views.hpp"
#include "web/live/topic.hpp"

namespace muster::web {

class tasks_topic final : public changing_rows<std::uint32_t> {
 public:
  tasks_topic() : changing_rows(topic_name::tasks) {}

  /// `whole` means that the tasks were read in one step. Otherwise, a missing row may have moved
  /// between two pages, so it is removed only when it is missing a second time.
  void update(std::vector<core::task_view> const& tasks, core::time_point now,
              core::duration heartbeat_interval, bool whole);

  /// Includes the `watched` rows with a heartbeat since `from`.
  shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> watched) override;

 private:
  struct shown {
    std::string cluster, job, host, error;
    std::int64_t index = 0;
    core::task_state state{};
    core::time_point since{};
    core::incarnation incarnation{};
    std::uint32_t slots = 0, running = 0;
    std::uint64_t finished = 0, failed = 0;  // closures that finished on this task
    bool cordoned = false;
    // 1, 2 or 3 if the heartbeat is older than 1, 2.5 or 10 intervals; otherwise 0.
    int age = 0;

    bool operator==(shown const&) const = default;
  };
  struct row : shown {
    core::time_point seen{};
    std::uint64_t changed = 0;  // sequence number of the last change
    std::uint64_t seen_at = 0;  // sequence number of the last heartbeat
    bool present = false;
    bool missing = false;
  };
  using row_entry = std::pair<std::uint32_t const, row>;

  std::vector<row_entry const*> rows_since(std::uint64_t from) const;
  void write_rows(json_out& out, std::span<row_entry const* const> rows,
                  std::uint64_t const* from) const;
  void write_body(json_out& out, std::uint64_t const* from) const override;

  std::map<std::uint32_t, row> rows_;
};

}  // namespace muster::web
