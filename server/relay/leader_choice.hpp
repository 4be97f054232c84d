// Chooses the leader from the last readiness checks of several servers. Pure; the caller passes the
// time. Owned by the relay; used on one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace muster::relay {

class leader_choice {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// @param patience A leader that does not answer for this time is replaced by a server that
  ///   reports readiness. If no server does so, the leader remains until its check fails.
  leader_choice(std::size_t servers, std::chrono::steady_clock::duration patience)
      : servers_(servers), patience_(patience) {}

  void asked(std::size_t server, time_point now) { servers_.at(server).asked = now; }
  /// @param serves Whether the server reported readiness. False if the server was unreachable or
  ///   too slow.
  void answered(std::size_t server, bool serves, time_point now) {
    servers_.at(server) = {serves, {}};
    auto const good = [&](state const& s) { return s.serves && !silent(s, now); };
    if (leader_ && good(servers_[*leader_])) return;
    auto const first = std::find_if(servers_.begin(), servers_.end(), good);
    if (first != servers_.end())
      leader_ = static_cast<std::size_t>(first - servers_.begin());
    else if (leader_ && !servers_[*leader_].serves)
      leader_.reset();
  }

  /// Returns the leader. The leader does not change while it is ready, even if several servers
  /// report readiness.
  std::optional<std::size_t> leader() const { return leader_; }

 private:
  struct state {
    bool serves = false;
    std::optional<time_point> asked;  // start of the unanswered check
  };
  bool silent(state const& s, time_point now) const {
    return s.asked && now - *s.asked > patience_;
  }

  std::vector<state> servers_;
  std::chrono::steady_clock::duration const patience_;
  std::optional<std::size_t> leader_;
};

}  // namespace muster::relay
