#include "tests/simulation/simulation.hpp"

#include <memory>

#include "tests/simulation/model_client.hpp"
#include "tests/simulation/model_disk.hpp"
#include "tests/simulation/resumable_client.hpp"

namespace muster::simulation {

using namespace std::chrono_literals;

namespace {

// Returns the defaults, no retries, or all features, for a third of the seeds each.
core::config settings(std::uint64_t seed) {
  core::config c;
  c.declared_jobs = {{"worker", 6}, {"ps", 2}};
  c.recovery_timeout = 60s;
  // Limits are small because values are small.
  c.spill = seed % 4 != 0;
  c.spill_value_bytes_min = 1;
  c.value_bytes_max = 10'000;
  c.spill_above = seed % 4 == 1 ? 1 : 300;
  c.spill_bytes_max = seed % 4 == 3 ? 2'000 : 1'000'000;
  c.spill_retry = 1s;
  c.value_age = 20s;
  if (seed % 7 == 2) c.retry_bytes_max = 100;
  if (seed % 5 == 1) c.session_values_max = 30;
  if (seed % 5 == 2) c.session_value_bytes_max = 200;
  if (seed % 5 == 3) c.finished_jobs_max = 5;
  if (seed % 5 == 4) c.max_worker_failures = 8;
  if (seed % 3 == 1) {
    c.reconnect_grace = {};
    c.transient_dependency_failures = 0;
  }
  if (seed % 3 == 2) {
    c.reconnect_grace = 500ms;
    c.start_delay = 300ms;
    c.start_delay_max = 1s;
    c.watchdog = 2s;
    c.transient_timeouts = 4;
    c.transient_window = 5s;
    c.recovery_timeout = 20s;
    c.task_retention = 5s;
  }
  return c;
}

constexpr int doomed = 90;  // the worker that dies for good

struct cluster {
  cluster(std::uint64_t seed, recording* into) : earth(seed, settings(seed), into) {
    auto& dice = earth.dice();
    std::vector<std::string> const names = {"a", "b", "c"};
    std::vector<core::function_id> ids;
    for (auto const& n : names) ids.push_back(earth.learn(n));
    earth.perform = [this](core::effects const& fx) { perform(fx); };
    auto const n_workers = dice.between(1, 6);
    for (int i = 0; i < n_workers; ++i) {
      // The first worker provides every function, so no closure waits forever.
      std::vector<std::string> known;
      for (auto const& name : names)
        if (i == 0 || dice.chance(60)) known.push_back(name);
      workers.push_back(std::make_unique<model_worker>(earth, memory, failures, i, known, streams));
    }
    workers.push_back(
        std::make_unique<model_worker>(earth, memory, failures, doomed,
                                       std::vector<std::string>{"a", "b", "c", "doomed"}, streams));
    auto ids_and_doomed = ids;
    ids_and_doomed.push_back(earth.learn("doomed"));
    auto const n_clients = dice.between(1, 5);
    for (int i = 0; i < n_clients; ++i)
      clients.push_back(std::make_unique<model_client>(earth, ids_and_doomed, doomed));
    auto const n_holders = dice.between(0, 3);
    for (int i = 0; i < n_holders; ++i)
      holders.push_back(std::make_unique<resumable_client>(earth, memory, ids));
  }

  model_worker* of(core::stream_id s) {
    for (auto& w : workers)
      if (w->stream() == s) return w.get();
    return nullptr;
  }

  void perform(core::effects const& fx) {
    for (auto const& w : fx.welcomes)
      if (auto* worker = of(w.stream)) worker->on_welcome(w);
    for (auto const& d : fx.dispatches)
      if (auto* w = of(d.stream))
        w->on_dispatch(
            {fx.assignments.begin() + d.first, fx.assignments.begin() + d.first + d.count});
    for (auto const& s : fx.stop_requests)
      if (auto* w = of(s.stream)) w->on_stop(s);
    for (auto const& r : fx.retractions)
      if (auto* w = of(r.stream)) w->on_retract(r);
    for (auto const& d : fx.drop_requests)
      if (auto* w = of(d.stream)) w->on_drop(d.value);
    for (auto const& d : fx.drain_requests)
      if (auto* w = of(d.stream)) w->on_drain();
    for (auto const& d : fx.disconnects)
      if (auto* w = of(d.stream)) w->on_disconnect(d.final);
    disk.perform(fx);
    memory.perform(fx);
    perform_for_holders(fx);
    for (auto const& o : fx.outcomes)
      for (auto& c : clients)
        if (c->session() == o.session) c->on_outcome(o);
    for (auto const& n : fx.notices)
      for (auto& c : clients)
        if (c->session() == n.session) c->on_notice(n.kind);
  }

