// PerWorkerValues: values that each worker builds with a function and keeps under a handle. States:
//
//   (new incarnation connects)                  built, or the builder failed
//        NOT_READY  ──────────────────────────────────────────► READY (value or error)
//            ▲                                                     │ worker lost
//            └───────────── next incarnation ───────────── ABORTED ◄
//
// A stateful task builds only the values that closures assigned to this task use. A component
// receives the same number of workers at each build until the server restarts. The number is not
// durable, because its record would have to contain the value's arguments.
//
// A component stays NOT_READY and is rebuilt after a pause if its builder's failure is tolerated,
// or if the builder has lost too many workers in a row. Workers store the values, and drop them on
// request or when they exit. Used only on the engine thread; bounded by
// config::per_worker_values_max.
#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/core/api/blob.hpp"
#include "server/core/api/changes.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/model.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/core/api/transient_reports.hpp"

namespace muster::core {

struct per_worker_component {
  stream_id stream{};  // stream of the worker that builds or holds the value; not set if aborted
  value_state state = value_state::not_ready;
  // Failure of the build (READY), or reason for the abort or rebuild.
  std::optional<failure> error;
  closure_id build{};
  std::uint32_t num_workers = 0;  // passed to the builder; 0 if not built yet
  std::uint32_t losses = 0;       // consecutive workers lost during the build
  std::uint32_t losses_max = 0;   // limit at the last loss; 0 if there is no limit
  std::string lost_by{};
  // Worker lost during a build. The worker counts as dead once another incarnation connects.
  core::incarnation suspect{};
  std::uint32_t built_again = 0;  // tolerated failures since the last successful build
  std::optional<transient_reports> reports;
  time_point since{};

  /// Returns whether the builder has lost too many workers in a row. Further builds are delayed.
  bool is_quarantined() const { return losses_max > 0 && losses >= losses_max; }
  /// Returns whether the build after the quarantine has also lost its worker. If so, closures that
  /// need the value fail.
  bool is_hopeless() const { return losses_max > 0 && losses > losses_max; }
  std::string quarantine_message(std::string const& worker) const {
    return "quarantined: " + std::to_string(losses) +
           (losses == 1 ? " worker was lost while it" : " workers were lost while they") +
           " built it; the last was " + worker + (lost_by.empty() ? "" : " (" + lost_by + ")");
  }
};

struct per_worker_entry {
  per_worker_id id{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};
  std::uint64_t token = 0;
  std::string submitted_by{};
  time_point created{};
  bool released = false;
  std::uint64_t users = 0;
  /// At most one component for each row of the task registry.
  std::map<std::pair<std::string, std::int64_t>, per_worker_component> components;
  /// Stateful tasks that must build the value. Index -1 stands for all tasks of the role; it is
  /// used when there are more than named_max tasks.
  std::set<std::pair<std::string, std::int64_t>> named;
  static constexpr std::size_t named_max = 1'024;

  /// Returns the highest index of a task that has a component, or -1.
  std::int64_t highest(std::string const& job) const {
    auto it = components.upper_bound({job, std::numeric_limits<std::int64_t>::max()});
    return it == components.begin() || (--it)->first.first != job ? -1 : it->first.second;
  }
};

class component_builds {
 public:
  using task_key = std::pair<std::string, std::int64_t>;

  component_builds(server_wide& wide, changes& out) : wide_(wide), changes_(out) {}

  per_worker_entry& add() {
    auto const id = per_worker_id{++wide_.last_per_worker};
    auto& e = entries_[id];
    e.id = id;
    return e;
  }
  /// Restores a value from an earlier server process. REQUIRES: the id is unused.
  void restore(per_worker_entry e) {
    wide_.first_per_worker = std::min(wide_.first_per_worker, raw(e.id) - 1);
    wide_.last_per_worker = std::max(wide_.last_per_worker, raw(e.id));
    auto const id = e.id;
    note_change(entries_.emplace(id, std::move(e)).first->second);
    changes_.per_worker.back().restored = true;
  }
  per_worker_entry* find(per_worker_id id) {
    auto const it = entries_.find(id);
    return it == entries_.end() ? nullptr : &it->second;
  }
  per_worker_entry const* find(per_worker_id id) const {
    auto const it = entries_.find(id);
    return it == entries_.end() ? nullptr : &it->second;
  }
  /// Scans the table, because few owners have many values.
  per_worker_entry* find(session_id owner, std::uint64_t token) {
    for (auto& [id, e] : entries_)
      if (e.owner == owner && e.token == token && !e.released) return &e;
    return nullptr;
  }
  void erase(per_worker_id id) {
    auto const it = entries_.find(id);
    changes_.per_worker.push_back({id, it->second.owner, true, true});
    entries_.erase(it);
    troubled_.erase(id);
  }
  void note_change(per_worker_entry const& v) {
    changes_.per_worker.push_back({v.id, v.owner, v.released, false});
  }
  void note_change(per_worker_entry const& v, task_key const& task, bool gone = false) {
    auto const& c = v.components.at(task);
    changes_.components.push_back(
        {v.id, task.first, task.second, c.state, c.error.has_value(), gone});
  }
  std::string_view whereabouts() const {
    return wide_.coordinators > 1 ? " was released, or belongs to another cluster"
                                  : " was released";
  }
  /// Returns whether any cluster of the server has ever used the id.
  bool was(per_worker_id id) const {
    return raw(id) > wide_.first_per_worker && raw(id) <= wide_.last_per_worker;
  }

