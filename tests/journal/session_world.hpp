// Durable sessions of client programs under virtual time: clients that resume, schedule again what
// has no outcome, release and leave, with a server that is killed at any moment.
//
// What must hold: a session that was told is there for its client; every closure gets its outcome,
// the same whenever it is told; a value that was told and is not released can be read; what is
// released and closed leaves nothing behind, neither in memory nor on the disk.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/journal/killable_server.hpp"
#include "tests/journal/model_workers.hpp"
#include "tests/simulation/random.hpp"

namespace muster::server::journal {

struct session_report {
  std::uint64_t crashes = 0, opened = 0, scheduled = 0, told = 0, repeated = 0, resumed = 0,
                released = 0, closed = 0, lost_batches = 0, restored = 0, taken_up = 0,
                answered_again = 0, per_worker = 0, raised = 0;
  std::string violation;  // empty: all held
};

class session_world {
 public:
  explicit session_world(std::uint64_t seed);

  session_report run();

 private:
  struct task {
    core::closure_spec spec;
    std::uint64_t request = 0;  // scheduled together
    bool released = false;
    std::optional<core::outcome> outcome{};
    core::closure_id id{};  // as far as the client knows
  };
  /// One client program, with a stream or by calls.
  struct client {
    core::session_id session{};
    bool by_calls = false;
    bool attached = false;
    bool resuming = false;
    std::uint32_t generation = 1;           // as far as it was told
    std::set<std::uint32_t> errors{};       // that were raised, by the generation that followed
    std::map<std::uint64_t, task> tasks{};  // by token
    std::map<std::uint64_t, core::per_worker_id> values{};  // none: not answered yet
  };

  void act();
  void crash();
  void open();
  void schedule(client& c);
  void create_value(client& c, std::uint64_t token);
  core::per_worker_id some_value(client const& c) const;
  void release_some(client& c);
  void break_stream(client& c);
  void resume(client& c);
  void send(client& c, std::vector<std::uint64_t> const& tokens);
  void send_all_unfinished(client& c);
  void fetch(client& c);
  void settle(client& c);
  void close(client& c);
  void told(core::outcome const& o);
  void told(core::session_notice const& n);
  void keep(client& c, std::uint64_t token, core::outcome const& o);
  void check_known();
  void heal();
  void release_all();
  void leave();
  client* some_client();
  client* find(core::session_id id);
  bool unfinished() const;
  void fail(std::string why) { server_.fail(std::move(why)); }
  bool well() const { return server_.violation.empty(); }

  simulation::random dice_;
  killable_server server_;
  model_workers workers_;
  session_report report_;
  std::map<std::uint64_t, client> clients_;  // by a number of ours
  std::uint64_t last_client_ = 0, last_token_ = 0, last_request_ = 0;
};

}  // namespace muster::server::journal
