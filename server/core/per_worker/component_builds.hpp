// PerWorkerValues: values that each worker builds for itself by a function and keeps under a
// handle.
//
//   (new incarnation attaches)                  built, or the builder failed
//        NOT_READY  ──────────────────────────────────────────► READY (value or error)
//            ▲                                                     │ worker lost
//            └───────────── next incarnation ───────────── ABORTED ◄
//
// Tasks that hold state build those that a closure for them names. A component is told the same
// number of workers each time it is built, as long as the server lives: the number is in no fact,
// since one would be written for each component, with the value's arguments in it.
//
// A component stays NOT_READY and is built again after a pause when its builder's failure is borne,
// and when the builder has lost too many workers in a row: until it works.
// The values themselves never come here; workers drop theirs when they are told or end. Builds that
// are to be sent wait here by stream. Knows no worker but by task and stream. Owned by the
// coordinator; engine thread only. Limit: config::per_worker_values_max.
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

/// One worker's component.
struct per_worker_component {
  stream_id stream{};  // that builds or holds it; none when aborted
  value_state state = value_state::not_ready;
  std::optional<failure> error;   // READY and failed, why it was aborted, or why it is built again
  closure_id build{};             // while it is sent
  std::uint32_t num_workers = 0;  // what its builder is told; 0: it was not built yet
  std::uint32_t losses = 0;       // workers that died while they built it, in a row
  std::uint32_t losses_max = 0;   // so many are too many, as of the last of them; 0: none is
  std::string lost_by{};          // why the last of them was lost
  core::incarnation suspect{};    // lost while it built it; it has died if another one comes
  std::uint32_t built_again = 0;  // failures that were borne, since it was built last
  std::optional<transient_reports> reports;  // of its builders, since then
  time_point since{};

  /// Whether its builder has lost too many workers in a row: it is built with pauses only.
  bool is_quarantined() const { return losses_max > 0 && losses >= losses_max; }
  /// Whether the attempt after that has lost its worker, too: closures that need it fail.
  bool is_hopeless() const { return losses_max > 0 && losses > losses_max; }
  /// Returns the sentence that says how many workers were lost; the last was `worker`.
  std::string lost_words(std::string const& worker) const {
    return "quarantined: " + std::to_string(losses) +
           (losses == 1 ? " worker was lost while it" : " workers were lost while they") +
           " built it, the last was " + worker + (lost_by.empty() ? "" : " (" + lost_by + ")");
  }
};

struct per_worker_entry {
  per_worker_id id{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};       // none: lives until it is deleted
  std::uint64_t token = 0;  // the owner's number for it
  std::string submitted_by{};
  time_point created{};
  bool released = false;    // goes when nobody uses it any more
  std::uint64_t users = 0;  // unfinished closures that need it
  /// By task; at most as many as the registry has rows.
  std::map<std::pair<std::string, std::int64_t>, per_worker_component> components;
  /// Tasks with state whose closures name it; index -1: all of the job, also in place of more than
  /// named_max.
  std::set<std::pair<std::string, std::int64_t>> named;
  static constexpr std::size_t named_max = 1'024;

  /// The highest index of the job that has a component; -1: none.
  std::int64_t highest(std::string const& job) const {
    auto it = components.upper_bound({job, std::numeric_limits<std::int64_t>::max()});
    return it == components.begin() || (--it)->first.first != job ? -1 : it->first.second;
  }
};

class component_builds {
 public:
  using task_key = std::pair<std::string, std::int64_t>;

  /// Both outlive it. What changes is said in `out`.
  component_builds(server_wide& wide, changes& out) : wide_(wide), changes_(out) {}

