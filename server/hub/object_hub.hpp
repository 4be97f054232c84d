// Objects on tasks of one hub: executes the decisions of the pure object_table, and reports to the
// coordinator which sessions depend on which task. Calls:
//
//   session_stream ──► ask… ──┐                    ┌──► session_sink, worker_sink: answers
//   worker_connection ────────┼──► object_table ───┼──► worker_sink: orders
//   hub (lost, ended, due) ───┘                    └──► hub: use_task, task_state_lost
//
// Owned by the hub; used only on the engine thread. Sinks are called from within these functions.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/core/api/effects.hpp"
#include "server/core/objects/object_table.hpp"

namespace muster::server {

class hub;
class object_sink;

class object_hub {
 public:
  using table = core::objects::object_table;

  explicit object_hub(hub& of);

  muster::status open(core::session_id s, table::user u) { return table_.open(s, std::move(u)); }
  muster::result<core::object_id> create(core::session_id s, std::uint64_t number,
                                         core::objects::object_spec spec);
  bool must_wait_for_name(core::session_id s, std::string_view name) const;
  muster::result<core::dataset_id> create_dataset(core::session_id s, std::uint64_t number,
                                                  core::datasets::dataset_spec spec);
  /// Fails with NOT_FOUND or PERMISSION_DENIED.
  muster::result<core::object_id> find(core::session_id s, std::string_view name);
  /// Removes the object; its open calls fail with CANCELLED. Returns the same errors as `find`.
  muster::status drop(core::session_id s, core::object_id id);
  /// Removes the object without a permission check. REQUIRES: the object exists.
  void remove(core::object_id id);
  /// Executes calls of a session or, with a ticket, of a worker's functions. `taken` contains the
  /// numbers of the answers that the caller has received.
  void call(core::session_id s, std::vector<core::objects::call_spec> const& calls,
            std::vector<std::uint64_t> const& taken);
  void call(core::incarnation i, std::string_view ticket,
            std::vector<core::objects::call_spec> const& calls,
            std::vector<std::uint64_t> const& taken);
  void waits(core::stream_id stream, core::objects::call_name const& within,
             core::objects::call_name const& inner);

  void attached(core::stream_id stream, std::pair<std::string, std::int64_t> const& task,
                core::incarnation i, bool takes);
  struct report {
    core::object_id object{};
    core::objects::call_answer answer{};
  };
  void reports(core::stream_id stream, std::vector<report> answers);
  void built(core::stream_id stream, core::object_id id, std::optional<core::failure> why);

  // The following types and functions are used only by the hub.
  struct lost_stream {
    core::stream_id stream{};
    bool final = false;  // whether the worker will not return
    std::string why{};
  };
  /// Changes of a step; empty for nearly all steps.
  struct changes {
    std::vector<core::session_id> ended{};
    std::vector<std::pair<core::session_id, bool>>
        attached{};  // whether the session's client is connected
    std::vector<lost_stream> lost{};
    /// Closures that have finished or are queued again; true for closures that succeeded.
    std::vector<std::pair<core::closure_id, bool>> closures{};
    std::vector<core::closure_id> stops{};

    bool empty() const {
      return ended.empty() && attached.empty() && lost.empty() && closures.empty() && stops.empty();
    }
  };
  /// REQUIRES: the effects have not been delivered yet.
  changes changes_of(core::effects const& fx) const;
  /// REQUIRES: the effects of the step have been delivered.
  void apply(changes const& c);
  void tick();
  core::time_point due() const { return table_.due(); }

  table const& state() const { return table_; }

 private:
  struct caller {
    core::stream_id stream{};
    std::string task{};  // "worker:3"
  };

  /// Assigns an object without a task to the task with the fewest objects that provides its
  /// function. Returns UNAVAILABLE if no connected task provides it.
  muster::status place(core::objects::object_spec& spec) const;
  void draw(core::incarnation i, core::session_id s, core::objects::call_spec const& c);
  void deliver();
  void perform(core::objects::output const& said);
  bool is_slow(object_sink const& worker) const;
  void deliver_answer(core::objects::call_answer const& a);

  hub& hub_;
  table table_;
  std::unordered_map<std::uint64_t, caller> callers_;
  std::unordered_map<core::stream_id, std::uint64_t> incarnations_;  // reverse of callers_
};

}  // namespace muster::server
