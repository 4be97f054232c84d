// How much does the core with its listeners cost per closure, and does it depend on the number of
// closures?
//
// A cycle answers one worker's batch and schedules as many new closures, so the queue keeps its
// length. Arguments: workers, queued closures. No I/O; time is a counter.
#include <benchmark/benchmark.h>

#include "server/core/api/server_wide.hpp"
#include "server/core/coordinator.hpp"
#include "server/history/history.hpp"

namespace {

using namespace muster::core;

struct bench_cluster {
  bench_cluster(std::int64_t workers, std::int64_t queued)
      : core(limits(), now(), wide), past(core.configuration(), wide, now()) {
    learn_functions const names{call_id{1}, {"muster.noop"}};
    function = std::get<functions_reply>(step(names).replies.at(0).body).ids.at(0);
    for (std::int64_t i = 0; i < workers; ++i) {
      worker_attached e{stream_id{static_cast<std::uint64_t>(i + 1)}, {}};
      e.spec.incarnation = incarnation{static_cast<std::uint64_t>(i + 1)};
      e.spec.slots = e.spec.credits = 256;
      e.spec.functions = {"muster.noop"};
      step(e);
    }
    held.resize(static_cast<std::size_t>(workers));
    open_session open;
    open.call = call_id{1};
    open.spec.delivery = delivery::stream;
    open.spec.open = true;
    open.spec.queue_capacity = limits().queue_capacity_max;
    session = std::get<session_reply>(step(open).replies.at(0).body).session;
    schedule_some(static_cast<std::size_t>(queued + workers * 256));
  }

  static config limits() {
    config c;
    c.heartbeat_timeout = std::chrono::hours(24);
    return c;
  }
  time_point now() { return time_point(std::chrono::microseconds(++clock)); }

  template <class Event>
  effects const& step(Event& e) {
    auto const at = now();
    auto const& fx = core.step(at, e);
    past.fold(fx, at);
    return fx;
  }
  void schedule_some(std::size_t n) {
    batch.session = session;
    batch.closures.resize(n);
    for (auto& c : batch.closures) c = {function, 0, ++token, args};
    take(step(batch));
  }
  void take(effects const& fx) {
    for (auto const& d : fx.dispatches)
      for (std::uint32_t i = 0; i < d.count; ++i) {
        auto const& a = fx.assignments[d.first + i];
        held[raw(d.stream) - 1].push_back({a.closure, a.attempt, true, {}, {}});
      }
  }
  std::size_t cycle() {
    auto& mine = held[turn++ % held.size()];
    results.stream = stream_id{(turn - 1) % held.size() + 1};
    results.results.swap(mine);
    mine.clear();
    for (auto& r : results.results) r.value = null;
    auto const n = results.results.size();
    take(step(results));
    if (n > 0) schedule_some(n);
    return n;
  }

  std::int64_t clock = 1'000'000;
  server_wide wide{time_point{}};
  coordinator core;
  muster::history::history past;
  function_id function{};
  session_id session{};
  std::uint64_t token = 0;
  std::size_t turn = 0;
  blob args{std::string(64, 'x')};
  blob null{"null"};
  schedule batch;
  worker_results results;
  std::vector<std::vector<worker_result>> held;
};

void closures(benchmark::State& state) {
  bench_cluster cluster(state.range(0), state.range(1));
  std::size_t done = 0;
  for (auto _ : state) done += cluster.cycle();
  state.SetItemsProcessed(static_cast<std::int64_t>(done));
  state.counters["ns_per_closure"] = benchmark::Counter(
      static_cast<double>(done) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(closures)
    ->Args({2, 1'000})
    ->Args({2, 1'000'000})
    ->Args({10'000, 1'000})
    ->Args({10'000, 1'000'000})
    ->ArgNames({"workers", "queued"});

}  // namespace

BENCHMARK_MAIN();
