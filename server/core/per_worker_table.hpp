// PerWorkerValues: values that each worker builds for itself by a function and keeps under a
// handle.
//
//   (new incarnation attaches)                  built, or the builder failed
//        NOT_READY  ──────────────────────────────────────────► READY (value or error)
//            ▲                                                     │ worker lost
//            └───────────── next incarnation ───────────── ABORTED ◄
//
// Owned by the coordinator's state. The values themselves never come here; workers drop theirs when
// they are told or end.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "server/core/api/blob.hpp"
#include "server/core/api/model.hpp"

namespace muster::core {

/// One worker's component.
struct per_worker_component {
  stream_id stream{};  // that builds or holds it; none when aborted
  value_state state = value_state::not_ready;
  std::optional<failure> error;  // READY and failed, or why it was aborted
  closure_id build{};            // while it is sent
  std::uint32_t losses = 0;      // workers that died while they built it, in a row
  core::incarnation suspect{};   // lost while it built it; it has died if another one comes
  time_point since{};
};

struct per_worker_entry {
  per_worker_id id{};
  std::string name;
  function_id function{};
  blob args;
  session_id owner{};       // none: lives until it is deleted
  std::uint64_t token = 0;  // the owner's number for it
  time_point created{};
  bool released = false;    // goes when nobody uses it any more
  std::uint64_t users = 0;  // unfinished closures that need it
  /// By task; at most as many as the registry has rows.
  std::map<std::pair<std::string, std::int64_t>, per_worker_component> components;
};

class per_worker_table {
 public:
  // Limit: config::per_worker_values_max.

  /// `first`: handles begin above it. The time of the start does: workers outlive a server, and a
  /// handle of the one before must not pass for one of this.
  explicit per_worker_table(std::uint64_t first) : first_(first), last_(first) {}

  per_worker_entry& add() {
    auto& e = entries_[per_worker_id{++last_}];
    e.id = per_worker_id{last_};
    return e;
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
  void erase(per_worker_id id) { entries_.erase(id); }
  bool was(per_worker_id id) const { return raw(id) > first_ && raw(id) <= last_; }

  std::map<per_worker_id, per_worker_entry>& all() { return entries_; }
  std::map<per_worker_id, per_worker_entry> const& all() const { return entries_; }

 private:
  std::map<per_worker_id, per_worker_entry> entries_;
  std::uint64_t first_;
  std::uint64_t last_;
};

}  // namespace muster::core
