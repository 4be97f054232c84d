// All clusters of the server, and the order of their deadlines. Used only on the engine thread.
// Deterministic: the same events at the same times have the same effects. Effects are valid until
// the next step; the caller may move from them.
#pragma once

#include <map>
#include <set>

#include "server/core/coordination/api/events.hpp"
#include "server/core/coordination/cluster.hpp"

namespace muster::core::coordination {

class clusters {
 public:
  clusters(limits l, std::uint64_t seed);
  clusters(clusters const&) = delete;

  /// REQUIRES: `now` does not decrease.
  template <class Event>
  effects& step(time_point now, Event&& e) {
    fx_.clear();
    if constexpr (std::is_same_v<std::decay_t<Event>, event>)
      std::visit([&](auto& one) { on(now, one); }, e);
    else
      on(now, e);
    return fx_;
  }
  time_point next_deadline() const { return due_.empty() ? never : due_.begin()->first; }

  result<cluster_id> find(std::string_view name) const;
  std::vector<cluster_id> ids() const;
  bool exists(cluster_id c) const { return all_.contains(c); }
  /// REQUIRES (also for the functions below): the cluster exists.
  cluster_spec const& spec(cluster_id c) const { return at(c).spec(); }
  std::uint16_t port(cluster_id c) const { return at(c).port(); }
  service const& current(cluster_id c) const { return at(c).current(); }
  cluster_view view(cluster_id c, time_point now) const { return at(c).view(now); }
  std::deque<generation_view> const& past(cluster_id c) const { return at(c).past(); }
  void remember(cluster_id c, generation_view g) { entry_of(c).what.remember(std::move(g)); }

  /// Returns the records of all clusters, without running barriers.
  std::vector<fact> everything() const;
  /// Returns the complete state as changes, equivalent to all past changes.
  changes whole() const;

  std::string violated_invariant() const;

 private:
  struct entry {
    cluster what;
    time_point due = never;
  };
  cluster const& at(cluster_id c) const { return const_cast<clusters*>(this)->entry_of(c).what; }
  void on(time_point now, create_cluster const& e);
  void on(time_point now, redeclare_cluster const& e);
  void on(time_point now, renew_cluster const& e);
  void on(time_point now, fail_cluster const& e);
  void on(time_point now, cluster_listens const& e);
  void on(time_point now, restore_cluster const& e);
  void on(time_point now, remove_cluster const& e);
  void on(time_point now, cluster_call& e);
  void on(time_point now, call_abandoned const& e);
  void on(time_point now, connection_closed const& e);
  void on(time_point now, tick const&);
  void on(time_point now, stop const&);

  entry& entry_of(cluster_id c);
  /// Returns null on an error, which is stored in `fx_.declared`.
  entry* made(cluster_spec const& spec, bool known);
  void append_records(cluster const& c, std::size_t first = 0) {
    if (limits_.journalled) c.append_records(fx_.changes, first, fx_.facts);
  }
  status allowed(cluster_spec const& spec) const;
  status room_for(std::string const& name) const;
  void reschedule(cluster_id id, entry& e, time_point next);

  limits const limits_;
  incarnation_source incarnations_;
  std::map<cluster_id, entry> all_;
  std::map<std::string, cluster_id, std::less<>> by_name_;
  std::set<std::pair<time_point, cluster_id>> due_;
  std::uint32_t last_id_ = 0;
  bool stopped_ = false;
  effects fx_;
};

}  // namespace muster::core::coordination
