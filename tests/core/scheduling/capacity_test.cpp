#include "tests/core/fixture.hpp"

namespace muster::core {
namespace {

session_spec of_capacity(std::size_t n, session_spec s = left_open()) {
  s.queue_capacity = n;
  return s;
}

TEST(capacity, a_full_queue_refuses_all_of_a_batch_with_the_numbers) {
  cluster c;
  auto const job = c.open({"f", "f"}, of_capacity(3));
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f", "f"})}),
            (status{code::resource_exhausted,
                    "job_0000000000000001 has 2 queued closures; the limit is 3"}));
  EXPECT_EQ(c.job(job.id).counts.queued, 2u);
  c.append(job.id, {"f"});
  c.attach();
  c.append(job.id, {"f"});
  EXPECT_EQ(c.job(job.id).counts.queued, 3u) << "running closures take no place in the queue";
}

TEST(capacity, a_batch_larger_than_the_queue_can_never_fit) {
  config small;
  small.queue_capacity = 2;
  cluster c(small);
  status const expected{code::resource_exhausted,
                        "the request has 3 closures, but the queue of a job holds at most 2; "
                        "append them in several requests"};
  EXPECT_EQ(c.status_of(open_session{{}, {}, c.specs({"f", "f", "f"})}), expected);
  auto const job = c.open({"f", "f"}, left_open());
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f", "f", "f"})}), expected);
}

TEST(capacity, session_can_request_its_own_capacity_up_to_a_limit) {
  config small;
  small.queue_capacity = 2;
  small.queue_capacity_max = 4;
  cluster c(small);
  EXPECT_EQ(c.open(names(4, "f"), of_capacity(4)).closures.size(), 4u);
  EXPECT_EQ(c.status_of(open_session{{}, of_capacity(5), {}}),
            wrong_field("queue_capacity", "5, the limit is 4", 4));
}

TEST(capacity, number_of_closures_on_the_server_is_limited) {
  config small;
  small.closures_max = 3;
  cluster c(small);
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  status const expected{code::resource_exhausted,
                        "the server holds 2 closures; the limit is 3 (--closures-max)"};
  EXPECT_EQ(c.status_of(open_session{{}, {}, c.specs({"f", "f"})}), expected);
  c.succeed(w, job[0]);
  c.succeed(w, job[1]);
  EXPECT_EQ(c.status_of(open_session{{}, {}, c.specs({"f", "f"})}), expected)
      << "finished ones are still kept";
  c.ask(delete_session{{}, job.id});
  EXPECT_EQ(c.open({"f", "f", "f"}).closures.size(), 3u) << "up to the limit";
}

TEST(capacity, results_of_unfinished_jobs_beyond_the_limit_stop_new_work) {
  config small;
  small.value_bytes_max = 10;
  cluster c(small);
  auto const w = c.attach();
  auto const job = c.open({"f", "f"}, left_open());
  c.succeed(w, job[0], "12345678901");
  status const expected{
      code::resource_exhausted,
      "results of unfinished jobs use 11 bytes, the limit is 10 (--value-bytes-max)"};
  EXPECT_EQ(c.status_of(schedule{{}, job.id, c.specs({"f"})}), expected);
  EXPECT_EQ(c.status_of(open_session{{}, {}, c.specs({"f"})}), expected);
  auto const s = c.stream();
  c.schedule(s, {"f"});
  EXPECT_TRUE(c.fx().outcomes.empty()) << "streams keep no values and continue";
}

TEST(capacity, full_server_removes_finished_jobs_before_it_rejects_sessions) {
  config small;
  small.sessions_max = 2;
  cluster c(small);
  auto const running = c.open({"f"});
  auto const finished = c.open({});
  auto const next = c.open({"f"});
  EXPECT_FALSE(c.core.sessions().find(finished.id));
  EXPECT_TRUE(c.core.sessions().find(running.id));
  EXPECT_TRUE(c.core.sessions().find(next.id));
  EXPECT_EQ(c.status_of(open_session{{}, {}, {}}),
            (status{code::resource_exhausted,
                    "the server has 2 unfinished jobs, which is the limit (--sessions-max)"}));
}

TEST(capacity, a_stream_that_fills_its_queue_is_held_back_until_a_quarter_is_free) {
  cluster c;
  auto const w = c.attach();
  auto const s = c.stream(of_capacity(8));
  EXPECT_TRUE(c.core.has_room(s));
  c.schedule(s, names(7, "f"));
  EXPECT_TRUE(c.core.has_room(s));
  c.schedule(s, names(2, "f"));  // one runs, eight wait
  EXPECT_FALSE(c.core.has_room(s));
  c.wait(20ms);
  c.succeed(w, c.held(w)[0]);
  EXPECT_FALSE(c.core.has_room(s)) << "seven wait: too early to resume";
  EXPECT_EQ(c.noticed(s), notices{});
  c.succeed(w, c.held(w)[0]);
  EXPECT_TRUE(c.core.has_room(s));
  EXPECT_EQ(c.noticed(s), notices{notice_kind::room});
}

TEST(capacity, a_stream_that_is_cancelled_has_room_again) {
  cluster c;
  auto const s = c.stream(of_capacity(4));
  c.schedule(s, names(4, "f"));
  ASSERT_FALSE(c.core.has_room(s));
  c.ask(cancel_session{{}, s});
  EXPECT_TRUE(c.core.has_room(s));
  EXPECT_EQ(c.noticed(s), (notices{notice_kind::room, notice_kind::drained}));
}

TEST(capacity, queue_with_one_place_closes_and_reopens) {
  cluster c;
  auto const s = c.stream(of_capacity(1));
  c.schedule(s, {"f"});
  EXPECT_FALSE(c.core.has_room(s));
  c.attach();
  EXPECT_TRUE(c.core.has_room(s));
}

TEST(capacity, streams_are_held_back_while_the_server_is_full_and_resume_later) {
  for (std::size_t const most : {16u, 4u}) {
    config small;
    small.closures_max = most;
    cluster c(small);
    auto const w = c.attach({.slots = 20, .credits = 20});
    auto const a = c.stream();
    auto const b = c.stream();
    c.schedule(a, names(most - 1, "f"));
    c.schedule(b, names(1, "f"));
    EXPECT_TRUE(c.core.has_room(a));
    EXPECT_FALSE(c.core.has_room(b));
    c.schedule(a, {"g"});
    EXPECT_FALSE(c.core.has_room(a));
    while (!c.held(w).empty()) c.succeed(w, c.held(w).front());
    EXPECT_TRUE(c.core.has_room(a)) << most;
    EXPECT_TRUE(c.core.has_room(b)) << most;
  }
}

TEST(capacity, stream_resumes_when_one_place_is_free) {
  config small;
  small.closures_max = 16;
  cluster c(small);
  auto const w = c.attach({.slots = 20, .credits = 20});
  auto const job = c.open(names(15, "f"));
  for (auto const id : job.closures) c.succeed(w, id);
  auto const s = c.stream();
  c.schedule(s, {"f"});
  ASSERT_FALSE(c.core.has_room(s));
  c.succeed(w, c.held(w).front());
  EXPECT_TRUE(c.core.has_room(s));
  EXPECT_EQ(c.noticed(s), notices{notice_kind::room});
}

TEST(capacity, unrunnable_closure_does_not_block_its_stream_when_a_place_is_free) {
  config small;
  small.closures_max = 16;
  cluster c(small);
  auto const w = c.attach({.slots = 20, .credits = 20});
  auto const job = c.open(names(14, "f"));
  for (auto const id : job.closures) c.succeed(w, id);
  auto const s = c.stream();
  c.schedule(s, {"nobody_has_it", "f"});
  ASSERT_FALSE(c.core.has_room(s));
  c.succeed(w, c.held(w).front());
  EXPECT_TRUE(c.core.has_room(s));
}

TEST(capacity, closed_stream_is_no_longer_held_back) {
  config small;
  small.closures_max = 3;
  cluster c(small);
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.succeed(w, job[0]);
  c.succeed(w, job[1]);
  auto const stays = c.stream();
  auto const goes = c.stream();
  c.schedule(stays, {"g"});
  c.schedule(goes, {"g", "g"});
  ASSERT_FALSE(c.core.has_room(goes));
  c.step(close_session{goes});  // checks the number of sessions held back
  EXPECT_EQ(c.job(goes).state, job_state::cancelled);
  EXPECT_FALSE(c.core.has_room(stays)) << "the server is still full";
  c.ask(delete_session{{}, job.id});
  EXPECT_TRUE(c.core.has_room(stays));
}

TEST(capacity, an_unknown_session_has_no_room) {
  cluster c;
  EXPECT_FALSE(c.core.has_room(session_id{7}));
}

}  // namespace
}  // namespace muster::core
