// Workers that disconnect and return to the next server with their running closures and
// unacknowledged answers.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/journal/killable_server.hpp"

namespace muster::server::journal {

inline std::string value_of(std::string const& args) {
  return "\"done " + args.substr(1, args.size() - 2) + "\"";
}

class model_workers {
 public:
  explicit model_workers(killable_server& server);

  void lose_sight();
  /// Connects a disconnected worker or a new one.
  void come_back();
  void answer_one(bool well);
  void lose_one();
  /// Replaces the disconnected workers by two new ones.
  void heal();
  void stay_alive();
  /// Advances time; with `much`, long enough that running closures are recorded.
  void work_on(bool much);

  std::size_t size() const { return workers_.size(); }

 private:
  struct held_closure {
    core::closure_id id{};
    std::uint32_t attempt = 0;
    std::string args;
  };
  struct worker {
    core::incarnation incarnation{};
    std::uint32_t slots = 1, credits = 1;
    std::vector<held_closure> held{};
    std::shared_ptr<std::vector<core::worker_result>> kept =
        std::make_shared<std::vector<core::worker_result>>();  // not acknowledged
  };
  void attach(worker w);
  bool is_known_lost(core::closure_id id, std::uint32_t attempt);
  void acknowledge(worker const& w, std::vector<core::worker_result> const& answers);
  void lose(core::stream_id stream, bool comes_back);
  void take(core::effects const& fx);

  killable_server& server_;
  simulation::random& dice_ = server_.dice();
  std::map<core::stream_id, worker> workers_;
  std::vector<worker> lost_sight_;
  std::uint64_t last_stream_ = 0, last_incarnation_ = 0;
};

}  // namespace muster::server::journal
