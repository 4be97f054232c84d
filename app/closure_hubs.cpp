// What a hub is given: a clock, a timer, the limits of its cluster.
#include "app/closure_hubs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "server/core/queries/closure_queries.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

// More values than the server may keep are kept for this long at most, where they may go at all.
constexpr auto room_after = 10ms;

bool is_followed(configuration const& c, std::string const& cluster) {
  auto const& sources = c.cluster_sources;
  return std::any_of(sources.begin(), sources.end(), [&](cluster_source const& source) {
    return source.declaration.name == cluster;
  });
}

}  // namespace

struct closure_hubs::timed_hub {
  timed_hub(closure_hubs& all, core::config config, std::string cluster, pool_dependencies pool)
      : deadline(all.engine_.context()),
        closures(std::move(config), all.dependencies(
                                        deadline, [this] { closures.on_deadline(); },
                                        std::move(cluster), std::move(pool))) {}
  coro::timer deadline;
  hub closures;
};

closure_hubs::closure_hubs(engine_assembly& engine, durable_coordination& durable,
                           standby const& leadership, spill_store& spilled, blob_store& blobs)
    : engine_(engine),
      durable_(durable),
      leadership_(leadership),
      spilled_(spilled),
      blobs_(blobs),
      clusters_(durable.hub()),
      main_name_(main_cluster_of(engine.config)),
      wide_(engine.clock.now()),
      of_programs_(clusters_,
                   {.tell = [this](log_event const& n) { engine_.tell(n); },
                    .remove = [this](std::string name) { remove_soon(std::move(name)); },
                    .failed = [this](core::coordination_failed e) { pass_on_soon(std::move(e)); },
                    .noted =
                        [this](auto program, auto attempt, core::attempt_record::event e) {
                          note_soon(program, attempt, std::move(e));
                        }}),
      deadline_(engine.context()),
      room_(engine.context()),
      main_(config_of(engine.config.clusters.empty() ? nullptr : &engine.config.clusters.front()),
            dependencies(deadline_, [this] { main_.on_deadline(); }, {},
                         {&wide_, 0, [this] { make_room_soon(); }})),
      pools_(main_, wide_,
             {.find = [this](std::string_view name) { return find(name); },
              .main = [this] { return main_cluster(); },
              .make = [this](cluster_id cluster,
                             pool_dependencies pool) { return make(cluster, std::move(pool)); }}) {}

core::coordination::cluster_id closure_hubs::main_cluster() const {
  auto const found = clusters_.state().find(main_name_);
  return found ? *found : cluster_id{};
}

muster::result<core::coordination::cluster_id> closure_hubs::find(std::string_view name) const {
  auto found = clusters_.state().find(name);
  if (found || name != "default") return found;
  auto const main = main_cluster();
  return main == cluster_id{} ? found : main;
}

// A default grace gives way to a short heartbeat timeout. What functions may name as lost: the
// tasks of the cluster, or any while a resolver may change those.
core::config closure_hubs::config_of(core::coordination::cluster_spec const* cluster) const {
  auto core = engine_.config.core;
  core.spill = !engine_.config.spill_dir.empty();
  core.durable = engine_.config.is_durable();
  if (core.reconnect_grace >= core.heartbeat_timeout)
    core.reconnect_grace = core.heartbeat_timeout / 2;
  if (!cluster) return core;
  core.cluster = cluster->name;
  if (cluster->stateful_jobs) core.stateful_jobs = *cluster->stateful_jobs;
  if (!is_followed(engine_.config, cluster->name))
    for (auto const& job : cluster->jobs) core.declared_jobs.emplace_back(job.name, job.tasks);
  return core;
}

hub_dependencies closure_hubs::dependencies(coro::timer& deadline,
                                            std::function<void()> on_deadline, std::string cluster,
                                            pool_dependencies pool) {
  hub_dependencies e;
  e.now = [this] {
    leadership_.check();
    return engine_.clock.now();
  };
  e.arm = [this, &deadline, on_deadline = std::move(on_deadline)](core::time_point at) {
    deadline.cancel();
    if (at != core::never) deadline.call_at(engine_.clock.to_steady(at), on_deadline);
  };
  e.tell = [this](log_event const& n) { engine_.feed(n); };
  e.log = [this](log_event const& n) { engine_.tell(n); };
  e.move_values = [this](std::vector<core::value_move> moves) { spilled_.ask(std::move(moves)); };
  e.made_again = [this](core::closure_id id) {
    engine_.context().post([this, id] { keep_blob(id); });
  };
  if (engine_.config.is_durable()) {
    e.commits = &clusters_.commits();
    e.journal_refusal = [this] { return durable_.data().refusal(); };
    e.write_down = [this, cluster](std::vector<core::fact> const& facts) {
      clusters_.commits().wrote(durable_.data().write_down(cluster, facts));
    };
    e.write_down_programs = [this, cluster](std::vector<core::programs::fact> const& facts) {
      clusters_.commits().wrote(durable_.data().write_down(cluster, facts));
    };
    e.write_record = [this](history::black_box::name const& which,
                            core::attempt_record const* what) {
      clusters_.commits().wrote(durable_.data().write_down(which.program, which.attempt, what));
    };
  }
  e.cluster = std::move(cluster);
  e.pool = std::move(pool);
  e.coordination = &of_programs_;
  return e;
}

