// A simulated worker process and its connection to the server.
//
// A closure can wait for a value while another uses its slot. Faults: crashes (noticed or not),
// pauses, restarts, lost connections, duplicate answers, drains.
#pragma once

#include <set>

#include "tests/simulation/model_memory.hpp"
#include "tests/simulation/world.hpp"

namespace muster::simulation {

/// Encoded in the arguments.
enum class behaviour : std::uint8_t {
  succeed,
  fail,
  kill_worker,
  fail_stale,
  lose_ps,
  time_out,
  kill_five,  // kills five workers, then succeeds
};

struct faults {
  bool on = true;
  int crash_percent = 3;
  int pause_percent = 2;
  int reconnect_percent = 3;
  int duplicate_percent = 1;  // answers are sent twice
  int drain_percent = 1;
  int cordon_percent = 2;      // cordons or uncordons its task
  int unnoticed_percent = 30;  // percentage of crashes without a FIN
};

class model_worker {
 public:
  model_worker(world& w, model_memory& m, faults const& f, int number,
               std::vector<std::string> functions, std::uint64_t& stream_counter);

  void start();
  void turn();  // injects random faults
  void heal();
  void die();
  bool dead() const { return dead_; }

  core::stream_id stream() const { return stream_; }
  void on_welcome(core::welcome const& w);
  void on_dispatch(std::vector<core::assignment> batch);
  void on_stop(core::stop_request const& s);
  void on_retract(core::retract_request const& r);
  void on_disconnect(bool final);
  void on_drain();
  void on_drop(core::per_worker_id v) { kept_.erase(v); }

 private:
  struct held {
    core::assignment what;
    bool executing = false;
    bool waits = false;  // its slot is free
    core::time_point began{};
    core::time_point lacks_since{};  // since when an input is missing
  };
  void attach();
  void beat(std::uint64_t link);
  void execute_next();
  std::vector<held>::iterator find(core::closure_id c, std::uint32_t attempt);
  void finish(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  /// Retries later if inputs are missing.
  model_memory::place look_for_inputs(held& h);
  core::blob value_of(core::blob const& args);
  void attach_later(core::duration longest);
  core::duration transit(std::int64_t longest_us);
  std::vector<core::held_closure> what_it_has() const;
  void answer(core::worker_result r);
  void check_values(core::assignment const& a) const;
  void flush(std::uint64_t link);
  /// Starts or ends a wait, within the limit of nested waits.
  void wait_or_go_on(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  void report_start(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  /// The closure of a process that ended while its worker stayed connected.
  using ended = std::optional<core::held_closure>;
  void crash(bool noticed, ended by = {});
  void leave();
  void forget_everything();
  void send(core::event e);
  void lose_connection(std::string const& why, bool tell_server, bool clean, ended by = {});

  world& world_;
  model_memory& memory_;
  faults const& faults_;
  int const number_;
  std::vector<std::string> functions_;
  std::uint64_t& stream_counter_;
  core::stream_id stream_{};  // 0: not attached
  std::uint64_t replaces_ = 0;
  std::uint64_t incarnation_ = 0;
  std::uint64_t life_ = 0;  // changes with every crash
  std::uint64_t link_ = 0;  // changes with every connection that begins or ends
  bool welcomed_ = false;
  core::time_point welcome_comes_{};  // no message may overtake it
  std::vector<core::held_closure> offered_;
  bool alive_ = false;
  bool dead_ = false;
  core::time_point paused_until_{};
  std::uint32_t slots_ = 1;
  std::uint32_t nested_max_ = 0;  // from the welcome message
  bool const tells_times_;        // reports times
  std::vector<held> holds_;
  std::vector<core::worker_result> answers_;
  std::set<core::per_worker_id> kept_;  // built values and failed builders
  // Number of builds by this process, for failing builders.
  std::map<core::per_worker_id, std::uint64_t> builds_;
  bool flushing_ = false;
  bool draining_ = false;
};

behaviour behaviour_of(core::blob const& args);
behaviour some_builder(world& w);
core::blob args_for(behaviour b, std::uint64_t token, core::encoding e = core::encoding::json);
core::blob value_for(core::blob const& args);  // in the same encoding
void count(world& w, core::outcome const& o);

}  // namespace muster::simulation
