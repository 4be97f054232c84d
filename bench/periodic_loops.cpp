// Cost of a periodic loop on the engine's timer queue, in three forms: a coroutine that awaits a
// timer, a callback that restarts its timer, and an entry of a heap with a single timer.
// Prints bytes per loop and CPU time per wake-up, for docs/engine.md.
//
//   bench_periodic_loops [LOOPS [SECONDS]]
#include <grpcpp/grpcpp.h>
#include <malloc.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "coro/engine_context.hpp"
#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"

namespace {

using namespace muster::coro;
using clock_type = timer::clock;

constexpr auto period = std::chrono::milliseconds(20);

double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto const in_seconds = [](timeval const& t) {
    return double(t.tv_sec) + 1e-6 * double(t.tv_usec);
  };
  return in_seconds(u.ru_utime) + in_seconds(u.ru_stime);
}

struct counts {
  std::uint64_t wakes = 0;
  bool over = false;
};

/// The first wake-ups are spread over one period.
clock_type::time_point first_of(int loop) {
  return clock_type::now() + period * (loop % 100) / 100;
}

task<void> run_loop(engine_context& engine, counts& n, int loop) {
  timer t(engine);
  for (auto next = first_of(loop); !n.over; next += period) {
    bool const came = co_await t.wait_until(next);
    if (!came) break;
    ++n.wakes;
  }
}

class callback_loop {
 public:
  callback_loop(engine_context& engine, counts& n, int loop)
      : counts_(n), timer_(engine), next_(first_of(loop)) {
    wait();
  }

 private:
  void wait() {
    timer_.call_at(next_, [this] {
      if (counts_.over) return;
      next_ += period;
      ++counts_.wakes;
      wait();
    });
  }

  counts& counts_;
  timer timer_;
  clock_type::time_point next_;
};

class heap_of_loops {
 public:
  heap_of_loops(engine_context& engine, counts& n, int loops) : counts_(n), timer_(engine) {
    for (int i = 0; i < loops; ++i) due_.emplace(first_of(i), i);
    wait();
  }

 private:
  void wait() {
    timer_.call_at(due_.begin()->first, [this] {
      if (counts_.over) return;
      for (auto const now = clock_type::now(); due_.begin()->first <= now;) {
        auto loop = due_.extract(due_.begin());
        loop.key() += period;
        due_.insert(std::move(loop));
        ++counts_.wakes;
      }
      wait();
    });
  }

  counts& counts_;
  timer timer_;
  std::multimap<clock_type::time_point, int> due_;
};

/// Runs `begin` on its own engine, and measures for `time` after a second to settle.
template <class Begin>
void measure(char const* name, int loops, std::chrono::seconds time, Begin begin) {
  engine_context engine(std::make_unique<grpc::CompletionQueue>());
  task_group group(engine.get_executor(), std::size_t(loops), [](auto, auto) {});
  counts n;
  std::shared_ptr<void> kept;
  timer clock(engine);
  std::size_t bytes = 0;
  double cpu = 0;
  std::uint64_t wakes = 0;
  auto const end = [&] {
    std::printf("%-10s %7.0f bytes a loop %7.0f ns a wake-up %9.0f wake-ups/s\n", name,
                double(bytes) / loops, 1e9 * (cpu_seconds() - cpu) / double(n.wakes - wakes),
                double(n.wakes - wakes) / double(time.count()));
    n.over = true;
    kept.reset();
    engine.close();
  };
  engine.post([&] {
    auto const before = mallinfo2().uordblks;
    kept = begin(engine, group, n);
    bytes = mallinfo2().uordblks - before;
    clock.call_at(clock_type::now() + std::chrono::seconds(1), [&] {
      cpu = cpu_seconds(), wakes = n.wakes;
      clock.call_at(clock_type::now() + time, end);
    });
  });
  engine.run();
}

}  // namespace

int main(int argc, char** argv) {
  int const loops = argc > 1 ? std::atoi(argv[1]) : 10'000;
  auto const time = std::chrono::seconds(argc > 2 ? std::atoi(argv[2]) : 4);
  measure("coroutine", loops, time, [&](auto& engine, auto& group, auto& n) {
    for (int i = 0; i < loops; ++i) group.spawn("loop", run_loop(engine, n, i));
    return std::shared_ptr<void>();
  });
  measure("callback", loops, time, [&](auto& engine, auto&, auto& n) {
    auto all = std::make_shared<std::deque<callback_loop>>();
    for (int i = 0; i < loops; ++i) all->emplace_back(engine, n, i);
    return std::shared_ptr<void>(all);
  });
  measure("heap", loops, time, [&](auto& engine, auto&, auto& n) {
    return std::shared_ptr<void>(std::make_shared<heap_of_loops>(engine, n, loops));
  });
}
