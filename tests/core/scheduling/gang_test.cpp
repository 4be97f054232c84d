#include "tests/core/fixture.hpp"

namespace muster::core {
namespace gang_cases {

closure_spec member(cluster& c, std::string gang, closure_options o = {}) {
  auto spec = c.specs({"f"}).front();
  o.gang = std::move(gang);
  spec.extras = std::make_shared<closure_extras>(closure_extras{std::move(o), {}});
  return spec;
}
std::vector<closure_spec> gang(cluster& c, std::size_t size, closure_options const& o = {}) {
  std::vector<closure_spec> all;
  for (std::size_t i = 0; i < size; ++i) all.push_back(member(c, "g", o));
  return all;
}

TEST(gang, starts_when_there_is_an_idle_slot_for_each) {
  cluster c;
  auto const a = c.attach({.slots = 2, .credits = 2});
  auto const job = c.open_with(gang(c, 3));
  EXPECT_TRUE(c.held(a).empty());
  EXPECT_EQ(c.why(job[0]).why, closure_reason::gang_too_large);
  EXPECT_EQ(c.why(job[0]).gang, (gang_wait{"g", 3, 3, false}));
  auto const b = c.attach();
  EXPECT_EQ(c.held(a).size() + c.held(b).size(), 3u);
  EXPECT_EQ(c.job(job.id).counts.running, 3u);
}

TEST(gang, other_closures_run_while_it_waits) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const single = c.open({"f"});
  auto const job = c.open_with(gang(c, 2));
  EXPECT_EQ(c.held(w), closures{single[0]});
  EXPECT_EQ(c.why(job[0]).why, closure_reason::gang_waits);
  EXPECT_EQ(c.why(job[0]).gang, (gang_wait{"g", 2, 2, true}));
  auto const more = c.open({"f"});
  EXPECT_EQ(c.held(w), (closures{single[0], more[0]}));
  c.answer(w, {c.good(w, single[0]), c.good(w, more[0])});
  EXPECT_EQ(c.held(w), (closures{job[0], job[1]}));
}

TEST(gang, workers_are_kept_free_for_a_gang_that_has_waited_long) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const first = c.open({"f", "f"});
  auto const job = c.open_with(gang(c, 2));
  auto const queued = c.open({"f", "f", "f"});
  c.advance(1s);
  c.succeed(w, first[0]);
  EXPECT_EQ(c.held(w), closures{first[1]}) << "the slot stays free";
  c.succeed(w, first[1]);
  EXPECT_EQ(c.held(w), (closures{job[0], job[1]}));
  c.succeed(w, job[0]);
  EXPECT_EQ(c.held(w), (closures{job[1], queued[0]})) << "afterwards everything is as before";
}

TEST(gang, workers_are_kept_free_for_the_oldest_gang_only) {
  cluster c;
  auto const left = c.attach({.slots = 2, .credits = 2, .labels = {{"side", "left"}}});
  auto const right = c.attach({.slots = 2, .credits = 2, .labels = {{"side", "right"}}});
  auto const running = c.open({"f", "f", "f", "f"});
  c.open_with(gang(c, 2, {.labels = {{"side", "left"}}}));
  c.open_with(gang(c, 2, {.labels = {{"side", "right"}}}));
  auto const queued = c.open({"f", "f"});
  c.advance(1s);
  auto const on_left = c.held(left), on_right = c.held(right);
  ASSERT_EQ(on_left.size() + on_right.size(), running.closures.size());
  c.succeed(left, on_left[0]);
  EXPECT_EQ(c.held(left), closures{on_left[1]}) << "kept free for the first gang";
  c.succeed(right, on_right[0]);
  EXPECT_EQ(c.held(right), (closures{on_right[1], queued[0]}));
}

TEST(gang, gang_that_can_never_start_blocks_nothing) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with(gang(c, 2));
  c.advance(5s);
  auto const single = c.open({"f"});
  EXPECT_EQ(c.held(w), closures{single[0]});
  EXPECT_EQ(c.state(job[0]), closure_state::queued);
}

TEST(gang, members_take_resources_together) {
  cluster c;
  closure_options gpu;
  gpu.resources = {{"gpu", 1}};
  auto const a = c.attach({.slots = 4, .credits = 4, .resources = {{"gpu", 1}}});
  c.open_with(gang(c, 2, gpu));
  EXPECT_TRUE(c.held(a).empty());
  auto const b = c.attach({.slots = 4, .credits = 4, .resources = {{"gpu", 1}}});
  EXPECT_EQ(c.held(a).size(), 1u);
  EXPECT_EQ(c.held(b).size(), 1u);
}

