// Virtual time for the clusters: an unreliable link, a slow disk that loses unfinished writes, a
// trace of codes and numbers, and invariants checked after every step.
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

struct recording {
  struct step {
    core::time_point at{};
    cc::event what;
    std::string effects;
  };
  std::vector<step> steps;
};

class world : public simulation::virtual_time {
 public:
  /// @param to receives every step; can be null, must outlive the world.
  /// @param journalled replies wait until their facts are stored.
  world(std::uint64_t seed, cc::cluster_spec spec, recording* to = nullptr,
        bool journalled = false);

  cc::clusters const& server() const { return server_; }
  cc::service const& service() const { return server_.current(cluster_); }
  cc::cluster_spec const& spec() const { return server_.spec(cluster_); }

  /// Runs with the ticks that the clusters ask for.
  void run(core::time_point end);

  using done = std::function<void(cc::reply const&)>;
  /// Returns a handle. `then` receives the reply unless it is lost.
  std::uint64_t send(cc::request r, done then);
  /// Ends a process; the server notices this unless it is killed before. Only for error delivery by
  /// heartbeat, because a dropped poll has this effect otherwise.
  void close_connection(cc::task_index task, core::incarnation incarnation);
  /// Cancels a call; the server may notice this late.
  void drop(std::uint64_t handle);
  void heal() { faulty_ = false; }
  /// Restarts from the stored facts. Calls are lost; polls and watches receive an error.
  /// @pre The world is journalled.
  void kill_server();

  std::size_t endless_waits() const;

 private:
  struct open_call {
    std::uint64_t handle = 0;
    std::string barrier;  // if the caller took part correctly
    std::int64_t counter = 0;
    // Answered by; the disk can delay the reply into the next generation.
    core::incarnation generation{};
    bool endless = false;  // a wait for a key without a deadline
  };
  struct sent {
    done then;
    std::set<core::call_id> calls;
    bool dropped = false;
    // The caller's error; OK: none.
    muster::code when_killed = muster::code::ok;
  };
  /// Replies wait for their write.
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
  // results.
  std::map<std::tuple<core::incarnation, std::string, std::int64_t>, muster::code> barriers_;

  std::deque<write> writes_;
  core::time_point disk_free_{};
  std::uint64_t boot_ = 0;
  cc::fact_book disk_;
  cc::changes_model folded_;
  history::cluster_log log_;
};

}  // namespace muster::coordination_simulation
