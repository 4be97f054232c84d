#include "client/worker/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <semaphore>

#include "client/worker/held_closures.hpp"

namespace muster {
namespace {

std::shared_ptr<job> make_job(registered_function const& f, std::uint64_t closure = 1) {
  auto j = std::make_shared<job>();
  j->closure = closure;
  j->attempt = 1;
  j->function = &f;
  j->worker = std::make_shared<worker_identity const>();
  j->args.bytes = "[]";
  return j;
}

struct running_executor {
  explicit running_executor(std::uint32_t threads)
      : e(
            threads, [this] { woken.release(); }, reports) {}
  ~running_executor() { e.stop(); }
  std::vector<std::shared_ptr<job>> wait_for(std::size_t count) {
    std::vector<std::shared_ptr<job>> all;
    while (all.size() < count) {
      if (!woken.try_acquire_for(std::chrono::seconds(10))) break;
      std::vector<std::shared_ptr<job>> some;
      e.take_finished(some);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  std::counting_semaphore<> woken{0};
  report_buffer reports{[] {}};
  executor e;
};

TEST(executor, runs_as_many_at_once_as_it_has_threads) {
  std::latch all_here(3);
  registered_function const f{
      "f", [&](context&, value_view, value&) { all_here.arrive_and_wait(); }, false};
  running_executor r(3);
  std::vector<std::shared_ptr<job>> const jobs{make_job(f), make_job(f), make_job(f)};
  r.e.push(jobs);
  EXPECT_EQ(r.wait_for(3).size(), 3u);
}

TEST(executor, runs_other_calls_while_calls_wait) {
  std::binary_semaphore begun(0), comes(0);
  registered_function const waits{"w",
                                  [&](context&, value_view, value&) {
                                    detail::value_wait const here;
                                    begun.release();
                                    comes.acquire();
                                  },
                                  false};
  registered_function const makes{"m", [&](context&, value_view, value&) { comes.release(); },
                                  false};
  running_executor r(1);
  held_closures held;
  std::vector<std::shared_ptr<job>> const jobs{make_job(waits, 1), make_job(waits, 2),
                                               make_job(makes, 3)};
  for (auto const& j : jobs) held.add(j);
  r.e.push(std::span(jobs).first(1));
  begun.acquire();
  std::vector<std::pair<std::uint64_t, bool>> told;
  auto const tell = [&](std::chrono::steady_clock::duration later, std::size_t most) {
    held.report_waits(std::chrono::steady_clock::now() + later, most,
                      [&](job const& j, bool w) { told.emplace_back(j.closure, w); });
    r.e.set_waiting(held.waiting());
  };
  tell({}, 1);
  EXPECT_TRUE(told.empty()) << "the job keeps its slot for a while";
  tell(held_closures::slot_kept, 0);
  EXPECT_TRUE(told.empty()) << "the server grants no releases";
  tell(held_closures::slot_kept, 1);
  EXPECT_EQ(told, (std::vector{std::pair(std::uint64_t{1}, true)}));
  r.e.push(std::span(jobs).subspan(1, 1));
  begun.acquire();
  tell(held_closures::slot_kept, 1);
  EXPECT_EQ(told.size(), 1u) << "at most as many as are granted";
  tell(held_closures::slot_kept, 2);
  EXPECT_EQ(held.waiting(), 2u);
  r.e.push(std::span(jobs).subspan(2, 1));
  EXPECT_EQ(r.wait_for(2).size(), 2u);
  tell({}, 2);
  EXPECT_EQ(held.waiting(), 1u);
  comes.release();
  r.wait_for(1);
  told.clear();
  tell({}, 2);
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(held.waiting(), 0u);
}

TEST(executor, is_woken_once_for_many_finished_jobs) {
  registered_function const f{"f", [](context&, value_view, value&) {}, false};
  std::atomic<int> wakes = 0;
  std::binary_semaphore last_done(0);
  registered_function const last{"l", [&](context&, value_view, value&) { last_done.release(); },
                                 false};
  report_buffer reports([] {});
  executor e(
      1, [&] { ++wakes; }, reports);
  std::vector<std::shared_ptr<job>> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(make_job(f));
  jobs.push_back(make_job(last));
  e.push(jobs);
  last_done.acquire();
  EXPECT_EQ(wakes, 1);
  e.stop();
}

TEST(executor, skips_jobs_that_were_dropped) {
  std::atomic<int> calls = 0;
  registered_function const f{"f", [&](context&, value_view, value&) { ++calls; }, false};
  running_executor r(1);
  auto const dropped = make_job(f);
  dropped->state = job::phase::dropped;
  std::vector<std::shared_ptr<job>> const jobs{dropped, make_job(f)};
  r.e.push(jobs);
  EXPECT_EQ(r.wait_for(1).size(), 1u);
  EXPECT_EQ(calls, 1);
}

TEST(held_closures, stop_drops_queued_closures_and_asks_running_ones_to_stop) {
  registered_function const f{"f", {}, false};
  held_closures held;
  auto const queued = make_job(f, 1);
  auto const running = make_job(f, 2);
  running->state = job::phase::running;
  EXPECT_TRUE(held.add(queued));
  EXPECT_TRUE(held.add(running));
  EXPECT_FALSE(held.add(make_job(f, 2)));
  EXPECT_TRUE(held.stop(1, 1));
  EXPECT_FALSE(held.stop(1, 1));
  EXPECT_FALSE(held.stop(2, 9));
  EXPECT_FALSE(running->stop.stop_requested());
  EXPECT_FALSE(held.stop(2, 1));
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_TRUE(held.holds(*running));
  held.answered(*running, {}, 0);
  EXPECT_FALSE(held.holds(*running));
  EXPECT_TRUE(held.empty());
}

TEST(held_closures, only_queued_closures_are_returned) {
  registered_function const f{"f", {}, false};
  held_closures held;
  auto const running = make_job(f, 2);
  running->state = job::phase::running;
  held.add(make_job(f, 1));
  held.add(running);
  EXPECT_FALSE(held.give_back(1, 9));
  EXPECT_TRUE(held.give_back(1, 1));
  EXPECT_FALSE(held.give_back(1, 1));
  EXPECT_FALSE(held.give_back(2, 1));
  EXPECT_FALSE(running->stop.stop_requested());
  EXPECT_TRUE(held.holds(*running));
}

TEST(held_closures, long_running_closures_are_reported_once) {
  registered_function const f{"f", {}, false};
  held_closures held;
  held_closures::clock::time_point const began{std::chrono::hours(1)};
  held.add(make_job(f, 1));  // not started
  for (std::uint64_t const closure : {2, 3}) {
    auto const j = make_job(f, closure);
    j->began = began;
    j->finished = closure == 3;  // its answer reports the times
    held.add(j);
  }
  std::vector<std::pair<std::uint64_t, held_closures::clock::duration>> told;
  auto const tell = [&](job const& j, auto ran) { told.emplace_back(j.closure, ran); };
  using std::chrono::milliseconds;
  held.report_started(began + milliseconds(19), tell);
  EXPECT_TRUE(told.empty());
  held.report_started(began + milliseconds(20), tell);
  held.report_started(began + milliseconds(50), tell);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].first, 2u);
  EXPECT_EQ(told[0].second, milliseconds(20));
}

struct held_closures_after_reconnect : testing::Test {
  registered_function const f{"f", {}, false};
  held_closures held;
  held_closures::clock::time_point const now{std::chrono::hours(1)};

