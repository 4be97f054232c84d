#include "tests/core/fixture.hpp"

namespace muster::core {
namespace last_words_cases {

config durable() {
  config c;
  c.durable = true;
  return c;
}

template <class Kind>
std::vector<Kind> said(cluster const& c) {
  std::vector<Kind> all;
  for (auto const& f : c.fx().facts)
    if (auto const* one = std::get_if<Kind>(&f)) all.push_back(*one);
  return all;
}

TEST(durable_records, object_changed_twice_in_a_step_gives_one_fact) {
  cluster c(durable());
  auto const w = c.attach({});
  auto const job = c.open({"f", "f", "f"});
  c.fail(w, job[0]);
  ASSERT_EQ(said<job_fact>(c).size(), 1u);
  EXPECT_EQ(said<job_fact>(c)[0].state, job_state::failed);
  auto const ended = said<closure_fact>(c);
  ASSERT_EQ(ended.size(), 3u);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(ended[i].order, i);
  EXPECT_EQ(ended[0].state, closure_state::failed);
  EXPECT_EQ(ended[2].state, closure_state::cancelled);
  EXPECT_EQ(c.fx().facts.size(), 4u);
}

TEST(durable_records, sessions_that_are_not_durable_give_no_facts) {
  cluster c(durable());
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto spec = resumable_values(continue_all());
  spec.durable = false;
  auto const s = c.open({}, spec).id;
  EXPECT_TRUE(c.fx().facts.empty());
  auto const tokens = c.schedule(s, {"f", "f"});
  EXPECT_TRUE(c.fx().facts.empty());
  auto const of = [&](std::size_t i) { return c.core.closure_of(s, tokens[i]); };
  c.step(release_values{{}, s, {tokens[1]}, {}});
  EXPECT_TRUE(c.fx().facts.empty());
  c.succeed(w, of(0));
  EXPECT_TRUE(c.fx().facts.empty());
  c.lose(w);
  EXPECT_TRUE(c.fx().facts.empty());
  c.step(close_session{s});
  EXPECT_TRUE(c.fx().facts.empty());
  auto const stream = c.stream();
  c.schedule(stream, {"f"});
  EXPECT_TRUE(c.fx().facts.empty());
}

TEST(durable_records, session_fact_names_the_last_client) {
  cluster c(durable());
  auto const s = c.open({}, resumable_values()).id;
  c.step(suspend_session{s});
  c.ask(resume_session{{}, s, {}, {}, "ipv4:10.0.0.8:4711"});
  ASSERT_EQ(said<job_fact>(c).size(), 1u);
  EXPECT_EQ(said<job_fact>(c)[0].client, "ipv4:10.0.0.8:4711");
}

TEST(durable_records, fact_of_a_running_closure_records_its_release) {
  cluster c(durable());
  auto const w = c.attach({});
  auto const s = c.open({}, resumable_values()).id;
  auto const tokens = c.schedule(s, {"f"});
  auto const id = c.core.closure_of(s, tokens[0]);
  c.step(release_values{{}, s, tokens, {}});
  ASSERT_EQ(said<closure_fact>(c).size(), 1u);
  EXPECT_TRUE(said<closure_fact>(c)[0].released);
  c.succeed(w, id);
  ASSERT_EQ(said<closure_fact>(c).size(), 1u);
  EXPECT_TRUE(said<closure_fact>(c)[0].value.view().empty());
  c.step(release_values{{}, s, tokens, {}});
  EXPECT_EQ(said<request_removed>(c), (std::vector{request_removed{s, 0, 1}}));
  EXPECT_TRUE(said<closure_removed>(c).empty()) << "its request contains it";
}

TEST(durable_records, losses_of_a_stopping_server_give_no_facts) {
  cluster c(durable());
  auto const w = c.attach({});
  c.open({"f"});
  c.step(stop{});
  c.lose(w);
  EXPECT_TRUE(c.fx().facts.empty());
}

}  // namespace last_words_cases
}  // namespace muster::core
