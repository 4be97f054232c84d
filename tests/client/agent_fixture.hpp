// Coordination clients of the C++ library with a coordination service in the same process.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <muster/coordination_agent.hpp>
#include <string>

#include "tests/support/test_server.hpp"

namespace muster::test {

using namespace std::chrono_literals;

/// A timeout that no test reaches.
inline constexpr auto long_time = 20s;

/// Tasks connect together and leave at once. A task that is silent for `silent` is in error.
inline coordination::cluster_spec agents(std::uint32_t tasks, core::duration silent = 20s) {
  auto spec = workers(tasks);
  spec.heartbeat_timeout = silent;
  spec.shutdown_timeout = core::duration::zero();
  return spec;
}

inline coordination_options as_task(std::string const& server, std::uint32_t task) {
  coordination_options o;
  o.server = server;
  o.task = task;
  o.heartbeat_timeout = 20s;
  o.connect_timeout = long_time;
  o.watch_interval = 5ms;
  return o;
}

inline std::vector<std::unique_ptr<muster::coordination_agent>> connected(
    std::string const& server, std::uint32_t tasks,
    std::function<void(coordination_options&)> const& also = {}) {
  std::vector<std::unique_ptr<muster::coordination_agent>> all;
  std::vector<std::future<void>> connecting;
  for (std::uint32_t t = 0; t < tasks; ++t) {
    auto o = as_task(server, t);
    if (also) also(o);
    all.push_back(std::make_unique<muster::coordination_agent>(std::move(o)));
    connecting.push_back(std::async(std::launch::async, [a = all.back().get()] { a->connect(); }));
  }
  for (auto& c : connecting) c.get();
  return all;
}

template <class F>
auto beside(F f) {
  return std::async(std::launch::async, std::move(f));
}

/// Returns the exception that `f` throws, which must be an E.
template <class E, class F>
E raised_by(F f) {
  try {
    f();
  } catch (E const& e) {
    return e;
  }
  throw std::logic_error("nothing was raised");
}

}  // namespace muster::test
