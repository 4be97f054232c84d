#include "server/core/programs/controller.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

worker_attached with_programs(cluster& c, joining const& w) {
  auto e = c.arrival(w);
  e.programs = programs_offer{20'000, 20'099, 60s, w.host, {}};
  return e;
}

program_id submit(cluster& c, std::uint32_t ranks, named_amounts each) {
  submit_program e;
  e.spec.name = "train";
  e.spec.command = {"train"};
  program_tasks tasks;
  tasks.min = tasks.max = ranks;
  tasks.resources = std::move(each);
  e.spec.tasks.push_back(std::move(tasks));
  return std::get<program_reply>(c.reply_to_event(std::move(e)).body).program;
}

program_state state_of(cluster& c, program_id p) {
  return c.core.programs().find(p).value().state;
}

rank_end ended_well(program_id p, std::uint32_t rank) {
  rank_end e;
  e.name = {p, 1, rank};
  return e;
}

closure_spec with_gpu(cluster& c) {
  auto spec = c.specs({"f"}).front();
  closure_options o;
  o.resources = {{"gpu", 1}};
  spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
  return spec;
}

TEST(programs_and_closures, take_from_the_same_resources_and_ranks_hold_no_slot) {
  cluster c;
  auto e = with_programs(c, {.resources = {{"gpu", 1}}});
  auto const w = e.stream;
  c.step(std::move(e));
  EXPECT_TRUE(c.fx().welcomes[0].kept_ranks.has_value());
  auto const p = submit(c, 1, {{"gpu", 1}});
  ASSERT_EQ(c.fx().rank_orders.size(), 1u);
  EXPECT_EQ(c.fx().rank_orders[0].stream, w);
  auto const needs_it = c.open_with({with_gpu(c)});
  EXPECT_TRUE(c.held(w).empty());
  auto const plain = c.open({"f"});
  EXPECT_EQ(c.held(w), closures{plain[0]});
  c.succeed(w, plain[0]);
  c.step(rank_reports{w, {{{p, 1, 0}, 7}}, {}, 1});
  EXPECT_EQ(state_of(c, p), program_state::running);
  EXPECT_EQ(c.fx().rank_orders[0].lease, 1u);
  c.step(rank_reports{w, {}, {ended_well(p, 0)}});
  EXPECT_EQ(state_of(c, p), program_state::succeeded);
  EXPECT_EQ(c.held(w), closures{needs_it[0]});
}

TEST(programs_and_closures, a_flood_of_closures_does_not_starve_a_program) {
  cluster c;
  auto e = with_programs(c, {.slots = 2, .credits = 2, .resources = {{"gpu", 2}}});
  auto const w = e.stream;
  c.step(std::move(e));
  std::vector<closure_spec> flood;
  for (int i = 0; i < 10; ++i) flood.push_back(with_gpu(c));
  auto const job = c.open_with(std::move(flood));
  auto const p = submit(c, 2, {{"gpu", 1}});
  EXPECT_EQ(state_of(c, p), program_state::pending);
  c.succeed(w, job[0]);
  EXPECT_EQ(c.held(w), closures{job[1]}) << "released resources are reserved";
  c.succeed(w, job[1]);
  EXPECT_EQ(state_of(c, p), program_state::starting);
  EXPECT_TRUE(c.held(w).empty());
}

TEST(programs_and_closures, a_worker_without_an_offer_gets_no_ranks) {
  cluster c;
  c.attach();
  auto const p = submit(c, 1, {});
  EXPECT_EQ(state_of(c, p), program_state::pending);
  EXPECT_EQ(c.core.programs().find(p)->waits_for, "no worker that runs programs is connected");
  EXPECT_TRUE(c.core.programs().find(p)->cannot_start);
}

TEST(programs_and_closures, lost_worker_keeps_its_ranks_until_its_lease_expires) {
  cluster c;
  auto e = with_programs(c, {});
  auto const w = e.stream;
  c.step(std::move(e));
  auto const p = submit(c, 1, {});
  c.step(rank_reports{w, {{{p, 1, 0}, 7}}, {}});
  c.lose(w);
  auto other = with_programs(c, {.host = "other"});
  c.step(std::move(other));
  EXPECT_EQ(state_of(c, p), program_state::running);
  c.advance(59s);
  EXPECT_EQ(c.core.programs().find(p)->attempt, 1u);
}

}  // namespace
}  // namespace muster::core