TEST(gang, waits_for_delays_and_inputs_of_its_members) {
  cluster c;
  auto const w = c.attach({.slots = 3, .credits = 3});
  auto const job = c.open_with({member(c, "g", {.delay = 5s}), member(c, "g")});
  EXPECT_EQ(c.why(job[1]).why, closure_reason::gang_not_ready);
  EXPECT_EQ(c.why(job[1]).gang.value().size, 2u);
  EXPECT_EQ(c.why(job[1]).gang.value().ready, 1u);
  c.advance(4s);
  EXPECT_TRUE(c.held(w).empty());
  c.advance(1s);
  EXPECT_EQ(c.held(w).size(), 2u);
}

TEST(gang, member_that_ends_before_the_start_cancels_the_others) {
  cluster c;
  c.attach();
  auto const job = c.open_with(gang(c, 3), continue_all());
  EXPECT_TRUE(c.status_of(cancel_closure{{}, job[1]}).ok());
  for (auto const id : job.closures) EXPECT_EQ(c.state(id), closure_state::cancelled);
  EXPECT_NE(c.core.closures().find(job[0])->error->message.find("its gang 'g' cannot start"),
            std::string::npos);
  EXPECT_EQ(c.job(job.id).state, job_state::cancelled);
}

TEST(gang, a_member_that_is_requeued_starts_again_by_itself) {
  cluster c;
  auto const a = c.attach();
  auto const b = c.attach();
  auto const job = c.open_with(gang(c, 2));
  c.lose(b);
  EXPECT_EQ(c.job(job.id).counts.running, 1u);
  c.attach();
  EXPECT_EQ(c.job(job.id).counts.running, 2u);
  EXPECT_EQ(c.held(a).size(), 1u);
}

TEST(gang, a_reserved_worker_that_is_lost_frees_the_others) {
  cluster c;
  auto const a = c.attach();
  auto const b = c.attach();
  auto const first = c.open({"f", "f"});
  c.open_with(gang(c, 2));
  auto const queued = c.open({"f"});
  c.advance(1s);
  c.lose(b);
  c.succeed(a, c.held(a).at(0));
  EXPECT_EQ(c.held(a).size(), 1u) << "one worker cannot run the gang, so other closures run";
}

TEST(gang, names_are_local_to_a_request) {
  cluster c;
  auto const w = c.attach({.slots = 2, .credits = 2});
  auto const one = c.open_with(gang(c, 1));
  auto const other = c.open_with(gang(c, 1));
  EXPECT_EQ(c.held(w), (closures{one[0], other[0]})) << "two gangs of one, not one of two";
}

TEST(gang, gang_that_would_wait_for_itself_is_rejected) {
  cluster c;
  auto const needing = [&](std::string name, std::uint32_t position) {
    auto spec = member(c, std::move(name));
    auto x = *spec.extras;
    x.inputs = {{{}, position, 0}};
    spec.extras = std::make_shared<closure_extras>(std::move(x));
    return spec;
  };
  auto const refused = [&](std::vector<closure_spec> specs) {
    return c.status_of(open_session{{}, {}, std::move(specs)}).code == code::invalid_argument;
  };
  EXPECT_TRUE(refused({member(c, "a"), needing("a", 0)}));
  EXPECT_TRUE(refused({member(c, "a"), needing("", 0), needing("a", 1)}));
  EXPECT_TRUE(refused({member(c, "a"), member(c, "b"), needing("a", 1), needing("b", 0)}));
  EXPECT_FALSE(refused({member(c, "a"), member(c, "a"), needing("b", 0), needing("b", 1)}));
}

TEST(gang, invalid_gangs_are_rejected) {
  cluster c;
  EXPECT_EQ(
      c.status_of(open_session{{}, {}, gang(c, 1'025)}),
      wrong_field("closures[1024].options.gang", "more than 1024 closures in one gang", 1024));
  EXPECT_EQ(c.status_of(open_session{{}, {}, {member(c, std::string(257, 'x'))}}),
            wrong_field("closures[0].options.gang", "257 bytes, the limit is 256", 256));
}

TEST(gang, is_not_formed_again_when_its_tokens_are_repeated) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.open({}, resumable_values()).id;
  auto const schedule = [&](std::size_t size = 2) {
    auto all = gang(c, size);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].token = i + 1;
    c.step(core::schedule{{}, s, std::move(all)});
  };
  schedule();
  schedule();
  EXPECT_TRUE(c.held(w).empty());
  c.attach();
  EXPECT_EQ(c.job(s).counts.running, 2u);
  schedule();
  EXPECT_EQ(c.job(s).counts.running + c.job(s).counts.queued, 2u);
  c.attach();
  schedule(3);
  EXPECT_EQ(c.job(s).counts.running, 3u) << "the new gang waits for no previous member";
}

}  // namespace gang_cases
}  // namespace muster::core