  per_worker_entry& add() {
    auto const id = per_worker_id{++wide_.last_per_worker};
    auto& e = entries_[id];
    e.id = id;
    return e;
  }
  /// One of an earlier process, with its id. REQUIRES: nobody has it.
  void restore(per_worker_entry e) {
    wide_.first_per_worker = std::min(wide_.first_per_worker, raw(e.id) - 1);
    wide_.last_per_worker = std::max(wide_.last_per_worker, raw(e.id));
    auto const id = e.id;
    tell(entries_.emplace(id, std::move(e)).first->second);
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
  /// Of an owner's number; a table's walk, as few owners have many.
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
  /// Says what the value is now, and what a component of it is.
  void tell(per_worker_entry const& v) {
    changes_.per_worker.push_back({v.id, v.owner, v.released, false});
  }
  void tell(per_worker_entry const& v, task_key const& task, bool gone = false) {
    auto const& c = v.components.at(task);
    changes_.components.push_back(
        {v.id, task.first, task.second, c.state, c.error.has_value(), gone});
  }
  /// Of one that was: what became of it.
  std::string_view whereabouts() const {
    return wide_.coordinators > 1 ? " was released, or is of another cluster" : " was released";
  }
  /// Here or in another table of the server.
  bool was(per_worker_id id) const {
    return raw(id) > wide_.first_per_worker && raw(id) <= wide_.last_per_worker;
  }

  std::map<per_worker_id, per_worker_entry>& all() { return entries_; }
  std::map<per_worker_id, per_worker_entry> const& all() const { return entries_; }

  /// The values that a stream is to be sent the builds of, in order; sent before other closures.
  std::vector<per_worker_id>& to_build(stream_id s) { return to_build_[s]; }
  void build_later(stream_id s, per_worker_id v) {
    auto& all = to_build_[s];
    all.push_back(v);
    if (all.size() == 1) waiting_.push_back(s);
  }
  /// Streams with something to build are looked at in the next dispatch.
  void look_at(stream_id s) { waiting_.push_back(s); }
  /// Whether a worker has something to build, or a closure has named a value for one.
  bool any_waits() const { return !waiting_.empty() || !named_.empty(); }
  /// The value is wanted on a task that holds state.
  void name(per_worker_entry& v, std::pair<std::string, std::int64_t> task) {
    if (v.named.size() >= per_worker_entry::named_max) task.second = -1;
    if (v.named.insert(std::move(task)).second) named_.push_back(v.id);
  }
  /// Values that were named since.
  std::vector<per_worker_id> take_named() { return std::exchange(named_, {}); }
  /// Workers that have something to build, once each.
  std::vector<stream_id> take_waiting() { return std::exchange(waiting_, {}); }
  /// Builds it again after a pause, the longer the more attempts were made `before` with a pause:
  /// 1 s, doubled each time up to a minute.
  void build_again(time_point now, std::uint32_t before, stream_id s, per_worker_id v) {
    again_.insert({now + pause_after(before), s, v});
  }
  static duration pause_after(std::uint32_t attempts) {
    constexpr duration first = std::chrono::seconds(1);
    constexpr duration most = std::chrono::minutes(1);
    return attempts < 6 ? first * (1 << attempts) : most;
  }
  /// Notes that a builder of the value has lost too many workers; until the value is erased. So
  /// there are at most config::per_worker_values_max of these.
  void note_trouble(per_worker_id v) { troubled_.insert(v); }
  bool is_troubled(per_worker_id v) const { return troubled_.contains(v); }
  bool any_troubled() const { return !troubled_.empty(); }
  std::set<per_worker_id> const& troubled() const { return troubled_; }
  time_point due() const { return again_.empty() ? never : again_.begin()->at; }
  /// Notes the builds that were to be tried again by now.
  void build_what_is_due(time_point now) {
    for (; due() <= now; again_.erase(again_.begin()))
      build_later(again_.begin()->stream, again_.begin()->value);
  }
  /// True: it was about to be built there.
  bool do_not_build(stream_id s, per_worker_id v) {
    auto const same = [&](delayed const& a) { return a.stream == s && a.value == v; };
    if (std::erase_if(again_, same) > 0) return true;
    auto const it = to_build_.find(s);
    return it != to_build_.end() && std::erase(it->second, v) > 0;
  }
  /// Returns whether the stream builds the value only after a pause.
  bool is_delayed(stream_id s, per_worker_id v) const {
    return std::any_of(again_.begin(), again_.end(),
                       [&](delayed const& a) { return a.stream == s && a.value == v; });
  }
  void forget(stream_id s) {
    to_build_.erase(s);
    std::erase_if(again_, [s](delayed const& a) { return a.stream == s; });
  }

  /// Every component of it was on a task that is lost.
  static bool lost_everywhere(per_worker_entry const& v) {
    return !v.components.empty() &&
           std::all_of(v.components.begin(), v.components.end(),
                       [](auto const& entry) { return entry.second.stream == stream_id{}; });
  }
  /// What the stream keeps of the task is gone with its worker, which was lost for this reason.
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
      tell(v, task);
    }
  }

  /// Empty when all is in order between two steps.
  std::string invalid() const {
    for (auto const& [id, v] : entries_) {
      if (v.released && v.users == 0) return text(id) + " is released, unused and kept";
      for (auto const& [task, c] : v.components)
        if ((c.state == value_state::aborted) != (c.stream == stream_id{}))
          return text(id) + " is aborted beside a stream, or the other way round";
    }
    for (auto const& [at, stream, id] : again_) {
      auto const it = entries_.find(id);
      if (it == entries_.end()) return text(id) + " is gone and will be built again";
      auto const waits = [s = stream](auto const& part) {
        return part.second.stream == s && part.second.state == value_state::not_ready &&
               part.second.build == closure_id{} &&
               (part.second.built_again > 0 || part.second.losses > 0);
      };
      auto const& parts = it->second.components;
      if (std::none_of(parts.begin(), parts.end(), waits))
        return text(id) + " will be built again where it is not missing";
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
