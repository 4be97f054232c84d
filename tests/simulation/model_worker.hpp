// A worker process and its link to the server, as the simulation sees them.
//
// It attaches, executes what it is sent on `slots` threads, lets some of it wait for values while
// others have its slots, answers in batches, beats when idle. It
// can crash (noticed at once, or only by its silence), pause, restart with a new incarnation, lose
// its connection (with what was on its way) and come back with the old one and what it still runs,
// answer twice, or drain and leave.
#pragma once

#include <set>

#include "tests/simulation/model_memory.hpp"
#include "tests/simulation/world.hpp"

namespace muster::simulation {

/// What a closure does when executed; its arguments say so.
enum class behaviour : std::uint8_t {
  succeed,
  fail,
  kill_worker,
  fail_stale,
  lose_ps,
  time_out,
  kill_five,  // workers, then it succeeds
};

struct faults {
  bool on = true;
  int crash_percent = 3;  // at each of the worker's turns
  int pause_percent = 2;
  int reconnect_percent = 3;
  int duplicate_percent = 1;  // a batch of answers is sent twice
  int drain_percent = 1;
  int cordon_percent = 2;      // an operator cordons the task with its number, or ends that
  int unnoticed_percent = 30;  // of the crashes: no FIN reaches the server
};

class model_worker {
 public:
  model_worker(world& w, model_memory& m, faults const& f, int number,
               std::vector<std::string> functions, std::uint64_t& stream_counter);

  void start();
  void turn();  // chance strikes; called regularly
  /// No more faults: resume, reattach.
  void heal();
  /// Dies and is never seen again.
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
    bool waits = false;  // for a value, as it says: its slot is another's
    core::time_point began{};
    core::time_point lacks_since{};  // an input
  };
  void attach();
  void beat(std::uint64_t link);
  void execute_next();
  std::vector<held>::iterator find(core::closure_id c, std::uint32_t attempt);
  void finish(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  /// Whether its inputs can be had; if not now it is tried again.
  model_memory::place look_for_inputs(held& h);
  core::blob value_of(core::blob const& args);
  void attach_later(core::duration longest);
  core::duration transit(std::int64_t longest_us);
  std::vector<core::held_closure> what_it_has() const;
  void answer(core::worker_result r);
  void check_values(core::assignment const& a) const;
  void flush(std::uint64_t link);
  /// It may wait for a value for a while, if one more may.
  void wait_or_go_on(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  void report_start(core::closure_id c, std::uint32_t attempt, std::uint64_t life);
  /// The closure that a process executed when it ended, while its worker stayed connected.
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
  core::time_point welcome_comes_{};  // nothing overtakes it
  std::vector<core::held_closure> offered_;
  bool alive_ = false;
  bool dead_ = false;
  core::time_point paused_until_{};
  std::uint32_t slots_ = 1;
  std::uint32_t nested_max_ = 0;  // as welcomed
  bool const tells_times_;        // when what it runs began, and how long it took
  std::vector<held> holds_;
  std::vector<core::worker_result> answers_;
  std::set<core::per_worker_id> kept_;  // built by this process, or the builder's error
  std::map<core::per_worker_id, std::uint64_t> builds_;  // by this process, of those that fail
  bool flushing_ = false;
  bool draining_ = false;
};

behaviour behaviour_of(core::blob const& args);
/// Of a per-worker value.
behaviour some_builder(world& w);
core::blob args_for(behaviour b, std::uint64_t token, core::encoding e = core::encoding::json);
core::blob value_for(core::blob const& args);  // in the same encoding
/// A closure that ended.
void count(world& w, core::outcome const& o);

}  // namespace muster::simulation
