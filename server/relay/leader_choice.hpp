// Which of several servers leads, from what each one answered last. Pure: times come in. The relay
// owns it; one thread.
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

  /// `patience`: a leader that has not answered for so long gives way to a server that says that it
  /// serves; with no such server it stays, until the question itself has failed.
  leader_choice(std::size_t servers, std::chrono::steady_clock::duration patience)
      : servers_(servers), patience_(patience) {}

  void asked(std::size_t server, time_point now) { servers_.at(server).asked = now; }
  /// `serves`: it said so. False also when it could not be reached or gave no answer in time.
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

  /// The leader stays while it serves, so that of several that all say so it is one and the same.
  std::optional<std::size_t> leader() const { return leader_; }

 private:
  struct state {
    bool serves = false;
    std::optional<time_point> asked;  // and has not answered yet
  };
  bool silent(state const& s, time_point now) const {
    return s.asked && now - *s.asked > patience_;
  }

  std::vector<state> servers_;
  std::chrono::steady_clock::duration const patience_;
  std::optional<std::size_t> leader_;
};

}  // namespace muster::relay
