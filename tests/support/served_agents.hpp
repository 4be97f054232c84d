// A server and the test agents that connect to it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/coordination_agent.hpp"
#include "tests/support/test_server.hpp"

namespace muster::test {

/// Returns a cluster without time limits, whose tasks connect and leave without waiting.
inline coordination::cluster_spec loose(std::uint32_t tasks) {
  auto spec = workers(tasks);
  spec.register_barrier = false;
  spec.shutdown_timeout = {};
  return spec;
}

struct served_agents {
  void serve(coordination::cluster_spec spec) { server.emplace(std::move(spec)); }
  /// Creates an unregistered process with its own connection.
  coordination_agent& new_agent(agent_options o, std::string const& address = {},
                                std::string const& authority = {}) {
    auto channel = connection_to(address.empty() ? server->address() : address, authority);
    return *agents.emplace_back(std::make_unique<coordination_agent>(runner, channel, o));
  }

  call_runner runner;
  std::optional<test_server> server;
  std::vector<std::unique_ptr<coordination_agent>> agents;
};

}  // namespace muster::test
