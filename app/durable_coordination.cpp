// From the configuration to a hub that knows what was promised before.
#include "app/durable_coordination.hpp"

#include <spdlog/spdlog.h>

#include <utility>

#include "app/process.hpp"
#include "server/journal/rocks_view.hpp"
#include "server/journal/unwritten.hpp"

namespace muster::server {

durable_coordination::durable_coordination(engine_assembly& engine, standby& leadership,
                                           bool sockets_held)
    : engine_(engine),
      leadership_(leadership),
      sockets_held_(sockets_held),
      deadline_(engine.context()),
      hub_(limits(), random_64(), dependencies()) {}

core::coordination::limits durable_coordination::limits() const {
  core::coordination::limits l;
  l.journalled = engine_.config.is_durable();
  // Whoever follows the one that leads comes through a relay, which holds connections meanwhile.
  l.outlives = l.journalled && (sockets_held_ || engine_.config.store.where);
  return l;
}

coordination_dependencies durable_coordination::dependencies() {
  coordination_dependencies e{.now =
                                  [this] {
                                    leadership_.check();
                                    return engine_.clock.now();
                                  },
                              .arm = [this](core::time_point at) { arm(at); },
                              .tell = [this](log_event const& n) { engine_.tell(n); }};
  if (!engine_.config.is_durable()) return e;
  e.write_down = [this](std::vector<core::coordination::fact> facts) {
    return data_.write_down(facts);
  };
  e.journal_refusal = [this] { return data_.refusal(); };
  e.store = [this] {
    auto v = data_.view();
    leadership_.describe(v);
    v.history = history_();
    return v;
  };
  return e;
}

void durable_coordination::arm(core::time_point at) {
  deadline_.cancel();
  if (at != core::never)
    deadline_.call_at(engine_.clock.to_steady(at), [this] { hub_.on_deadline(); });
}

void durable_coordination::written(std::uint64_t durable, muster::status const& failed) {
  if (!failed.ok()) engine_.tell(data_.failure(failed));
  if (auto const room = data_.room_changed()) engine_.tell(*room);
  hub_.on_durable(durable, failed);
}

void durable_coordination::declare(core::coordination::cluster_spec spec) {
  auto const name = spec.name;
  auto const restored = hub_.state().find(name);
  auto const done =
      restored ? hub_.redeclare(*restored, std::move(spec)) : [&]() -> muster::status {
    auto const made = hub_.create(std::move(spec));
    return made ? muster::status{} : made.error();
  }();
  if (!done.ok()) throw start_error("--cluster " + name + ": " + done.message);
}

muster::status durable_coordination::look(std::string const& version) {
  auto const& directory = engine_.config.history.shown;
  auto seen = journal::rocks_view::open(directory);
  if (!seen) return seen.error();
  for (auto const& note : (*seen)->notes()) spdlog::info("read_only note=\"{}\"", note);
  return data_.open(std::make_unique<journal::unwritten>(std::move(*seen)), directory.string(),
                    version, hub_, true);
}

muster::status durable_coordination::open(std::string const& version) {
  data_.on_reading([this](std::string what) { leadership_.reading(std::move(what)); });
  if (engine_.config.is_read_only()) return look(version);
  if (!engine_.config.store.where) return data_.open(engine_.config.data_dir, version, hub_);
  auto store = leadership_.open_store();
  if (!store) return store.error();
  return data_.open(std::move(*store), engine_.config.store.where->text(), version, hub_);
}

void durable_coordination::begin(std::string const& version) {
  if (engine_.config.is_durable()) {
    auto const opened = open(version);
    if (!opened.ok())
      throw start_error((engine_.config.is_read_only() ? "--read-only "
                         : engine_.config.store.where  ? "--store "
                                                       : "--data-dir ") +
                        opened.message);
    journal::journal_options o;
    o.commit_delay = engine_.config.commit_delay;
    data_.start(o, [this](std::uint64_t durable, muster::status const& failed) {
      engine_.context().post([this, durable, failed] { written(durable, failed); });
    });
    if (auto const room = data_.room_changed()) engine_.tell(*room);
  }
  if (engine_.config.is_read_only() && !hub_.state().ids().empty()) return;
  auto specs = engine_.config.clusters;
  if (specs.empty()) specs.emplace_back();
  for (auto& spec : specs) declare(std::move(spec));
}

void durable_coordination::finish() {
  data_.stop();
  engine_.carry_out([this] { data_.tell_rest(hub_); });
}

}  // namespace muster::server
