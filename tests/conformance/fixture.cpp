#include "tests/conformance/fixture.hpp"

namespace muster::test {

coordination::cluster_spec watched(std::uint32_t tasks) {
  auto spec = loose(tasks);
  spec.heartbeat_timeout = fast_timeout;
  return spec;
}

coordination::cluster_spec strict(std::uint32_t tasks) {
  return workers(tasks);
}

coordination_agent& conformance::agent(int task, agent_options o) {
  o.dialect = GetParam();
  o.task = task;
  return new_agent(o);
}

void conformance::connect(int tasks) {
  std::vector<pending> calls;
  for (int i = 0; i < tasks; ++i) calls.push_back(agent(i).register_task());
  for (int i = 0; i < tasks; ++i) {
    auto const a =
        agents[static_cast<std::size_t>(i)]->connected(calls[static_cast<std::size_t>(i)].get());
    ASSERT_TRUE(a.ok()) << a.message;
  }
}

pending conformance::polling(std::size_t i) {
  auto const before = server->parked_calls();
  auto call = agents[i]->poll_for_error();
  EXPECT_TRUE(server->parked(before + 1));
  return call;
}

INSTANTIATE_TEST_SUITE_P(wire, conformance,
                         testing::Values(wire_dialect::xla, wire_dialect::tensorflow),
                         dialect_name);
INSTANTIATE_TEST_SUITE_P(wire, conformance_of_tensorflow, testing::Values(wire_dialect::tensorflow),
                         dialect_name);
INSTANTIATE_TEST_SUITE_P(wire, conformance_of_xla, testing::Values(wire_dialect::xla),
                         dialect_name);

}  // namespace muster::test