  std::shared_ptr<job> add(std::uint64_t closure, bool running, bool finished = false) {
    auto j = make_job(f, closure);
    if (running) j->state = job::phase::running;
    j->finished = finished;
    j->took = std::chrono::seconds(1);
    held.add(j);
    return j;
  }
  std::vector<std::uint32_t> all(std::size_t n) {
    std::vector<std::uint32_t> positions;
    for (std::uint32_t i = 0; i < n; ++i) positions.push_back(i);
    return positions;
  }
};

TEST_F(held_closures_after_reconnect, only_started_closures_are_offered) {
  add(1, false);
  auto const running = add(2, true);
  held.drop_unstarted();
  EXPECT_EQ(held.offer(now), std::vector{running});
}

TEST_F(held_closures_after_reconnect, unkept_closure_is_stopped_and_its_result_dropped) {
  auto const running = add(2, true);
  auto const offered = held.offer(now);
  EXPECT_TRUE(held.settle(offered, {}, false).empty());
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_FALSE(held.holds(*running));
}

TEST_F(held_closures_after_reconnect, closures_that_finished_during_the_break_are_answered) {
  auto const running = add(1, true);
  auto const done = add(2, true);
  auto const offered = held.offer(now);
  done->finished = true;
  auto const kept = all(2);
  EXPECT_EQ(held.settle(offered, kept, false), std::vector{done});
  EXPECT_TRUE(held.holds(*running));
  EXPECT_FALSE(running->stop.stop_requested());
}

TEST_F(held_closures_after_reconnect, answer_that_may_be_lost_is_offered_again) {
  auto const done = add(1, true, true);
  held.answered(*done, now, 0);
  EXPECT_TRUE(held.empty());
  auto const offered = held.offer(now + std::chrono::seconds(59));
  ASSERT_EQ(offered, std::vector{done});
  EXPECT_EQ(held.settle(offered, all(1), false), std::vector{done});
  EXPECT_TRUE(held.holds(*done));
}

TEST_F(held_closures_after_reconnect, answers_of_long_calls_are_kept_for_a_limited_time) {
  auto const quick = add(1, true, true);
  quick->took = std::chrono::milliseconds(99);
  held.answered(*quick, now, 0);
  auto const slow = add(2, true, true);
  held.answered(*slow, now, 0);
  EXPECT_EQ(held.offer(now).size(), 1u);
  EXPECT_TRUE(held.offer(now + std::chrono::seconds(60)).empty());
}

TEST_F(held_closures_after_reconnect, kept_answers_are_limited_by_number_and_bytes) {
  for (std::uint64_t i = 1; i <= held_closures::answers_max + 6; ++i) {
    auto const j = add(i, true, true);
    j->result.bytes = "1";
    held.answered(*j, now, 0);
  }
  auto const kept = held.offer(now);
  ASSERT_EQ(kept.size(), held_closures::answers_max);
  EXPECT_EQ(kept.front()->closure, 7u) << "the oldest answer was dropped first";
  auto const large = add(10'000, true, true);
  large->result.bytes.resize(held_closures::answer_bytes_max);
  held.answered(*large, now, 0);
  EXPECT_EQ(held.offer(now), std::vector{large});
  auto const too_large = add(10'001, true, true);
  too_large->result.bytes.resize(held_closures::answer_bytes_max + 1);
  held.answered(*too_large, now, 0);
  EXPECT_EQ(held.offer(now), std::vector{large});
}

TEST(held_closures, drop_all_asks_running_closures_to_stop) {
  registered_function const f{"f", {}, false};
  held_closures held;
  auto const running = make_job(f, 2);
  running->state = job::phase::running;
  held.add(make_job(f, 1));
  held.add(running);
  held.drop_all();
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_FALSE(held.holds(*running));
}

}  // namespace
}  // namespace muster
