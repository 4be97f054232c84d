// A simulated client whose session holds values, by stream or by unary calls. It checks:
// - Every closure ends once, with its own value.
// - A released value does not exist.
// - The error of a generation is raised once, after all its closures have stopped.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tests/simulation/model_worker.hpp"

namespace muster::simulation {

class resumable_client {
 public:
  resumable_client(world& w, model_memory& m, std::vector<core::function_id> functions)
      : world_(w), memory_(m), functions_(std::move(functions)) {}

  void start();  // one session after another until `stop`
  void stop() { stopped_ = true; }
  bool content() const { return !session_open_; }
  core::session_id session() const { return session_; }

  void on_outcome(core::outcome const& o);
  void on_notice(core::session_notification const& n);

 private:
  struct pending {
    core::closure_spec spec;
    std::uint32_t generation = 0;
    bool wanted = true;
    int asked = 0;  // how often it was sent
  };

  void turn(std::uint64_t life);
  void schedule_some();
  void send(std::vector<std::uint64_t> const& tokens);
  void release_some();
  void own_values();
  bool used(core::per_worker_id v) const;
  bool kept(core::per_worker_id v) const;
  void resume_values(core::resume_session& e);
  void check_values() const;
  void fetch_some();
  void break_stream();
  void come_back(std::uint64_t life);
  void failure_seen(std::uint32_t generation);
  void drained_seen(std::uint32_t generation);
  void leave();
  void session_lost();
  void ended();

  void call_turn(std::uint64_t life);
  void join_by_call(core::join_mode mode);
  void collected(core::reply const& r);
  void schedule_by_call();

  core::closure_spec some_closure();

  world& world_;
  model_memory& memory_;
  std::vector<core::function_id> functions_;
  bool stopped_ = false;
  bool session_open_ = false;
  bool by_call_ = false;
  bool connected_ = false;
  bool failing_ = false;
  std::uint64_t life_ = 0;  // of the session
  int turns_left_ = 0;
  core::session_id session_{};
  core::duration grace_{};

  std::uint64_t last_token_ = 0;
  std::map<std::uint64_t, pending> pending_;
  std::map<std::uint64_t, core::closure_id> held_;  // ended and not released
  std::map<std::uint64_t, std::string> values_;     // of successful closures
  // per-worker values by token.
  std::map<std::uint64_t, core::per_worker_id> built_;
  std::vector<core::per_worker_id> dropped_;  // dropped while disconnected
  std::uint32_t generation_ = 1;
  bool draining_ = false;
  bool has_failed_ = false;
  std::uint32_t raised_generation_ = 0;
  int calls_ = 0;  // open calls
};

}  // namespace muster::simulation
