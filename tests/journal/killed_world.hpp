// Base of simulations with killed servers and their workers. Derived classes add clients.
#pragma once

#include <string>

#include "tests/journal/killable_server.hpp"
#include "tests/journal/model_workers.hpp"

namespace muster::server::journal {

class killed_world {
 public:
  virtual ~killed_world() = default;
  simulation::report run();

 protected:
  killed_world(std::uint64_t seed, core::config c);

  /// Performs the run; throws a violation.
  virtual void live() = 0;
  /// Clients lose their connections and unanswered calls.
  virtual void lose_touch() {}
  /// Checks after a start that everything acknowledged exists.
  virtual void check_known() = 0;

  void crash();
  /// Writes to the disk, advances time or kills the server, depending on a roll in (77, 100].
  void go_on(std::int64_t roll);
  /// Sends one more answer and writes everything to the disk.
  void work_well();
  void pass_time();
  [[noreturn]] void fail(std::string const& why) const { server_.fail(why); }
  std::uint64_t& count(std::string_view what) { return server_.counts[what]; }

  killable_server server_;
  simulation::random& dice_ = server_.dice();
  model_workers workers_{server_};
};

}  // namespace muster::server::journal
