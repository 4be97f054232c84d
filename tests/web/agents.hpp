// Calls the coordination service of a cluster directly, in place of clients on the network.
#pragma once

#include <optional>

#include "tests/web/engine.hpp"

namespace muster::web::test {

namespace coordination = core::coordination;

class agents {
 public:
  explicit agents(engine& e, std::string cluster = "default")
      : engine_(e), cluster_(std::move(cluster)) {}

  /// The answer to a call; empty while the call is parked.
  struct pending {
    std::optional<coordination::fault_ptr> fault;
  };
  using call = std::shared_ptr<pending>;

  template <class Request>
  call ask(Request r) {
    auto const answer = std::make_shared<pending>();
    engine_.run([&](engine_services& services) {
      auto const c = services.coordination.state().find(cluster_);
      services.coordination.ask(*c, r,
                                [answer](coordination::reply& got) { answer->fault = got.fault; });
    });
    return answer;
  }

  /// Registers tasks 0 to n-1.
  void join(std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) join_one(i);
  }
  call join_one(std::uint32_t task) {
    coordination::register_task r;
    r.task.index = task;
    r.incarnation = core::incarnation{1000 + task};
    r.peer = "10.0.0." + std::to_string(task + 1) + ":4711";
    return ask(std::move(r));
  }
  call beat(std::uint32_t task) {
    coordination::heartbeat r;
    r.task.index = task;
    r.incarnation = core::incarnation{1000 + task};
    return ask(std::move(r));
  }
  call enter(std::uint32_t task, std::string const& barrier,
             core::duration timeout = std::chrono::minutes(1)) {
    coordination::enter_barrier r;
    r.task.index = task;
    r.id = barrier;
    r.timeout = timeout;
    return ask(std::move(r));
  }
  call wait_for_key(std::uint32_t task, std::string const& key) {
    coordination::get_key_value r;
    r.key = key;
    r.incarnation = core::incarnation{1000 + task};
    return ask(std::move(r));
  }
  call report(std::uint32_t task, std::string const& message) {
    coordination::report_error r;
    r.task.index = task;
    r.code = muster::code::internal;
    r.message = message;
    return ask(std::move(r));
  }

 private:
  engine& engine_;
  std::string const cluster_;
};

}  // namespace muster::web::test
