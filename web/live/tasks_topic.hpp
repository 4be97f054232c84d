// The `tasks` topic: one row a task, in columns. A row is sent again when something of it changes;
// its last sign of life alone is only a reason when its age passes a mark, or to clients that have
// this row on the screen. Web thread.
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

  /// Compares with what is known. `whole`: the tasks were read in one go; else a row that is
  /// missing may have slipped between two pages and is gone only when it is missing again.
  void update(std::vector<core::task_view> const& tasks, core::time_point now,
              core::duration heartbeat_interval, bool whole);

  /// What changed since `from`, and the watched rows that were seen since.
  shared_text delta_for(std::uint64_t from, std::span<std::uint32_t const> watched) override;

 private:
  /// What clients see, but for the last sign of life.
  struct shown {
    std::string cluster, job, host, error;
    std::int64_t index = 0;
    core::task_state state{};
    core::time_point since{};
    core::incarnation incarnation{};
    std::uint32_t slots = 0, running = 0;
    std::uint64_t finished = 0, failed = 0;  // of those that it answered
    bool cordoned = false;
    int age = 0;  // fresh, > 1, > 2.5, > 10 heartbeat intervals

    bool operator==(shown const&) const = default;
  };
  struct row : shown {
    core::time_point seen{};
    std::uint64_t changed = 0;  // at this number
    std::uint64_t seen_at = 0;  // `seen` moved at this number
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
