#include "tests/core/fixture.hpp"

namespace muster::core {
namespace view_closures_cases {

std::vector<std::uint32_t> indexes(page<closure_view, std::uint32_t> const& p) {
  std::vector<std::uint32_t> out;
  for (auto const& v : p.items) out.push_back(v.index);
  return out;
}
using list = std::vector<std::uint32_t>;

TEST(view_closures, queued_closure_shows_its_arguments_and_no_attempt) {
  cluster c;
  c.wait(1s);
  auto const job = c.open({"f", "g"});
  auto const v = c.core.closures().find(job[1]).value();
  EXPECT_EQ(v.id, job[1]);
  EXPECT_EQ(v.job, job.id);
  EXPECT_EQ(v.index, 1u);
  EXPECT_EQ(v.function, "g");
  EXPECT_EQ(v.state, closure_state::queued);
  EXPECT_EQ(v.value, value_state::not_ready);
  EXPECT_EQ(v.args, blob("2"));
  EXPECT_EQ(v.created, start + 1s);
  EXPECT_EQ(v.finished, time_point{});
  EXPECT_FALSE(v.cancel_requested);
  EXPECT_FALSE(v.error);
  EXPECT_FALSE(v.data);
  EXPECT_TRUE(v.attempts.empty());
}

TEST(view_closures, the_history_shows_every_attempt_with_its_end) {
  cluster c;
  c.lose(c.attach({.incarnation = 1, .host = "h1"}));
  auto const job = c.open({"f"});
  auto const a = c.attach({.index = 1, .host = "h2"});
  c.wait(1s);
  c.lose(a, "cut");
  c.wait(1s);
  auto const b = c.attach({.index = 2, .incarnation = 2, .host = "h3"});
  auto const running = c.core.closures().find(job[0])->attempts;
  ASSERT_EQ(running.size(), 2u);
  EXPECT_EQ(running[0].worker, "worker:1");
  EXPECT_EQ(running[0].outcome, (attempt_outcome{attempt_end::worker_lost, "cut"}));
  EXPECT_EQ(running[1].attempt, 2u);
  EXPECT_EQ(running[1].worker, "worker:2");
  EXPECT_EQ(running[1].incarnation, incarnation{2});
  EXPECT_EQ(running[1].host, "h3");
  EXPECT_EQ(running[1].started, start + 2s);
  EXPECT_EQ(running[1].ended, time_point{});
  EXPECT_EQ(running[1].outcome, (attempt_outcome{attempt_end::running}));
  c.wait(1s);
  c.succeed(b, job[0]);
  c.leave(b);
  c.advance(11min);  // removes only the worker's row
  auto const ended = c.core.closures().find(job[0])->attempts;
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[1].worker, "worker:2");
  EXPECT_EQ(ended[1].ended, start + 3s);
  EXPECT_EQ(ended[1].outcome, (attempt_outcome{attempt_end::succeeded}));
}

TEST(view_closures, the_last_attempt_ends_as_the_closure_does) {
  cluster c;
  auto const w = c.attach({.slots = 3, .credits = 3});
  auto const job = c.open({"f", "f", "f"}, continue_all());
  c.ask(cancel_closure{{}, job[1]});
  c.answer(w, {c.bad(w, job[0]), c.bad(w, job[1], "stopped", failure_kind::cancelled)});
  EXPECT_EQ(c.core.closures().find(job[0])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::failed}));
  EXPECT_EQ(c.core.closures().find(job[1])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::cancelled}));
  EXPECT_EQ(c.core.closures().find(job[2])->attempts.at(0).outcome,
            (attempt_outcome{attempt_end::running}));
}

TEST(view_closures, are_listed_in_schedule_order_page_by_page) {
  cluster c;
  auto const job = c.open(names(5, "f"));
  auto const first = c.core.closures().list(job.id, 0, 2).value();
  EXPECT_EQ(indexes(first), (list{0, 1}));
  EXPECT_EQ(first.next, 2u);
  auto const last = c.core.closures().list(job.id, 2, 3).value();
  EXPECT_EQ(indexes(last), (list{2, 3, 4}));
  EXPECT_FALSE(last.next);
  EXPECT_TRUE(c.core.closures().list(job.id, 99, 3)->items.empty());
  EXPECT_FALSE(c.core.closures().list(job.id, 99, 3)->next);
}

}  // namespace view_closures_cases
}  // namespace muster::core
