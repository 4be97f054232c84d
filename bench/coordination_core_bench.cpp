// How much does the coordination core cost by itself, and does the cost of a call depend on the
// number of tasks? Argument: tasks. No I/O; time is a counter.
#include <benchmark/benchmark.h>

#include <string>

#include "server/core/coordination/clusters.hpp"

namespace {

using namespace muster::core;
using namespace muster::core::coordination;

struct bench_agents {
  explicit bench_agents(std::int64_t count) : tasks(static_cast<task_index>(count)), all({}, 1) {
    cluster_spec spec;
    spec.jobs = {{"worker", tasks, false}};
    spec.heartbeat_timeout = std::chrono::hours(24);
    id = all.step(now(), create_cluster{spec}).cluster;
    for (task_index t = 0; t < tasks; ++t) everybody.push_back({t, {}});
  }

  time_point now() { return time_point(std::chrono::microseconds(++clock)); }
  template <class Request>
  effects& ask(Request r) {
    r.from.call = call_id{++last_call};
    cluster_call any{id, std::move(r)};
    return all.step(now(), any);
  }
  void enlist() {
    for (task_index t = 0; t < tasks; ++t) {
      register_task r;
      r.task = {t, {}};
      r.incarnation = incarnation{++last_incarnation};
      r.peer = "10.0.0.1:" + std::to_string(t);
      benchmark::DoNotOptimize(ask(std::move(r)));
    }
  }
  void meet(std::string const& name, std::int64_t counter, bool explicitly) {
    for (task_index t = 0; t < tasks; ++t) {
      enter_barrier r;
      r.id = name;
      r.counter = counter;
      r.timeout = std::chrono::hours(1);
      r.task = {t, {}};
      if (explicitly) {
        r.participants = everybody;
        r.participants.pop_back();  // differs from the default, all tasks
        if (t + 1 == tasks) return;
      }
      benchmark::DoNotOptimize(ask(std::move(r)));
    }
  }
  service const& current() const { return all.current(id); }

