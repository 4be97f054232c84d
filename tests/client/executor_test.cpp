#include "client/executor.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <semaphore>

#include "client/held_closures.hpp"

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
  // Waits for `count` finished jobs.
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

TEST(executor, wakes_once_for_many_finished_jobs) {
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

TEST(held_closures, stop_drops_what_has_not_started_and_asks_what_runs) {
  registered_function const f{"f", {}, false};
  held_closures held;
  auto const queued = make_job(f, 1);
  auto const running = make_job(f, 2);
  running->state = job::phase::running;
  EXPECT_TRUE(held.add(queued));
  EXPECT_TRUE(held.add(running));
  EXPECT_FALSE(held.add(make_job(f, 2)));
  EXPECT_EQ(held.stop(1, 1), held_closures::stopped::dropped);
  EXPECT_EQ(held.stop(1, 1), held_closures::stopped::unknown);
  EXPECT_EQ(held.stop(2, 9), held_closures::stopped::unknown);
  EXPECT_EQ(held.stop(2, 1), held_closures::stopped::asked);
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_TRUE(held.remove(*running));
  EXPECT_FALSE(held.remove(*running));
  EXPECT_TRUE(held.empty());
}

TEST(held_closures, drop_all_asks_everything_to_stop) {
  registered_function const f{"f", {}, false};
  held_closures held;
  auto const running = make_job(f, 2);
  running->state = job::phase::running;
  held.add(make_job(f, 1));
  held.add(running);
  held.drop_all();
  EXPECT_TRUE(held.empty());
  EXPECT_TRUE(running->stop.stop_requested());
  EXPECT_FALSE(held.remove(*running));
}

}  // namespace
}  // namespace muster
