// The coordination core: all clusters of the server, found by name, and the order in which
// something is due in them. Owned by the coordination hub, engine thread only; pure: the same
// events at the same times give the same effects, and `step` never calls out. Effects are valid
// until the next step; the caller may move things out of them.
#pragma once

#include <map>
#include <set>

#include "server/core/coordination/api/events.hpp"
#include "server/core/coordination/cluster.hpp"

namespace muster::core::coordination {

class clusters {
 public:
  /// `seed`: random; service incarnations follow from it.
  clusters(limits l, std::uint64_t seed);
  clusters(clusters const&) = delete;

  /// Performs an event. REQUIRES: now does not go backwards.
  template <class Event>
  effects& step(time_point now, Event&& e) {
    fx_.clear();
    if constexpr (std::is_same_v<std::decay_t<Event>, event>)
      std::visit([&](auto& one) { on(now, one); }, e);
    else
      on(now, e);
    return fx_;
  }
  /// When the next tick is wanted.
  time_point next_deadline() const { return due_.empty() ? never : due_.begin()->first; }

  /// NOT_FOUND.
  result<cluster_id> find(std::string_view name) const;
  std::vector<cluster_id> ids() const;
  bool exists(cluster_id c) const { return all_.contains(c); }
  /// REQUIRES (here and below): the cluster exists.
  cluster_spec const& spec(cluster_id c) const { return at(c).spec(); }
  /// See cluster_listens; 0: it had no port of its own.
  std::uint16_t port(cluster_id c) const { return at(c).port(); }
  /// The generation that runs. REQUIRES: the cluster exists.
  service const& current(cluster_id c) const { return at(c).current(); }
  cluster_view view(cluster_id c, time_point now) const { return at(c).view(now); }
  // See cluster.
  std::deque<generation_view> const& past(cluster_id c) const { return at(c).past(); }
  /// A run of an earlier process, for people. REQUIRES: the cluster exists.
  void remember(cluster_id c, generation_view g) { entry_of(c).what.remember(std::move(g)); }

  /// All that a restart must know, but for barriers that run: what was said of it, summed up.
  std::vector<fact> everything() const;
  /// All that there is as changes: who folds them knows what somebody knows who has folded every
  /// step.
  changes whole() const;

  /// Empty when every invariant holds, else the first that does not, in words.
  std::string violated_invariant() const;

 private:
  struct entry {
    cluster what;
    time_point due = never;  // its place among the deadlines
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
  void on(time_point now, call_gone const& e);
  void on(time_point now, connection_closed const& e);
  void on(time_point now, tick const&);
  void on(time_point now, stop const&);

  entry& entry_of(cluster_id c);
  /// Null: `fx_.declared` says why not.
  entry* made(cluster_spec const& spec, bool known);
  /// Of what it changed in this step, from the change at `first` on.
  void say_facts(cluster const& c, std::size_t first = 0) {
    if (limits_.journalled) c.say_facts(fx_.changes, first, fx_.facts);
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
