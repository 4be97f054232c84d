#include "app/closure_hubs.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <map>
#include <utility>

#include "server/core/api/generations.hpp"
#include "server/core/queries/closure_queries.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

// Maximum delay until values beyond the memory limit are removed.
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

closure_hubs::closure_hubs(engine_assembly& engine, data_directory& data,
                           coordination_hub& clusters, standby const& leadership,
                           spill_store& spilled, blob_store& blobs)
    : engine_(engine),
      data_(data),
      clusters_(clusters),
      leadership_(leadership),
      spilled_(spilled),
      blobs_(blobs),
      main_name_(main_cluster_of(engine.config)),
      wide_(engine.clock.now()),
      of_programs_(clusters_,
                   {.tell = [this](log_event const& n) { engine_.add_log_event(n); },
                    .remove = [this](std::string name) { remove_soon(std::move(name)); },
                    .failed = [this](core::coordination_failed e) { post_failure(std::move(e)); },
                    .noted =
                        [this](auto program, auto attempt, core::attempt_record::event e) {
                          post_attempt_event(program, attempt, std::move(e));
                        }}),
      deadline_(engine.context()),
      room_(engine.context()),
      main_(config_of(engine.config.clusters.empty() ? nullptr : &engine.config.clusters.front()),
            dependencies(deadline_, [this] { main_.on_deadline(); }, {},
                         {&wide_, 0, [this] { schedule_eviction(); }})),
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

// Reduces a default grace period that is not below the heartbeat timeout. Declares the tasks that
// functions can report as lost, unless a resolver can change the tasks.
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
  e.events.to_feed = [this](log_event const& n) { engine_.feed(n); };
  e.events.to_log = [this](log_event const& n) { engine_.add_log_event(n); };
  e.move_values = [this](std::vector<core::value_move> moves) {
    std::erase_if(moves, [this](core::value_move const& m) {
      if (m.kind != core::move_kind::copy) return false;
      // The blob's name is registered before this function runs.
      engine_.context().post([this, id = m.closure] { blobs_.copy(id); });
      return true;
    });
    if (!moves.empty()) spilled_.ask(std::move(moves));
  };
  e.recomputed = [this](core::closure_id id) {
    engine_.context().post([this, id] { keep_blob(id); });
  };
  if (engine_.config.is_durable()) data_.attach_to(e, cluster);
  e.events.cluster = std::move(cluster);
  e.pool = std::move(pool);
  e.programs.clusters = &of_programs_;
  return e;
}

std::shared_ptr<hub> closure_hubs::make(cluster_id cluster, pool_dependencies pool) {
  auto const& spec = clusters_.state().spec(cluster);
  pool.over_budget = [this] { schedule_eviction(); };
  auto made = std::make_shared<timed_hub>(*this, config_of(&spec), spec.name, std::move(pool));
  auto* const closures = &made->closures;
  return {std::move(made), closures};
}

// Continues numbering after earlier starts. A slot that has used all its generations is abandoned,
// which costs about 100 bytes.
void closure_hubs::set_first_numbers(std::uint64_t epoch, std::uint64_t sessions) {
  auto const g = core::generations_of(epoch);
  wide_.first_generation = g.first;
  wide_.end_generation = g.end;
  wide_.last_session = sessions;
}

void closure_hubs::restore_programs() {
  std::map<std::string, std::vector<core::programs::restored_program>> by_cluster;
  auto stored = data_.take_programs();
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
      (*found)->programs().restore(std::move(programs));
      continue;
    }
    spdlog::warn("programs_forgotten programs={} why=\"{}\"", programs.size(),
                 found.error().message);
    std::vector<core::programs::fact> gone;
    for (auto const& p : programs)
      gone.emplace_back(core::programs::program_removed{p.submitted.program});
    data_.write_down(cluster, gone);
  }
  for (auto& r : data_.take_records())
    if (!pools_.of(r.program).programs().restore({r.program, r.attempt}, std::move(r.what)))
      data_.write_down(r.program, r.attempt, nullptr);
  of_programs_.drop_unknown(
      [this](core::program_id id) { return pools_.of(id).state().knows(id); });
}

void closure_hubs::remove_soon(std::string cluster) {
  engine_.context().post([this, cluster = std::move(cluster)] {
    auto const id = clusters_.state().find(cluster);
    if (!id || !clusters_.remove(cluster).ok()) return;
    pools_.remove(*id, "cluster '" + cluster + "' was removed together with its program");
  });
}

void closure_hubs::post_failure(core::coordination_failed e) {
  engine_.context().post([this, e = std::move(e)] { pools_.of(e.program).apply(e); });
}

void closure_hubs::post_attempt_event(core::program_id program, std::uint32_t attempt,
                                      core::attempt_record::event what) {
  engine_.context().post([this, program, attempt, what = std::move(what)] {
    pools_.of(program).programs().record_event({program, attempt}, what);
  });
}

void closure_hubs::keep_blob(core::closure_id id) {
  auto const view = pools_.of(id).state().closures().find(id);
  if (!view || view->state != core::closure_state::succeeded) return;
  if (auto const name = blob_named_by(view->data.view()); !name.empty()) blobs_.name(id, name);
}

void closure_hubs::schedule_eviction() {
  if (std::exchange(room_asked_, true)) return;
  room_.call_at(std::chrono::steady_clock::now() + room_after, [this] {
    room_asked_ = false;
    pools_.make_room();
  });
}

}  // namespace muster::server
