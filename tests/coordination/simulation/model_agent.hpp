// A simulated agent that behaves like its client library. It dies of errors and returns as a new
// incarnation with a new address.
#pragma once

#include "tests/coordination/simulation/world.hpp"

namespace muster::coordination_simulation {

class model_agent {
 public:
  model_agent(world& w, cc::task_index task, bool polls, bool speaks_xla)
      : world_(w), task_(task), polls_(polls), speaks_xla_(speaks_xla) {}

  void start();
  /// Ends the process; it can be started again.
  void die(char const* why);
  /// Starts no new calls.
  void rest() { resting_ = true; }
  /// Starts a new incarnation, meets all tasks once and leaves.
  void perform_last_act();
  bool left() const { return left_; }
  bool alive() const { return alive_; }

 private:
  /// Passes null to `then` if no reply arrives within `patience`.
  template <class Request>
  void call(Request r, core::duration patience, std::function<void(cc::reply const*)> then);
  void after(core::duration delay, std::function<void()> what);
  cc::task_ref me() const { return {task_, {}}; }
  void enlist();
  void connect(cc::reply const* r);
  void beat();
  void poll();
  void watch(std::int64_t version);
  void work();
  void meet(std::string id, std::vector<cc::task_index> who, std::function<void(bool)> then);
  void wait_for_key();
  void ask_who_lives();
  void leave();
  void suffer(cc::reply const& r);
  void try_again();

  world& world_;
  cc::task_index const task_;
  bool const polls_;
  bool const speaks_xla_;
  bool alive_ = false, resting_ = false, last_act_ = false, left_ = false;
  std::uint64_t life_ = 0;
  core::incarnation incarnation_{}, service_{};
  std::string peer_;
  std::map<std::uint64_t, bool> open_;  // handles of open calls
  std::map<std::string, std::int64_t> counters_;
  std::set<std::string> meeting_;
};

}  // namespace muster::coordination_simulation