  task_index tasks;
  std::int64_t clock = 1'000'000;
  std::uint64_t last_call = 0, last_incarnation = 0;
  clusters all;
  cluster_id id{};
  std::vector<task_ref> everybody;
};

void per_agent(benchmark::State& state) {
  auto const n = static_cast<double>(state.iterations()) * static_cast<double>(state.range(0));
  state.counters["ns_per_agent"] =
      benchmark::Counter(n * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void register_and_leave(benchmark::State& state) {
  bench_agents agents(state.range(0));
  for (auto _ : state) {
    agents.enlist();
    for (task_index t = 0; t < agents.tasks; ++t)
      benchmark::DoNotOptimize(agents.ask(shutdown_task{{}, {t, {}}}));
  }
  per_agent(state);
}

void heartbeats(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (auto _ : state)
    for (task_index t = 0; t < agents.tasks; ++t)
      benchmark::DoNotOptimize(agents.ask(heartbeat{{}, {t, {}}, incarnation{t + 1}}));
  per_agent(state);
}

void barrier_of_all(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  std::int64_t counter = 0;
  for (auto _ : state) agents.meet("b", counter++, false);
  per_agent(state);
}

// Each call lists its participants, so the request itself is O(n).
void barrier_with_lists(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  std::int64_t counter = 0;
  for (auto _ : state) agents.meet("b", counter++, true);
  per_agent(state);
}

void alive_tasks_of_all(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (auto _ : state)
    for (task_index t = 0; t < agents.tasks; ++t)
      benchmark::DoNotOptimize(agents.ask(get_alive_tasks{{}, {t, {}}, agents.everybody}));
  per_agent(state);
}

// All tasks wait for one key, and cancel one by one.
void key_waits_that_vanish(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (auto _ : state) {
    auto const first = agents.last_call + 1;
    for (task_index t = 0; t < agents.tasks; ++t)
      agents.ask(get_key_value{{}, "k", true, incarnation{t + 1}, {}});
    for (auto c = first; c <= agents.last_call; ++c)
      benchmark::DoNotOptimize(
          agents.all.step(agents.now(), coordination::call_abandoned{agents.id, call_id{c}}));
  }
  per_agent(state);
}

// All tasks wait for a key with the same deadline. Each gets a list of the tasks that are not
// connected.
void key_waits_that_end_early(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (auto _ : state) {
    caller from;
    from.deadline = agents.now() + std::chrono::milliseconds(500);
    for (task_index t = 0; t < agents.tasks; ++t)
      agents.ask(get_key_value{from, "k", true, incarnation{t + 1}, {}});
    agents.clock += 500'000;
    benchmark::DoNotOptimize(agents.all.step(agents.now(), tick{}));
  }
  per_agent(state);
}

// All tasks except one wait at a barrier with the same deadline. Each gets a list of the missing
// tasks.
void barrier_that_ends_early(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (auto _ : state) {
    caller from;
    from.deadline = agents.now() + std::chrono::milliseconds(500);
    for (task_index t = 0; t + 1 < agents.tasks; ++t)
      agents.ask(enter_barrier{from, "b", 0, std::chrono::hours(1), {t, {}}, {}});
    agents.clock += 500'000;
    benchmark::DoNotOptimize(agents.all.step(agents.now(), tick{}));
  }
  per_agent(state);
}

// All tasks poll, watch and wait at barriers of two. Then one fails.
void one_fails(benchmark::State& state) {
  bench_agents agents(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    agents.enlist();
    for (task_index t = 1; t < agents.tasks; ++t) {
      agents.ask(poll_for_error{{}, {t, {}}});
      agents.ask(enter_barrier{{},
                               "pair" + std::to_string(t / 2),
                               0,
                               std::chrono::hours(1),
                               {t, {}},
                               {{t, {}}, {(t + agents.tasks / 2) % agents.tasks, {}}}});
    }
    auto const version = std::get<std::shared_ptr<task_states const>>(
                             agents.ask(watch_tasks{{}, {}, -1, true}).replies.at(0).body)
                             ->version;
    for (task_index t = 1; t < agents.tasks; ++t) agents.ask(watch_tasks{{}, {}, version, false});
    state.ResumeTiming();
    agents.ask(report_error{{}, {0, {}}, muster::code::internal, "boom"});
    agents.clock += 5'000;
    benchmark::DoNotOptimize(agents.all.step(agents.now(), tick{}));
  }
  per_agent(state);
}

// The views that the dashboard requests twice a second, while all tasks wait at a barrier and for a
// key.
void views_of_all(benchmark::State& state) {
  bench_agents agents(state.range(0));
  agents.enlist();
  for (task_index t = 0; t + 1 < agents.tasks; ++t) {
    agents.ask(enter_barrier{{}, "b", 0, std::chrono::hours(1), {t, {}}, {}});
    agents.ask(get_key_value{{}, "k", true, incarnation{t + 1}, {}});
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(agents.current().views().tasks(agents.now(), 0, 100'000));
    benchmark::DoNotOptimize(agents.current().view(agents.now()));
    benchmark::DoNotOptimize(agents.current().views().key_waits("", 100));
  }
  per_agent(state);
}

void of_sizes(benchmark::internal::Benchmark* b) {
  b->Arg(100)->Arg(1'000)->Arg(10'000)->ArgName("agents")->Unit(benchmark::kMillisecond);
}
BENCHMARK(register_and_leave)->Apply(of_sizes);
BENCHMARK(heartbeats)->Apply(of_sizes);
BENCHMARK(barrier_of_all)->Apply(of_sizes);
BENCHMARK(barrier_with_lists)->Apply(of_sizes);
BENCHMARK(alive_tasks_of_all)->Apply(of_sizes);
BENCHMARK(key_waits_that_vanish)->Apply(of_sizes);
BENCHMARK(key_waits_that_end_early)->Apply(of_sizes);
BENCHMARK(barrier_that_ends_early)->Apply(of_sizes);
BENCHMARK(one_fails)->Apply(of_sizes);
BENCHMARK(views_of_all)->Apply(of_sizes);

}  // namespace

BENCHMARK_MAIN();
