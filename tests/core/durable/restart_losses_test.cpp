#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

config durable() {
  config c;
  c.durable = true;
  return c;
}
session_spec unlimited(session_spec s) {
  s.unlimited_worker_failures = true;
  return s;
}

/// A server and its successor, which starts from the stored facts.
struct restart_losses : testing::Test {
  cluster before{durable(), cluster::loss_pauses::as_configured};
  restored_job known;

  void collect() {
    for (auto const& said : before.fx().facts) {
      if (auto const* j = std::get_if<job_fact>(&said)) known.job = *j;
      if (auto const* a = std::get_if<accepted_fact>(&said)) known.accepted.push_back(*a);
      if (auto const* c = std::get_if<closure_fact>(&said)) {
        std::erase_if(known.closures, [&](auto const& k) { return k.order == c->order; });
        known.closures.push_back(*c);
      }
    }
  }
  opened open(names const& functions) {
    auto job = before.open(functions, unlimited(continue_all()));
    collect();
    return job;
  }
  void lose(stream_id w) {
    before.lose(w);
    collect();
  }
  /// Starts the next server `later` after the last step.
  std::unique_ptr<cluster> restart(duration later = {}) {
    auto next = std::make_unique<cluster>(durable(), cluster::loss_pauses::as_configured);
    next->wide.first_generation = before.wide.first_generation + (1u << 20);
    next->wait(before.now() - start + later);
    restore_jobs e;
    e.jobs.push_back(known);
    next->restore(std::move(e));
    return next;
  }
};

TEST_F(restart_losses, closure_waits_for_the_rest_of_its_pause) {
  auto const job = open({"f"});
  lose(before.attach());
  before.advance(100ms);
  lose(before.attach());
  auto const after = restart(50ms);
  auto const w = after->attach();
  EXPECT_TRUE(after->held(w).empty()) << "the second pause lasts 200 ms";
  EXPECT_EQ(after->why(job[0]).why, closure_reason::pause);
  EXPECT_EQ(after->why(job[0]).starts_in, 150ms);
  after->advance(149ms);
  EXPECT_TRUE(after->held(w).empty());
  after->advance(1ms);
  EXPECT_EQ(after->held(w), job.closures);
}

// The old server's clock was an hour ahead.
TEST_F(restart_losses, pause_is_no_longer_after_the_clock_was_set_back) {
  auto const job = open({"f"});
  before.advance(1h);
  lose(before.attach());
  auto const after = restart(-1h);
  auto const w = after->attach();
  EXPECT_EQ(after->why(job[0]).starts_in, 100ms);
  after->advance(100ms);
  EXPECT_EQ(after->held(w), job.closures);
}

TEST_F(restart_losses, deadline_of_a_job_is_no_later_after_the_clock_was_set_back) {
  before.advance(1h);
  auto spec = continue_all();
  spec.deadline = 10s;
  auto const job = before.open({"f"}, spec);
  collect();
  auto const after = restart(-1h);
  after->advance(10s);
  EXPECT_EQ(after->job(job.id).state, job_state::failed);
}

TEST_F(restart_losses, closure_whose_pause_is_over_starts_at_once) {
  auto const job = open({"f"});
  lose(before.attach());
  auto const after = restart(1s);
  EXPECT_EQ(after->held(after->attach()), job.closures);
}

TEST_F(restart_losses, retry_of_a_failed_function_waits_for_the_rest_of_its_pause) {
  closure_options o;
  o.max_retries = 3;
  o.retry_initial = o.retry_max = 8s;
  auto work = before.specs({"f"});
  work[0].extras = std::make_shared<closure_extras>(closure_extras{o, {}});
  auto const job = before.open_with(std::move(work), continue_all());
  collect();
  auto const w = before.attach();
  before.fail(w, job[0]);
  collect();
  auto const left = before.why(job[0]).starts_in;
  ASSERT_GT(left, 6s - 1ms);
  auto const after = restart(1s);
  auto const next = after->attach();
  EXPECT_EQ(after->why(job[0]).starts_in, left - 1s);
  after->advance(left - 1s);
  EXPECT_EQ(after->held(next), job.closures);
}

TEST_F(restart_losses, started_members_of_a_gang_do_not_wait_for_each_other) {
  closure_options o;
  o.gang = "g";
  auto work = before.specs(names(2, "f"));
  for (auto& member : work) member.extras = std::make_shared<closure_extras>(closure_extras{o, {}});
  auto const job = before.open_with(std::move(work), unlimited(continue_all()));
  collect();
  lose(before.attach({.slots = 2, .credits = 4}));
  auto const after = restart(1s);
  EXPECT_EQ(after->held(after->attach({.slots = 1, .credits = 1})), closures{job[0]})
      << "one slot is enough for a member that has started before";
}

TEST_F(restart_losses, exclusive_closure_stays_exclusive) {
  auto const job = open({"f"});
  for (int i = 0; i < 3; ++i) {
    before.advance(1s);
    lose(before.attach());
  }
  auto const after = restart(1s);
  EXPECT_TRUE(after->core.closures().find(job[0])->exclusive);
  auto const others = after->open(names(3, "f"));
  auto const w = after->attach({.slots = 2, .credits = 4});
  EXPECT_EQ(after->held(w), job.closures);
  after->succeed(w, job[0]);
  EXPECT_EQ(after->held(w), (closures{others[0], others[1], others[2]}));
}

TEST_F(restart_losses, running_exclusive_closure_stays_alone_on_its_worker) {
  auto const job = open({"f"});
  for (int i = 0; i < 3; ++i) {
    before.advance(1s);
    lose(before.attach());
  }
  before.advance(1s);
  joining const same{.slots = 2, .credits = 4, .index = 9, .incarnation = 42};
  auto const w = before.attach(same);
  ASSERT_EQ(before.held(w), job.closures);
  before.advance(2s);
  before.alive(w);
  collect();
  auto const after = restart();
  auto const others = after->open(names(2, "f"));
  auto arrival = after->arrival(same);
  arrival.held.push_back({job[0], 4});
  auto const back = arrival.stream;
  after->step(std::move(arrival));
  EXPECT_EQ(after->held(back), job.closures);
  after->succeed(back, job[0]);
  EXPECT_EQ(after->held(back), others.closures);
}

TEST_F(restart_losses, exclusive_last_attempt_of_a_closure_that_shared_its_worker_is_kept) {
  auto spec = continue_all();
  spec.max_worker_failures = 2;
  auto const job = before.open({"f", "f"}, spec);
  collect();
  lose(before.attach({.slots = 2, .credits = 2}));
  auto const after = restart(1s);
  auto const w = after->attach({.slots = 2, .credits = 2});
  EXPECT_EQ(after->held(w).size(), 1u);
  for (auto const id : job.closures) EXPECT_TRUE(after->core.closures().find(id)->exclusive);
}

TEST_F(restart_losses, only_a_job_that_had_started_is_running_after_a_restart) {
  auto const job = open({"f"});
  EXPECT_EQ(restart()->job(job.id).state, job_state::queued);
  lose(before.attach());
  EXPECT_EQ(restart()->job(job.id).state, job_state::running);
}

}  // namespace
}  // namespace muster::core
