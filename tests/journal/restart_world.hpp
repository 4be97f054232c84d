// Durable jobs under virtual time, with clients, workers and a disk that lags behind, and a server
// that is killed at any moment: what it had not written is gone, what it had not told nobody knows.
// The next one begins with what the disk has.
//
// What must hold: a job whose acceptance was told is there; what was told of a closure is never
// told otherwise; a value is that of its own closure; in the end everything has ended.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "server/core/api/server_wide.hpp"
#include "server/core/coordinator.hpp"
#include "server/journal/memory_store.hpp"
#include "tests/simulation/random.hpp"

namespace muster::server::journal {

struct restart_report {
  std::uint64_t crashes = 0, accepted = 0, told = 0, lost_batches = 0, restored = 0, succeeded = 0,
                failed = 0, cancelled = 0, retried = 0, taken_up = 0;
  std::string violation;  // empty: all held
};

class restart_world {
 public:
  explicit restart_world(std::uint64_t seed);

  restart_report run();

 private:
  struct known_closure {
    std::string args;
    bool told = false;
    core::closure_state state{};
    std::string value;
  };
  struct known_job {
    std::vector<core::closure_id> closures;
    bool open = false;
    bool deleted = false;  // asked for
  };
  struct held_closure {
    core::closure_id id{};
    std::uint32_t attempt = 0;
    std::string args;
  };
  struct model_worker {
    core::incarnation incarnation{};
    std::uint32_t slots = 1, credits = 1;
    std::vector<held_closure> held{};
  };
  struct waiting_reply {
    std::uint64_t number = 0;
    core::reply reply;
  };

  void start_server();
  void crash();
  void act();
  void submit();
  void append();
  void attach(model_worker w);
  void come_back();
  void answer_one(bool well);
  void lose_a_worker();
  void ask_for_a_value();
  void cancel_or_delete();
  void write_some(std::size_t batches);
  void heal();
  void check_the_end();
  void check_known();

  template <class Event>
  void step(Event e);
  template <class Event>
  void ask(Event e, std::function<void(core::reply const&)> told);
  void perform(core::effects const& fx);
  std::vector<core::closure_spec> some_closures(core::session_id of);
  core::session_id some_job(bool open);
  void remember(core::session_id job, std::vector<core::closure_id> const& ids,
                std::vector<std::string> const& args);
  void told(core::closure_id id, core::closure_state state, std::string value);
  void fail(std::string why);

  simulation::random dice_;
  core::config config_;
  core::time_point now_{std::chrono::seconds(1'700'000'000)};
  restart_report report_;

  memory_store disk_;
  std::deque<std::vector<change>> queue_;
  std::uint64_t written_ = 0, durable_ = 0, epoch_ = 0;

  std::unique_ptr<core::server_wide> wide_;
  std::unique_ptr<core::coordinator> core_;
  std::vector<core::function_id> functions_;
  std::map<core::call_id, std::function<void(core::reply const&)>> calls_;
  std::deque<waiting_reply> replies_;
  std::map<core::stream_id, model_worker> workers_;
  std::vector<model_worker> lost_sight_;  // their server was killed; they may come back
  std::uint64_t last_call_ = 0, last_stream_ = 0, last_incarnation_ = 0, last_args_ = 0;

  std::map<core::session_id, known_job> jobs_;
  std::map<core::closure_id, known_closure> closures_;
};

}  // namespace muster::server::journal
