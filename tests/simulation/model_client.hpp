// A simulated user that checks that every closure ends once, with the right value.
#pragma once

#include <set>

#include "tests/simulation/model_worker.hpp"

namespace muster::simulation {

class model_client {
 public:
  /// @param doomed worker that dies for good; only it provides the last function.
  model_client(world& w, std::vector<core::function_id> functions, std::int64_t doomed)
      : world_(w), functions_(std::move(functions)), doomed_(doomed) {
    doomed_builder_ = functions_.back();
    functions_.pop_back();
  }

  void start();  // one session after another until `stop`
  void stop() { stopped_ = true; }
  bool content() const { return !session_open_; }
  core::session_id session() const { return session_; }

  void on_outcome(core::outcome const& o);
  void on_notice(core::notice_kind n);

 private:
  void open_stream();
  void open_job();
  void follow(core::session_reply const& opened);
  /// Returns true if closures without success run again as the client's next job.
  bool retry(core::session_id id);
  void schedule_more(int batches);
  void ask_for_a_worker(core::closure_extras& x);
  static void make_gang(std::vector<core::closure_spec>& batch);
  bool doomed_is_known() const {
    return world_.server().workers().find("worker", doomed_).has_value();
  }
  void create_value();
  void release_value();
  std::vector<core::closure_spec> batch();
  std::shared_ptr<core::closure_extras const> extras(std::size_t position);
  void ended();
  void check_reply(core::reply const& r, core::time_point deadline);

  world& world_;
  std::vector<core::function_id> functions_;
  std::int64_t const doomed_;
  core::function_id doomed_builder_{};
  bool stopped_ = false;
  std::uint64_t sessions_ = 0;
  bool session_open_ = false;
  bool failing_ = false;  // can schedule failing closures
  bool fancy_ = false;    // its closures have inputs and options
  bool gone_ = false;
  core::per_worker_id value_{};  // needed by some closures; 0: none
  bool only_doomed_builds_ = false;
  core::session_id session_{};
  std::set<std::uint64_t> outstanding_;
  std::uint64_t last_token_ = 0;
};

}  // namespace muster::simulation