std::shared_ptr<hub> closure_hubs::make(cluster_id cluster, pool_dependencies pool) {
  auto const& spec = clusters_.state().spec(cluster);
  pool.over_budget = [this] { make_room_soon(); };
  auto made = std::make_shared<timed_hub>(*this, config_of(&spec), spec.name, std::move(pool));
  auto* const closures = &made->closures;
  return {std::move(made), closures};
}

void closure_hubs::restore() {
  auto& data = durable_.data();
  // Ids of closures begin with their slot's generation: each start has a million of its own, and a
  // slot that has used them up, a hundred bytes, is left alone.
  constexpr std::uint64_t starts = 4'095, uses = 1 << 20;
  wide_.first_generation = static_cast<std::uint32_t>(1 + (data.epoch() - 1) % starts * uses);
  wide_.end_generation = static_cast<std::uint32_t>(wide_.first_generation + uses);
  wide_.last_session = data.sessions_before();
  std::map<std::string, std::vector<core::restored_job>> by_cluster;
  auto stored = data.take_jobs();
  for (auto const& j : stored) keep_blobs(j.job);
  for (auto& j : stored) by_cluster[j.cluster].push_back(std::move(j.job));
  for (auto& [cluster, jobs] : by_cluster) {
    auto const found = pools_.named(cluster);
    if (found) {
      (*found)->restore(std::move(jobs));
      continue;
    }
    // Else their ids would be given to others.
    spdlog::warn("jobs_forgotten jobs={} why=\"{}\"", jobs.size(), found.error().message);
    std::vector<core::fact> gone;
    for (auto const& j : jobs) {
      if (j.job.id != core::session_id{})
        gone.emplace_back(core::job_gone{j.job.id});
      else
        for (auto const& v : j.per_worker) gone.emplace_back(core::per_worker_gone{{}, v.id});
    }
    clusters_.commits().wrote(data.write_down(cluster, gone));
  }
  restore_programs();
  of_programs_.drop_unknown(
      [this](core::program_id id) { return pools_.of(id).state().knows(id); });
}

void closure_hubs::restore_programs() {
  auto& data = durable_.data();
  std::map<std::string, std::vector<core::programs::restored_program>> by_cluster;
  auto stored = data.take_programs();
  std::stable_sort(stored.begin(), stored.end(), [](auto const& a, auto const& b) {
    return a.program.course.finished < b.program.course.finished;
  });
  for (auto& p : stored) {
    auto const& course = p.program.course;
    if (auto const& last = p.program.placement)
      of_programs_.restored(course.program, last->attempt, last->tunnels,
                            core::ended(course.state));
    by_cluster[p.cluster].push_back(std::move(p.program));
  }
  for (auto& [cluster, programs] : by_cluster) {
    auto const found = pools_.named(cluster);
    if (found) {
      (*found)->restore(std::move(programs));
      continue;
    }
    spdlog::warn("programs_forgotten programs={} why=\"{}\"", programs.size(),
                 found.error().message);
    std::vector<core::programs::fact> gone;
    for (auto const& p : programs)
      gone.emplace_back(core::programs::program_gone{p.submitted.program});
    clusters_.commits().wrote(data.write_down(cluster, gone));
  }
  for (auto& r : data.take_records())
    if (!pools_.of(r.program).restore({r.program, r.attempt}, std::move(r.what)))
      clusters_.commits().wrote(data.write_down(r.program, r.attempt, nullptr));
}

void closure_hubs::remove_soon(std::string cluster) {
  engine_.context().post([this, cluster = std::move(cluster)] {
    auto const id = clusters_.state().find(cluster);
    if (!id || !clusters_.remove(cluster).ok()) return;
    pools_.remove(*id, "cluster '" + cluster + "' went with its program");
  });
}

void closure_hubs::pass_on_soon(core::coordination_failed e) {
  engine_.context().post([this, e = std::move(e)] { pools_.of(e.program).apply(e); });
}

void closure_hubs::note_soon(core::program_id program, std::uint32_t attempt,
                             core::attempt_record::event what) {
  engine_.context().post([this, program, attempt, what = std::move(what)] {
    pools_.of(program).note({program, attempt}, what);
  });
}

// The worker has told of the closure that made it again, which nobody remembers.
void closure_hubs::keep_blob(core::closure_id id) {
  auto const view = pools_.of(id).state().closures().look(id);
  if (!view || view->state != core::closure_state::succeeded) return;
  if (auto const name = blob_named_by(view->data.view()); !name.empty()) blobs_.name(id, name);
}

void closure_hubs::keep_blobs(core::restored_job const& job) {
  for (auto const& f : job.closures) {
    if (f.dropped || !names_blob(f.value.view())) continue;
    for (auto const& request : job.accepted)
      if (f.order - request.first < request.closures.size())
        blobs_.name(request.closures[f.order - request.first].id, blob_named_by(f.value.view()));
  }
}

void closure_hubs::make_room_soon() {
  if (std::exchange(room_asked_, true)) return;
  room_.call_at(std::chrono::steady_clock::now() + room_after, [this] {
    room_asked_ = false;
    pools_.make_room();
  });
}

}  // namespace muster::server
