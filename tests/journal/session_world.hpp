// Durable sessions of clients that resume and release, with a server that is killed at any moment.
// Invariants:
// - An acknowledged session exists for its client.
// - Every closure gets one outcome, which never changes.
// - A reported value that is not released can be read.
// - Released values and closed sessions leave nothing in memory or on the disk.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/journal/killed_world.hpp"

namespace muster::server::journal {

class session_world final : public killed_world {
 public:
  explicit session_world(std::uint64_t seed);

 private:
  struct task {
    core::closure_spec spec;
    std::uint64_t request = 0;  // scheduled together
    bool released = false;
    std::optional<core::outcome> outcome{};
    core::closure_id id{};  // if the client knows it
  };
  /// A client program with a stream or unary calls.
  struct client {
    core::session_id session{};
    bool unary = false;
    bool attached = false;
    bool resuming = false;
    std::uint32_t generation = 1;      // the last reported one
    std::set<std::uint32_t> errors{};  // generations that followed a raised error
    std::map<std::uint64_t, task> tasks{};
    std::map<std::uint64_t, core::per_worker_id> values{};  // empty id: not answered yet
  };

  void live() override;
  void lose_touch() override;
  void check_known() override;
  void act();
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
  void told(core::session_notification const& n);
  void keep(client& c, std::uint64_t token, core::outcome const& o);
  void heal();
  void release_all();
  void leave();
  client* some_client();
  client* find(core::session_id id);
  bool unfinished() const;

  std::map<std::uint64_t, client> clients_;  // by a number of the simulation
  std::uint64_t last_client_ = 0, last_token_ = 0, last_request_ = 0;
};

}  // namespace muster::server::journal
