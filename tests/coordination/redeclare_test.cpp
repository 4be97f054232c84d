#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

cluster_spec of(std::uint32_t workers, std::uint32_t ps = 0) {
  cluster_spec spec;
  spec.jobs = {{"worker", workers, false}};
  if (ps > 0) spec.jobs.push_back({"ps", ps, false});
  return spec;
}

struct redeclaration : testing::Test {
  scene s{{.spec = of(2)}};
  std::uint32_t size() { return s.all.spec(s.id).size(); }
  std::string told() {
    auto const all = s.log_events(log_event_kind::cluster_changed);
    s.forget_log_events();
    return all.empty() ? std::string() : all.back().text;
  }
  void end_run() {
    s.leave(0), s.leave(1);
    ASSERT_EQ(s.generation().state, generation_state::finished);
  }
};

TEST_F(redeclaration, takes_effect_at_once_before_any_registration) {
  auto const before = s.incarnation();
  ASSERT_TRUE(s.redeclare(of(3, 1)).ok());
  EXPECT_EQ(told(), "worker=2 becomes worker=3,ps=1 at once");
  EXPECT_EQ(size(), 4u);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_NE(s.incarnation(), before);
  for (task_index t = 0; t < 4; ++t) s.enlist(t);
  EXPECT_EQ(s.generation().state, generation_state::running);
}

TEST_F(redeclaration, unchanged_declaration_is_not_logged) {
  auto const before = s.incarnation();
  ASSERT_TRUE(s.redeclare(of(2)).ok());
  EXPECT_EQ(told(), "");
  EXPECT_EQ(s.incarnation(), before);
}

TEST_F(redeclaration, waits_for_the_end_of_the_run) {
  s.enlist_all();
  ASSERT_TRUE(s.redeclare(of(3)).ok());
  EXPECT_EQ(told(), "worker=2 becomes worker=3 with the next generation");
  EXPECT_EQ(size(), 2u);
  EXPECT_EQ(s.all.view(s.id, s.now()).next->jobs[0].tasks, 3u);
  EXPECT_EQ(s.code_of(s.beat(1)), code::ok);
  end_run();
  s.advance(1ms);
  EXPECT_EQ(size(), 3u);
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.all.view(s.id, s.now()).next, std::nullopt);
  s.enlist(0, 200), s.enlist(1, 201), s.enlist(2, 202);
  EXPECT_EQ(s.generation().state, generation_state::running);
}

TEST_F(redeclaration, after_a_failure_keeps_its_cause) {
  s.enlist_all();
  ASSERT_TRUE(s.redeclare(of(1)).ok());
  auto const poll = s.poll(1);
  s.report(0, code::internal, "ECC error");
  EXPECT_EQ(s.code_of(poll), code::internal);
  s.advance(1ms);
  EXPECT_EQ(size(), 1u);
  auto const view = s.all.view(s.id, s.now());
  ASSERT_EQ(view.past.size(), 1u);
  EXPECT_EQ(view.past[0].cause->message, "ECC error");
  auto const beat = s.beat(0, 100);
  EXPECT_EQ(s.code_of(beat), code::aborted);
  EXPECT_NE(s.message_of(beat).find("ECC error"), std::string::npos);
}

TEST_F(redeclaration, after_the_end_starts_a_new_generation) {
  s.enlist_all();
  end_run();
  ASSERT_TRUE(s.redeclare(of(4)).ok());
  EXPECT_EQ(told(), "worker=2 becomes worker=4 with a new generation");
  s.advance(1ms);
  EXPECT_EQ(size(), 4u);
  EXPECT_EQ(s.generation().state, generation_state::waiting);
}

TEST_F(redeclaration, waiting_calls_are_answered_before_the_new_generation) {
  s.enlist_all();
  auto const waiter = s.get("never");
  end_run();
  ASSERT_TRUE(s.parked(waiter));
  ASSERT_TRUE(s.redeclare(of(1)).ok());
  s.tick();
  EXPECT_EQ(s.code_of(waiter), code::cancelled);
  EXPECT_EQ(size(), 2u) << "the replies of this step use the old declaration";
  auto const early = s.enlist(1, 300);
  EXPECT_EQ(s.code_of(early), code::unavailable);
  EXPECT_EQ(s.message_of(early), "cluster 'default' is being redeclared; try again");
  s.advance(1ms);
  EXPECT_EQ(size(), 1u);
}

TEST_F(redeclaration, keeps_the_keys_of_a_cluster_without_tasks_yet) {
  s.set("k", "v");
  ASSERT_TRUE(s.redeclare(of(3)).ok());
  EXPECT_EQ(told(), "worker=2 becomes worker=3 at once");
  EXPECT_EQ(s.value_of(s.try_get("k")), "v");
  EXPECT_EQ(size(), 3u);
}

TEST_F(redeclaration, waits_for_calls_that_wait_for_keys) {
  auto const waiter = s.get("k");
  ASSERT_TRUE(s.redeclare(of(3)).ok());
  EXPECT_EQ(told(), "worker=2 becomes worker=3 with the next generation");
  EXPECT_EQ(size(), 2u);
  s.set("k", "v");
  EXPECT_EQ(s.value_of(waiter), "v");
  s.advance(1ms);
  EXPECT_EQ(size(), 3u);
  EXPECT_EQ(s.value_of(s.try_get("k")), "v");
}

TEST_F(redeclaration, can_be_reverted) {
  s.enlist_all();
  ASSERT_TRUE(s.redeclare(of(3)).ok());
  s.forget_log_events();
  ASSERT_TRUE(s.redeclare(of(2)).ok());
  EXPECT_EQ(told(), "worker=3 becomes worker=2, which the current generation already has");
  end_run();
  s.advance(1ms);
  EXPECT_EQ(s.generation().number, 1u);
}

TEST_F(redeclaration, invalid_declaration_changes_nothing) {
  auto const refused = s.redeclare(of(0));
  EXPECT_EQ(refused.code, code::invalid_argument);
  EXPECT_EQ(refused.message, "jobs.worker: needs at least one task");
  EXPECT_EQ(s.redeclare(of(200'000)).message,
            "jobs: declare 200000 tasks in total; the limit is 100000");
  EXPECT_EQ(size(), 2u);
  s.stop();
  EXPECT_EQ(s.redeclare(of(3)).code, code::unavailable);
}

TEST(redeclaration_without_renewal, waits_as_long_as_the_cluster_exists) {
  auto spec = of(1);
  spec.renew = false;
  scene s{{.spec = spec}};
  s.enlist(0);
  ASSERT_TRUE(s.redeclare(of(2)).ok());
  EXPECT_NE(s.log_events(log_event_kind::cluster_changed)
                .at(0)
                .text.find("does not start new generations"),
            std::string::npos);
  s.leave(0);
  s.advance(1s);
  EXPECT_EQ(s.all.spec(s.id).size(), 1u);
}

}  // namespace
}  // namespace muster::core::coordination
