// With etcd blobs are this server's alone, and do not outlive it.
#include "app/store_assembly.hpp"

#include "server/core/queries/closure_queries.hpp"
#include "server/disk/own_files.hpp"

namespace muster::server {
namespace {

constexpr std::chrono::milliseconds blobs_looked_at_every{1'000};
constexpr std::chrono::milliseconds outputs_looked_at_every{20};
constexpr std::chrono::seconds outputs_expected_for{5};  // after the last one

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
              .make_again = [this](core::closure_id id) { make_again(id); }}),
      next_look_(engine.context()),
      durable_(engine, leadership_, sockets_held),
      hubs_(engine, durable_, leadership_, spill_, blobs_) {}

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
  if (engine_.config.is_durable()) hubs_.restore();
}

// Programs are looked at instead of being told of: what they name is held whatever they came by.
void store_assembly::keep_uploads() {
  std::set<std::string> named;
  pools().for_each([&](hub& h) {
    auto const is_there = [this](std::string const& hex) {
      return blobs_.size_of(blob_hash_of(hex)).has_value();
    };
    for (auto const& hex : h.look_for_uploads(is_there)) named.insert(blob_hash_of(hex));
  });
  blobs_.keep(std::move(named));
}

void store_assembly::watch_blobs() {
  auto const now = engine_.clock.now();
  if (now >= uploads_looked_at_ + blobs_looked_at_every) {
    uploads_looked_at_ = now;
    keep_uploads();
  }
  auto const has_value = [this](core::closure_id id) {
    auto const view = pools().of(id).state().closures().look(id);
    return view && !view->history && view->state == core::closure_state::succeeded &&
           view->released.empty();
  };
  auto const lost = [this](std::vector<core::closure_id> closures) {
    core::values_moved m;
    for (auto const id : closures)
      m.moves.push_back(
          {core::move_kind::lost, id, false, {}, "its worker, which had it, is gone"});
    pools().moved(std::move(m));
  };
  blobs_.sweep(has_value, lost);
  // What workers hold is memory of theirs, where the next output can be written.
  if (blobs_.holders().counts().outputs > 0) outputs_seen_at_ = now;
  auto const often = now < outputs_seen_at_ + outputs_expected_for;
  next_look_.call_at(
      coro::timer::clock::now() + (often ? outputs_looked_at_every : blobs_looked_at_every),
      [this] { watch_blobs(); });
}

// Nobody wants the answer: who asked for the value's bytes looks for these.
void store_assembly::make_again(core::closure_id id) {
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
