#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

names shown(page<task_view, std::size_t> const& p) {
  names out;
  for (auto const& t : p.items) out.push_back(t.job + ":" + std::to_string(t.index));
  return out;
}

TEST(view_tasks, task_shows_what_its_worker_reported) {
  cluster c;
  auto e = c.arrival({.functions = {"g", "f"},
                      .slots = 2,
                      .credits = 9'999,
                      .index = 3,
                      .incarnation = 5,
                      .host = "box"});
  e.spec.version = "1.2";
  e.spec.pid = 77;
  e.spec.labels = {{"zone", "a"}, {"gpu", "1"}};
  c.wait(1s);
  c.step(e);
  auto const t = c.task(3);
  EXPECT_EQ(t.state, task_state::connected);
  EXPECT_EQ(t.since, start + 1s);
  EXPECT_EQ(t.last_seen, start + 1s);
  EXPECT_EQ(t.incarnation, incarnation{5});
  EXPECT_EQ(t.host, "box");
  EXPECT_EQ(t.version, "1.2");
  EXPECT_EQ(t.pid, 77u);
  EXPECT_EQ(t.slots, 2u);
  EXPECT_EQ(t.credits, 4'096u) << "what it was granted";
  EXPECT_EQ(t.functions, (names{"g", "f"}));
  EXPECT_EQ(t.labels, e.spec.labels);
  EXPECT_FALSE(t.draining);
}

TEST(view_tasks, count_the_closures_of_their_worker) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  c.open({"f", "f", "f"});
  EXPECT_EQ(c.task(0).running, 2u);
  c.lose(w);
  EXPECT_EQ(c.task(0).running, 0u);
}

TEST(view_tasks, are_listed_by_job_and_index_page_by_page) {
  cluster c;
  for (auto const index : {10, 2, 1}) c.attach({.index = index});
  c.attach({.job = "chief"});
  auto const first = c.core.workers().list(0, 3, {});
  EXPECT_EQ(shown(first), (names{"chief:0", "worker:1", "worker:2"}));
  EXPECT_EQ(first.next, 3u);
  auto const last = c.core.workers().list(*first.next, 3, {});
  EXPECT_EQ(shown(last), (names{"worker:10"}));
  EXPECT_FALSE(last.next);
  EXPECT_FALSE(c.core.workers().list(0, 4, {}).next);
  EXPECT_TRUE(c.core.workers().list(99, 4, {}).items.empty());
}

TEST(view_tasks, may_be_filtered_by_state_and_job) {
  cluster c;
  c.attach({.job = "chief"});
  c.lose(c.attach());
  c.attach({.index = 1});
  c.attach({.index = 2});
  task_filter filter;
  filter.state = task_state::connected;
  EXPECT_EQ(shown(c.core.workers().list(0, 9, filter)), (names{"chief:0", "worker:1", "worker:2"}));
  filter.job = "worker";
  EXPECT_EQ(shown(c.core.workers().list(0, 9, filter)), (names{"worker:1", "worker:2"}));
  auto const page = c.core.workers().list(0, 1, filter);
  EXPECT_EQ(shown(page), (names{"worker:1"}));
  EXPECT_EQ(shown(c.core.workers().list(*page.next, 1, filter)), (names{"worker:2"}));
  filter.state = task_state::error;
  EXPECT_EQ(shown(c.core.workers().list(0, 9, filter)), (names{"worker:0"}));
}

TEST(view_tasks, unknown_task_is_an_error_with_its_name) {
  cluster c;
  c.attach();
  EXPECT_EQ(c.core.workers().find("worker", 1).error(),
            (status{code::not_found, "there is no task worker:1"}));
  EXPECT_EQ(c.core.workers().find("ps", 0).error(),
            (status{code::not_found, "there is no task ps:0"}));
}

}  // namespace
}  // namespace muster::core
