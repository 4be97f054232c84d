// A coordinator with a slow disk that can be killed at any moment: unwritten changes and pending
// replies are lost. The next process starts from the disk.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>
#include <vector>

#include "server/core/api/server_wide.hpp"
#include "server/core/coordinator.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "tests/journal/memory_store.hpp"
#include "tests/support/simulation/virtual_time.hpp"

namespace muster::server::journal {

class killable_server : public simulation::virtual_time {
 public:
  /// Receives effects for workers immediately.
  std::function<void(core::effects const&)> at_once = [](auto const&) {};
  /// Receives outcomes in order, after the changes before them are on the disk.
  std::function<void(core::outcome const&)> on_outcome = [](auto const&) {};

  std::function<void(core::session_notification const&)> on_notice = [](auto const&) {};

  killable_server(std::uint64_t seed, core::config c);

  void start();
  void kill();
  template <class Event>
  void step(Event e) {
    event_ = typeid(Event).name();
    perform(core_->step(now_, e));
  }
  template <class Event>
  void ask(Event e, std::function<void(core::reply const&)> told) {
    e.call = core::call_id{++last_call_};
    calls_.emplace(e.call, std::move(told));
    step(std::move(e));
  }
  /// Calls `then` when all changes are on the disk, or never if the server is killed before.
  void when_written(std::function<void()> then) {
    if (line_.empty() && queue_.empty()) return then();
    line_.push_back({written_, {}, {}, {}, std::move(then)});
  }
  void write_some(std::size_t batches);
  void write_all() { write_some(queue_.size()); }

  core::coordinator& core() { return *core_; }
  void advance(core::time_point to) { now_ = std::max(now_, to); }
  core::function_id function(std::size_t n) const { return functions_.at(n); }
  memory_store const& disk() const { return disk_; }

  [[noreturn]] void fail(std::string const& why) const { throw simulation::violation(why); }

 private:
  struct waiting {
    std::uint64_t number = 0;
    std::vector<core::outcome> outcomes;
    std::vector<core::session_notification> notices;
    std::vector<core::reply> replies;
    std::function<void()> then{};
  };
  void perform(core::effects const& fx);

  core::config const config_;
  std::string event_ = "start";
  memory_store disk_;
  std::deque<std::vector<change>> queue_;
  std::deque<waiting> line_;
  std::uint64_t written_ = 0, epoch_ = 0, last_call_ = 0;
  std::unique_ptr<core::server_wide> wide_;
  std::unique_ptr<core::coordinator> core_;
  std::vector<core::function_id> functions_;
  std::map<core::call_id, std::function<void(core::reply const&)>> calls_;
};

}  // namespace muster::server::journal
