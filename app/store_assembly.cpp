// With etcd, blobs are stored only by this server and are lost when it exits.
#include "app/store_assembly.hpp"

#include <spdlog/spdlog.h>

#include "app/process_setup.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/disk/own_files.hpp"
#include "server/hub/access/use.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/unwritten.hpp"

namespace muster::server {
namespace {

constexpr std::chrono::milliseconds blob_check_interval{1'000};
constexpr std::chrono::milliseconds output_check_interval{20};
constexpr std::chrono::seconds outputs_expected_for{5};

blob_store_options blob_options_from(configuration const& c) {
  blob_store_options o;
  o.limits = c.blobs;
  o.files.durable = !c.data_dir.empty();
  o.outputs_stay = !c.is_durable();
  o.tls = c.tls.on();
  if (auto const& in = o.files.durable ? c.data_dir : c.spill_dir; !in.empty())
    o.files.directory = in / blob_folder;
  return o;
}

}  // namespace

store_assembly::store_assembly(engine_assembly& engine, bool sockets_held)
    : engine_(engine),
      leadership_(engine.config),
      blobs_(blob_options_from(engine.config),
             {.now = [&engine] { return engine.clock.now(); },
              .post =
                  [&engine](std::function<void()> work) { engine.context().post(std::move(work)); },
              .room_for_token =
                  [this](core::token const& who, std::uint64_t more) {
                    return room_for_values(who, hubs_.pools(), more);
                  },
              .recompute = [this](core::closure_id id) { recompute(id); }}),
      next_check_at_(engine.context()),
      data_({.now = [this] { return now(); },
             .post =
                 [&engine](std::function<void()> work) { engine.context().post(std::move(work)); },
             .tell = [&engine](log_event const& n) { engine.add_log_event(n); }}),
      deadline_(engine.context()),
      coordination_(limits(sockets_held), random_64(), dependencies()),
      hubs_(engine, data_, coordination_, leadership_, spill_, blobs_) {
  hubs_.pools().blob_bytes_of = [this](std::string_view token) { return blobs_.bytes_of(token); };
}

core::time_point store_assembly::now() const {
  leadership_.check();
  return engine_.clock.now();
}

core::coordination::limits store_assembly::limits(bool sockets_held) const {
  core::coordination::limits l;
  l.journalled = engine_.config.is_durable();
  // With --store, clients reach the leader through a proxy, which holds connections during a
  // failover.
  l.outlives = l.journalled && (sockets_held || engine_.config.store.where);
  return l;
}

coordination_dependencies store_assembly::dependencies() {
  coordination_dependencies e;
  e.now = [this] { return now(); };
  e.arm = [this](core::time_point at) {
    deadline_.cancel();
    if (at != core::never)
      deadline_.call_at(engine_.clock.to_steady(at), [this] { coordination_.on_deadline(); });
  };
  e.tell = [this](log_event const& n) { engine_.add_log_event(n); };
  if (!engine_.config.is_durable()) return e;
  data_.attach_to(e);
  e.store = [this] {
    auto v = data_.view();
    leadership_.describe(v);
    v.history = history_();
    return v;
  };
  return e;
}

void store_assembly::declare(core::coordination::cluster_spec spec) {
  auto const name = spec.name;
  auto const restored = coordination_.state().find(name);
  auto const done =
      restored ? coordination_.redeclare(*restored, std::move(spec)) : [&]() -> muster::status {
    auto const made = coordination_.create(std::move(spec));
    return made ? muster::status{} : made.error();
  }();
  if (!done.ok()) throw start_error("--cluster " + name + ": " + done.message);
}

muster::status store_assembly::look(std::string const& version) {
  auto const& directory = engine_.config.history.shown;
  auto seen = journal::rocks_view::open(directory);
  if (!seen) return seen.error();
  for (auto const& note : (*seen)->notes()) spdlog::info("read_only note=\"{}\"", note);
  return data_.open(std::make_unique<journal::read_only_store>(std::move(*seen)),
                    directory.string(), version, coordination_, true);
}

muster::status store_assembly::open(std::string const& version) {
  auto const& c = engine_.config;
  data_.on_part_read([this](std::string what) { leadership_.reading(std::move(what)); });
  if (c.is_read_only()) return look(version);
  if (!c.store.where) return data_.open(c.data_dir, version, coordination_);
  return data_.open(leadership_.take_store(), c.store.where->text(), version, coordination_);
}

void store_assembly::begin(std::string const& version) {
  auto const& c = engine_.config;
  if (c.is_durable()) {
    auto const opened = open(version);
    if (!opened.ok())
      throw start_error((c.is_read_only() ? "--read-only "
                         : c.store.where  ? "--store "
                                          : "--data-dir ") +
                        opened.message);
    journal::journal_options o;
    o.commit_delay = c.commit_delay;
    data_.start(o);
  }
  if (c.is_read_only() && !coordination_.state().ids().empty()) return;
  auto specs = c.clusters;
  if (specs.empty()) specs.emplace_back();
  for (auto& spec : specs) declare(std::move(spec));
}

void store_assembly::finish_journal() {
  data_.stop();
  engine_.carry_out([this] { data_.answer_waiting_requests(); });
}

void store_assembly::open_files() {
  auto const& directory = engine_.config.spill_dir;
  auto const moved = [this](core::values_moved m) {
    engine_.context().post([this, m = std::move(m)]() mutable { pools().moved(std::move(m)); });
  };
  if (!directory.empty())
    if (auto const opened = spill_.start(directory, moved); !opened.ok())
      throw start_error("--spill-dir " + opened.message);
  auto const opened = blobs_.start();
  if (!opened.ok()) throw start_error("blobs: " + opened.message);
}

void store_assembly::restore_jobs() {
  if (!engine_.config.is_durable()) return;
  hubs_.set_first_numbers(data_.epoch(), data_.sessions_before());
  std::map<std::string, std::vector<core::restored_job>> by_cluster;
  for (auto& j : data_.take_jobs()) {
    reference_blobs(j.job);
    by_cluster[j.cluster].push_back(std::move(j.job));
  }
  for (auto& [cluster, jobs] : by_cluster) {
    auto const found = pools().named(cluster);
    if (found) {
      (*found)->restore(std::move(jobs));
      continue;
    }
    // Records of these jobs are removed, because their IDs would otherwise be reused.
    spdlog::warn("jobs_forgotten jobs={} why=\"{}\"", jobs.size(), found.error().message);
    std::vector<core::fact> gone;
    for (auto const& j : jobs) {
      if (j.job.id != core::session_id{})
        gone.emplace_back(core::job_removed{j.job.id});
      else
        for (auto const& v : j.per_worker) gone.emplace_back(core::per_worker_removed{{}, v.id});
    }
    data_.write_down(cluster, gone);
  }
  hubs_.restore_programs();
}

void store_assembly::reference_blobs(core::restored_job const& job) {
  for (auto const& f : job.closures) {
    if (f.dropped || !names_blob(f.value.view())) continue;
    for (auto const& request : job.accepted)
      if (f.order - request.first < request.closures.size())
        blobs_.name(request.closures[f.order - request.first].id, blob_named_by(f.value.view()));
  }
}

// Polls programs for referenced uploads, so that these uploads are kept regardless of the programs'
// origin.
void store_assembly::keep_uploads() {
  std::set<std::string> named;
  pools().for_each([&](hub& h) {
    auto const is_there = [this](std::string const& hex) {
      return blobs_.size_of(blob_hash_of(hex)).has_value();
    };
    for (auto const& hex : h.programs().refresh_uploads(is_there)) named.insert(blob_hash_of(hex));
  });
  blobs_.keep(std::move(named));
}

void store_assembly::watch_blobs() {
  auto const now = engine_.clock.now();
  if (now >= uploads_checked_at_ + blob_check_interval) {
    uploads_checked_at_ = now;
    keep_uploads();
  }
  auto const has_value = [this](core::closure_id id) {
    auto const view = pools().of(id).state().closures().find(id);
    return view && !view->history && view->state == core::closure_state::succeeded &&
           view->released.empty();
  };
  auto const lost = [this](std::vector<core::closure_id> closures) {
    core::values_moved m;
    for (auto const id : closures)
      m.moves.push_back(
          {core::move_kind::lost, id, false, {}, "the worker that stored it was lost"});
    pools().moved(std::move(m));
  };
  auto const copied = [this](std::vector<core::closure_id> closures) {
    core::values_moved m;
    for (auto const id : closures) m.moves.push_back({core::move_kind::copy, id, true, {}, {}});
    pools().moved(std::move(m));
  };
  blobs_.sweep(has_value, lost, copied);
  // Outputs that workers hold use memory that the workers need for further outputs.
  if (blobs_.holders().counts().outputs > 0) outputs_seen_at_ = now;
  auto const often = now < outputs_seen_at_ + outputs_expected_for;
  next_check_at_.call_at(
      coro::timer::clock::now() + (often ? output_check_interval : blob_check_interval),
      [this] { watch_blobs(); });
}

// Recomputes a lost value. The reply is ignored, because the value's reader polls for its bytes.
void store_assembly::recompute(core::closure_id id) {
  core::await_value e;
  e.closure = id;
  e.deadline = engine_.clock.now() + lost_names::asked_every;
  pools().of(id).ask(std::move(e), [](core::reply const&) {});
}

void store_assembly::stop_files() {
  spill_.stop();
  blobs_.stop();
}

}  // namespace muster::server
