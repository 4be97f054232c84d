// What simulations of killed servers share: one server under virtual time with a disk that lags,
// its workers, and a run that ends with a report. Clients are of those who inherit.
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

  /// All of it; what is broken is thrown.
  virtual void live() = 0;
  /// What its clients knew of the server is gone with their connections.
  virtual void lose_touch() {}
  /// Right after a start: what was told is there.
  virtual void check_known() = 0;

  void crash();
  /// What happens beside clients, by a roll in (77, 100]: the disk writes, time passes, a kill.
  void go_on(std::int64_t roll);
  /// One more answer, and all of it on the disk.
  void work_well();
  /// Until something is due.
  void pass_time();
  [[noreturn]] void fail(std::string const& why) const { server_.fail(why); }
  std::uint64_t& count(std::string_view what) { return server_.counts[what]; }

  killable_server server_;
  simulation::random& dice_ = server_.dice();
  model_workers workers_{server_};
};

}  // namespace muster::server::journal
