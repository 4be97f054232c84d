// Fixture of the coordinator's conformance suite: a server, workers whose functions wait at a gate,
// and a coordinator.
//
// Test names are those of the original suite. Not ported, with reasons:
//   testClusterCoordinatorOnlyInitOnce          there are no strategies; several coordinators are
//                                               several sessions
//   testInputFunctionWithMap*, testInputFunctionCreateVariables,
//   testDatasetPartiallyCreatedOnCoordinator    traced datasets of the graph runtime
//   testPassDatasetToCreatePerWorkerDataset     a builder is a function; a plain value is an
//                                               ordinary argument
//   testPythonFunctionNotAllowedToSchedule      only function names can be scheduled
//   testDisallowRemoteValueAsInput              allowed here: see remote_value_is_an_input
//   StrategyIntegrationTest.*                   strategies, variables, distributed datasets; only
//                                               testPerWorkerDatasetBuild is ported
//   testClusterCoordinatorMetrics, testWatchDogTimeout   the server has its own metrics and logs
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
  /// Waits until the session is stopping, or has started another generation.
  void wait_stopping();
  std::uint64_t running();

  test_server server;
  gate held;
  std::atomic<int> steps = 0;
  std::vector<std::unique_ptr<worker_thread>> workers;
  std::optional<cluster_coordinator> c;
};

inline coordinator_options of_two() {
  return {.queue_capacity = 2, .pending_max = 2};
}

/// Returns the message of a closure_error, or an empty string.
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