  // Delivers in the hub's order: an error before its cancellations, "drained" after all outcomes.
  void perform_for_holders(core::effects const& fx) {
    for (auto& h : holders) {
      for (auto const& n : fx.notices)
        if (h->session() == n.session && n.kind == core::notice_kind::failed) h->on_notice(n);
      for (auto const& o : fx.outcomes)
        if (h->session() == o.session) h->on_outcome(o);
      for (auto const& n : fx.notices)
        if (h->session() == n.session && n.kind == core::notice_kind::drained) h->on_notice(n);
    }
  }

  void strike() {
    for (auto& w : workers) w->turn();
    if (failures.on) earth.after(500ms, [this] { strike(); });
  }

  bool all_content() const {
    for (auto const& c : clients)
      if (!c->content()) return false;
    for (auto const& h : holders)
      if (!h->content()) return false;
    return true;
  }

  faults failures;
  world earth;
  model_disk disk{earth};
  model_memory memory{earth};
  std::uint64_t streams = 0;
  std::vector<std::unique_ptr<model_worker>> workers;
  std::vector<std::unique_ptr<model_client>> clients;
  std::vector<std::unique_ptr<resumable_client>> holders;
};

void live(cluster& c) {
  for (auto& w : c.workers) w->start();
  c.memory.start();
  for (auto& client : c.clients) client->start();
  for (auto& h : c.holders) h->start();
  c.earth.after(500ms, [&c] { c.strike(); });
  c.earth.after(core::duration(c.earth.dice().between(5'000'000, 50'000'000)),
                [&c] { c.workers.back()->die(); });
  c.earth.run(c.earth.now() + 60s);

  // Liveness: without faults everything must end.
  c.failures.on = false;
  for (auto& client : c.clients) client->stop();
  for (auto& h : c.holders) h->stop();
  for (auto& w : c.workers) w->heal();
  c.disk.heal();
  for (int second = 0; second < 600 && !c.all_content(); ++second) {
    c.earth.run(c.earth.now() + 1s);
    for (auto& w : c.workers) w->turn();  // a poison closure may have killed it
  }
  if (!c.all_content()) throw violation("ten minutes after the last fault a client still waits");
  // Longer than the longest pause and the heartbeat timeout.
  for (int second = 0; second < 60; ++second) {
    c.earth.run(c.earth.now() + 1s);
    for (auto& w : c.workers) w->turn();
  }
  if (c.earth.open_calls() > 0) throw violation("a call was never answered");
  auto const v = c.earth.server().overview(c.earth.now());
  if (v.closures.blocked + v.closures.queued + v.closures.running > 0)
    throw violation("closures are left over: " + std::to_string(v.closures.blocked) + " blocked, " +
                    std::to_string(v.closures.queued) + " queued, " +
                    std::to_string(v.closures.running) + " running" + c.earth.left_again());
  if (v.sessions > 0) throw violation("a session outlives its client and its grace");
  if (c.disk.size() != v.values_spilled)
    throw violation(std::to_string(c.disk.size()) +
                    " values are on the disk, the server knows of " +
                    std::to_string(v.values_spilled));
  if (c.memory.size() > 0) throw violation("memory of a value is left over");
  if (!c.earth.server().per_worker().list({}, 1).items.empty())
    throw violation("a per-worker value is left over");
}

}  // namespace

report simulate(std::uint64_t seed, recording* into, last_look const& look,
                std::uint64_t check_every) {
  cluster c(seed, into);
  c.earth.check_every = check_every;
  report r;
  try {
    live(c);
    c.earth.check_invariants();
  } catch (violation const& v) {
    r.violation = v.what();
    r.recent = c.earth.recent();
  }
  auto const& server = c.earth.server();
  auto const v = server.overview(c.earth.now());
  if (look) look(server, c.earth.now());
  r.trace_hash = c.earth.trace_hash();
  r.steps = c.earth.steps();
  r.counts = c.earth.counts;
  r.counts["put_back"] = v.requeued;
  r.counts["aborted"] = v.values_aborted;
  r.counts["made_again"] = c.earth.made_again();
  r.counts["dropped"] = c.earth.dropped();
  return r;
}

}  // namespace muster::simulation
