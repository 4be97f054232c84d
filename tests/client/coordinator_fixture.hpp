// A server, a worker with four slots and a coordinator, for the tests of cluster_coordinator.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "muster/cluster_coordinator.hpp"
#include "muster/function_error.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {

using std::chrono::milliseconds;

struct coordinator : testing::Test {
  test_server server;
  gate g;
  std::optional<worker_thread> workers;
  std::optional<cluster_coordinator> c;

  explicit coordinator(coordinator_options o = {}) {
    auto w = options_for(server.address());
    w.slots = 4;
    workers.emplace(w, [this](worker& to) {
      to.function("add", [](int a, int b) { return a + b; });
      to.function("subtract", [](int what, int from) { return from - what; }, {"what", "from"});
      to.function("sum", [](std::vector<int> const& all) {
        int n = 0;
        for (auto const i : all) n += i;
        return n;
      });
      to.function("nested", [] {
        return std::tuple{1, std::vector<std::string>{"a", "b"},
                          std::map<std::string, int>{{"k", 2}}};
      });
      to.function("raise", [](std::string const& what) -> int {
        throw function_error(what, "ValueError", "line 1\nline 2");
      });
      to.function("gate", g.function());
    });
    o.server = server.address();
    c.emplace(o);
  }
  ~coordinator() override { g.open(); }

  std::uint64_t values_held() {
    return server.on_engine([](server::hub& h) { return h.state().overview(h.now()).values_held; });
  }
  bool held(std::uint64_t n) {
    return server.eventually([n](auto& core) { return core.overview({}).values_held == n; });
  }
};

}  // namespace muster::test
