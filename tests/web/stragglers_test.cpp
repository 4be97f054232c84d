#include "tests/web/agents.hpp"
#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

class stragglers : public web_fixture {
 protected:
  void SetUp() override { start({}, {}, 3); }
  std::string const path = "/api/v1/clusters/default/stragglers";
};

TEST_F(stragglers, are_named_by_barrier_task_and_host) {
  agents a(core_engine());
  a.join(3);
  for (auto const* step : {"step_1", "step_2"}) {
    a.enter(0, step);
    a.enter(2, step);
    a.enter(1, step);
  }
  auto const s = get_json(path);
  EXPECT_EQ(text_at(s, "/barriers/0/id"), "step_2") << "newest first";
  EXPECT_EQ(text_at(s, "/barriers/0/last"), "worker:1");
  EXPECT_EQ(text_at(s, "/barriers/1/host"), "10.0.0.2");
  EXPECT_EQ(text_at(s, "/tasks/0/task"), "worker:1");
  EXPECT_EQ(s.at_pointer("/tasks/0/last").to_number<int>(), 2);
  EXPECT_EQ(s.at_pointer("/tasks/0/barriers").to_number<int>(), 2);
  EXPECT_GT(s.at_pointer("/tasks/0/late_max_ms").to_number<double>(), 0);
  EXPECT_EQ(text_at(s, "/hosts/0/host"), "10.0.0.2");
  EXPECT_EQ(s.at_pointer("/generation").to_number<int>(), 1);
}

TEST_F(stragglers, are_empty_lists_without_barriers) {
  auto const s = get_json(path);
  EXPECT_TRUE(s.at_pointer("/barriers").as_array().empty());
  EXPECT_TRUE(s.at_pointer("/tasks").as_array().empty());
  EXPECT_EQ(get("/api/v1/clusters/nope/stragglers").status, 404u);
}

}  // namespace
}  // namespace muster::web::test
