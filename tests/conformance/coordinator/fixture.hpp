// What the tests of the coordinator's conformance suite stand on: a server, workers whose functions
// the tests hold at a gate, and a coordinator.
//
// Names are those of the original suite. Those that have no counterpart, and why:
//   testClusterCoordinatorOnlyInitOnce          one object a strategy: there are no strategies
//                                               here; several coordinators are several sessions
//   testInputFunctionWithMap*, testInputFunctionCreateVariables,
//   testDatasetPartiallyCreatedOnCoordinator    datasets of the graph runtime, that are traced
//   testPassDatasetToCreatePerWorkerDataset     a builder is a function; a plain value is an
//                                               argument like any other
//   testPythonFunctionNotAllowedToSchedule      functions are names, so nothing else can be
//                                               scheduled
//   testDisallowRemoteValueAsInput              allowed here: see remote_value_is_an_input
//   StrategyIntegrationTest.*                   strategies, variables, distributed datasets; of
//                                               these testPerWorkerDatasetBuild has a counterpart
//   testClusterCoordinatorMetrics, testWatchDogTimeout   the server's metrics and logs
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/cluster_coordinator.hpp"
#include "muster/function_error.hpp"
#include "tests/support/test_server.hpp"
#include "tests/support/worker_thread.hpp"

namespace muster::test {

struct conformance : testing::Test {
  explicit conformance(int workers = 3, coordinator_options o = {});
  ~conformance() override;

  void start_worker();
  /// Waits until the session is stopping, or has begun another generation.
  void wait_stopping();
  std::uint64_t running();

  test_server server;
  gate held;
  std::atomic<int> steps = 0;
  std::vector<std::unique_ptr<worker_thread>> workers;
  std::optional<cluster_coordinator> c;
};

/// The same with room for two closures only.
inline coordinator_options of_two() {
  return {.queue_capacity = 2, .pending_max = 2};
}

/// What join, schedule or done raises, as its message; empty: nothing.
template <class F>
std::string raised_by(F f) {
  try {
    f();
    return {};
  } catch (closure_error const& e) {
    return e.message();
  }
}

}  // namespace muster::test