  std::map<per_worker_id, per_worker_entry>& all() { return entries_; }
  std::map<per_worker_id, per_worker_entry> const& all() const { return entries_; }

  /// Builds to send to the stream, in order, before other closures.
  std::vector<per_worker_id>& to_build(stream_id s) { return to_build_[s]; }
  void build_later(stream_id s, per_worker_id v) {
    auto& all = to_build_[s];
    all.push_back(v);
    if (all.size() == 1) waiting_.push_back(s);
  }
  void look_at(stream_id s) { waiting_.push_back(s); }
  bool any_waits() const { return !waiting_.empty() || !named_.empty(); }
  void name(per_worker_entry& v, std::pair<std::string, std::int64_t> task) {
    if (v.named.size() >= per_worker_entry::named_max) task.second = -1;
    if (v.named.insert(std::move(task)).second) named_.push_back(v.id);
  }
  std::vector<per_worker_id> take_named() { return std::exchange(named_, {}); }
  /// Can return a stream more than once.
  std::vector<stream_id> take_waiting() { return std::exchange(waiting_, {}); }
  /// Builds the value again after a pause: 1 s, doubled for each of the `before` attempts, at most
  /// one minute.
  void build_again(time_point now, std::uint32_t before, stream_id s, per_worker_id v) {
    again_.insert({now + pause_after(before), s, v});
  }
  static duration pause_after(std::uint32_t attempts) {
    constexpr duration first = std::chrono::seconds(1);
    constexpr duration most = std::chrono::minutes(1);
    return attempts < 6 ? first * (1 << attempts) : most;
  }
  void note_trouble(per_worker_id v) { troubled_.insert(v); }
  bool is_troubled(per_worker_id v) const { return troubled_.contains(v); }
  bool any_troubled() const { return !troubled_.empty(); }
  std::set<per_worker_id> const& troubled() const { return troubled_; }
  time_point due() const { return again_.empty() ? never : again_.begin()->at; }
  void build_what_is_due(time_point now) {
    for (; due() <= now; again_.erase(again_.begin()))
      build_later(again_.begin()->stream, again_.begin()->value);
  }
  bool cancel_build(stream_id s, per_worker_id v) {
    auto const same = [&](delayed const& a) { return a.stream == s && a.value == v; };
    if (std::erase_if(again_, same) > 0) return true;
    auto const it = to_build_.find(s);
    return it != to_build_.end() && std::erase(it->second, v) > 0;
  }
  bool is_delayed(stream_id s, per_worker_id v) const {
    return std::any_of(again_.begin(), again_.end(),
                       [&](delayed const& a) { return a.stream == s && a.value == v; });
  }
  void forget(stream_id s) {
    to_build_.erase(s);
    std::erase_if(again_, [s](delayed const& a) { return a.stream == s; });
  }

  static bool has_lost_all_tasks(per_worker_entry const& v) {
    return !v.components.empty() &&
           std::all_of(v.components.begin(), v.components.end(),
                       [](auto const& entry) { return entry.second.stream == stream_id{}; });
  }
  /// Aborts the components of a lost worker. `why` is the reason for the loss.
  void lose(std::pair<std::string, std::int64_t> const& task, stream_id s, std::string const& why,
            time_point now) {
    auto const worker = task.first + ":" + std::to_string(task.second);
    for (auto& [id, v] : entries_) {
      auto const it = v.components.find(task);
      if (it == v.components.end() || it->second.stream != s) continue;
      auto& c = it->second;
      c.state = value_state::aborted;
      c.error = failure{failure_kind::worker_lost, "", "worker lost: " + why, "", worker, 0};
      if (c.suspect != core::incarnation{}) c.lost_by = why;
      c.stream = {};
      c.build = {};
      c.since = now;
      note_change(v, task);
    }
  }

  std::string invalid() const {
    for (auto const& [id, v] : entries_) {
      if (v.released && v.users == 0) return text(id) + " is released and unused, but still stored";
      for (auto const& [task, c] : v.components)
        if ((c.state == value_state::aborted) != (c.stream == stream_id{}))
          return text(id) +
                 " is ABORTED on a connected worker, or not ABORTED on a disconnected worker";
    }
    for (auto const& [at, stream, id] : again_) {
      auto const it = entries_.find(id);
      if (it == entries_.end()) return text(id) + " does not exist but is scheduled for a rebuild";
      auto const waits = [s = stream](auto const& part) {
        return part.second.stream == s && part.second.state == value_state::not_ready &&
               part.second.build == closure_id{} &&
               (part.second.built_again > 0 || part.second.losses > 0);
      };
      auto const& parts = it->second.components;
      if (std::none_of(parts.begin(), parts.end(), waits))
        return text(id) + " is scheduled for a rebuild on a worker that does not need one";
    }
    return {};
  }

 private:
  struct delayed {
    time_point at{};
    stream_id stream{};
    per_worker_id value{};

    auto operator<=>(delayed const&) const = default;
  };
  std::map<per_worker_id, per_worker_entry> entries_;
  std::map<stream_id, std::vector<per_worker_id>> to_build_;
  std::set<delayed> again_;
  std::vector<stream_id> waiting_;
  std::vector<per_worker_id> named_;
  std::set<per_worker_id> troubled_;
  server_wide& wide_;
  changes& changes_;
};

}  // namespace muster::core
