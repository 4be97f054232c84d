// Virtual time around the clusters: a link that loses, delays and repeats calls, a disk that is
// slow and forgets what it has not finished, a trace (of codes and numbers, not of sentences), and
// what must hold after every step.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "server/core/coordination/clusters.hpp"
#include "server/history/log/cluster_log.hpp"
#include "tests/coordination/changes_model.hpp"
#include "tests/coordination/fact_book.hpp"
#include "tests/support/simulation/virtual_time.hpp"

namespace muster::coordination_simulation {

namespace cc = core::coordination;

using simulation::violation;

/// What went into the core, and what came out.
struct recording {
  struct step {
    core::time_point at{};
    cc::event what;
    std::string effects;  // as an archive saves them
  };
  std::vector<step> steps;
};

class world : public simulation::virtual_time {
 public:
  /// `to`: where to note every step, or null. REQUIRES: outlives the world. `journalled`: there is
  /// a disk, and nobody hears of anything that it does not have.
  world(std::uint64_t seed, cc::cluster_spec spec, recording* to = nullptr,
        bool journalled = false);

  cc::clusters const& server() const { return server_; }
  cc::service const& service() const { return server_.current(cluster_); }
  cc::cluster_spec const& spec() const { return server_.spec(cluster_); }

  /// Runs until `end`, with a tick whenever the clusters asked for one.
  void run(core::time_point end);

  using done = std::function<void(cc::reply const&)>;
  /// Sends a request over the link; `then` gets the reply unless it is lost. Returns a handle.
  std::uint64_t send(cc::request r, done then);
  /// A process has ended; the server notices, unless it is killed before. Only where errors are
  /// told by heartbeat: elsewhere a dropped poll tells.
  void close_connection(cc::task_index task, core::incarnation incarnation);
  /// The caller went away; the server notices, or not for a while.
  void drop(std::uint64_t handle);
  void heal() { faulty_ = false; }
  /// kill -9, and another one begins with what the disk has. Calls are lost; who polls or watches
  /// hears that. REQUIRES: journalled.
  void kill_server();

  std::size_t endless_waits() const;

 private:
  struct open_call {
    std::uint64_t handle = 0;
    std::string barrier;  // its id, when its caller took part properly
    std::int64_t counter = 0;
    core::incarnation generation{};  // that answered; the disk may tell it in the next one's time
    bool endless = false;            // a wait for a key without a deadline
  };
  struct sent {
    done then;
    std::set<core::call_id> calls;
    bool dropped = false;
    muster::code when_killed = muster::code::ok;  // what its caller hears then; OK: nothing
  };
  /// On its way to the disk, with those who wait for it.
  struct write {
    std::vector<cc::fact> facts;
    std::vector<std::pair<cc::reply, open_call>> replies;
  };
  cc::effects& step(cc::event e);
  void deliver(std::uint64_t handle, cc::request r);
  void perform(cc::effects& fx);
  void write_down(std::vector<cc::fact> facts,
                  std::vector<std::pair<cc::reply, open_call>> replies);
  void tell(cc::reply const& r, open_call const& c);
  void look(cc::reply const& r);
  void agree(cc::reply const& r, open_call const& c);
  void agree(open_call const& c, std::int64_t counter, muster::code result);
  void fold(cc::reply const& r);

  recording* const recording_;
  cc::limits const limits_;
  cc::clusters server_;
  cc::cluster_id cluster_{};
  std::uint64_t last_handle_ = 0, last_call_ = 0;
  std::map<std::uint64_t, sent> sent_;
  std::map<core::call_id, open_call> calls_;
  bool faulty_ = true;

  core::incarnation generation_{};
  std::int64_t version_ = -1;
  // How each instance ended.
  std::map<std::tuple<core::incarnation, std::string, std::int64_t>, muster::code> barriers_;

  std::deque<write> writes_;
  core::time_point disk_free_{};
  std::uint64_t boot_ = 0;
  cc::fact_book disk_;
  cc::changes_model folded_;
  history::cluster_log log_;
};

}  // namespace muster::coordination_simulation
