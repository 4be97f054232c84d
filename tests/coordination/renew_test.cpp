// The next generation starts without the state of the renewed one.
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

cluster_spec so_many(std::uint32_t workers) {
  cluster_spec spec;
  spec.jobs = {{"worker", workers, false}};
  return spec;
}

TEST(renewal, ends_a_running_generation_and_removes_its_keys) {
  scene s{{.spec = so_many(2)}};
  s.enlist_all();
  s.set("k", "v");
  auto const waiter = s.get("never");
  ASSERT_TRUE(s.renew(so_many(2)).ok());
  EXPECT_EQ(s.code_of(waiter), code::cancelled);
  EXPECT_EQ(s.code_of(s.enlist(0, 200)), code::unavailable) << "it begins with the next tick";
  s.advance(1ms);
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.generation().state, generation_state::waiting);
  s.enlist(0, 201), s.enlist(1, 202);
  EXPECT_EQ(s.generation().state, generation_state::running);
  EXPECT_EQ(s.code_of(s.try_get("k")), code::not_found);
  auto const late = s.beat(0, 100);
  EXPECT_EQ(s.code_of(late), code::aborted) << "of the previous generation";
  EXPECT_NE(s.message_of(late).find("its tasks were restarted"), std::string::npos);
  auto const past = s.all.view(s.id, s.now()).past;
  ASSERT_EQ(past.size(), 1u);
  EXPECT_EQ(past[0].state, generation_state::failed);
  EXPECT_EQ(past[0].cause->message, "its tasks were restarted");
}

TEST(renewal, applies_the_declared_size) {
  scene s{{.spec = so_many(2)}};
  s.enlist_all();
  ASSERT_TRUE(s.renew(so_many(3)).ok());
  s.advance(1ms);
  EXPECT_EQ(s.all.spec(s.id).size(), 3u);
  EXPECT_EQ(s.generation().number, 2u);
}

TEST(renewal, removes_the_keys_of_a_cluster_without_tasks_too) {
  scene s{{.spec = so_many(2)}};
  s.set("k", "v");
  ASSERT_TRUE(s.renew(so_many(2)).ok());
  ASSERT_TRUE(s.renew(so_many(1)).ok()) << "twice before the tick";
  s.advance(1ms);
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.all.spec(s.id).size(), 1u);
  EXPECT_EQ(s.code_of(s.try_get("k")), code::not_found);
}

TEST(renewal, holds_after_a_restart) {
  scene s{{.spec = so_many(2)}};
  s.enlist_all();
  s.set("k", "v");
  ASSERT_TRUE(s.renew(so_many(2)).ok());
  s.advance(1ms);
  s.set("l", "w");
  s.restart();
  EXPECT_EQ(s.generation().number, 2u);
  EXPECT_EQ(s.code_of(s.try_get("k")), code::not_found);
  EXPECT_EQ(s.value_of(s.try_get("l")), "w");
}

TEST(renewal, invalid_renewal_changes_nothing) {
  scene s{{.spec = so_many(2)}};
  s.enlist_all();
  EXPECT_EQ(s.renew(so_many(0)).code, code::invalid_argument);
  s.advance(1ms);
  EXPECT_EQ(s.generation().number, 1u);
  EXPECT_EQ(s.code_of(s.beat(0)), code::ok);
}

}  // namespace
}  // namespace muster::core::coordination
