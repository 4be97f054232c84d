// From the configuration to a hub that knows what was promised before.
#include "app/durable_coordination.hpp"

#include <utility>

#include "app/app.hpp"
#include "app/process.hpp"

namespace muster::server {

durable_coordination::durable_coordination(configuration const& c, bool sockets_held, standby& turn,
                                           coro::engine_context& engine,
                                           anchored_clock const& clock,
                                           std::function<void(notice const&)> tell)
    : configuration_(c),
      sockets_held_(sockets_held),
      turn_(turn),
      engine_(engine),
      clock_(clock),
      tell_(std::move(tell)),
      deadline_(engine),
      hub_(limits(), random_64(), surroundings()) {}

core::coordination::limits durable_coordination::limits() const {
  core::coordination::limits l;
  l.journalled = configuration_.is_durable();
  // Whoever follows the one that leads comes through a relay, which holds connections meanwhile.
  l.outlives = l.journalled && (sockets_held_ || configuration_.store.where);
  return l;
}

coordination_environment durable_coordination::surroundings() {
  coordination_environment e{.now =
                                 [this] {
                                   turn_.check();
                                   return clock_.now();
                                 },
                             .arm = [this](core::time_point at) { arm(at); },
                             .tell = tell_};
  if (!configuration_.is_durable()) return e;
  e.write_down = [this](std::vector<core::coordination::fact> facts) {
    return data_.write_down(facts);
  };
  e.journal_refusal = [this] { return data_.refusal(); };
  e.store = [this] {
    auto v = data_.view();
    turn_.describe(v);
    return v;
  };
  return e;
}

void durable_coordination::arm(core::time_point at) {
  deadline_.cancel();
  if (at != core::never) deadline_.call_at(clock_.to_steady(at), [this] { hub_.on_deadline(); });
}

void durable_coordination::written(std::uint64_t durable, muster::status const& failed) {
  if (!failed.ok()) tell_(data_.failure(failed));
  if (auto const room = data_.room_changed()) tell_(*room);
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

muster::status durable_coordination::open(std::string const& version) {
  data_.on_reading([this](std::string what) { turn_.reading(std::move(what)); });
  if (!configuration_.store.where) return data_.open(configuration_.data_dir, version, hub_);
  auto store = turn_.open_store();
  if (!store) return store.error();
  return data_.open(std::move(*store), configuration_.store.where->text(), version, hub_);
}

void durable_coordination::begin(std::string const& version) {
  if (configuration_.is_durable()) {
    auto const opened = open(version);
    if (!opened.ok())
      throw start_error((configuration_.store.where ? "--store " : "--data-dir ") + opened.message);
    journal::journal_options o;
    o.commit_delay = configuration_.commit_delay;
    data_.start(o, [this](std::uint64_t durable, muster::status const& failed) {
      engine_.post([this, durable, failed] { written(durable, failed); });
    });
    if (auto const room = data_.room_changed()) tell_(*room);
  }
  auto specs = configuration_.clusters;
  if (specs.empty()) specs.emplace_back();
  for (auto& spec : specs) declare(std::move(spec));
}

void durable_coordination::finish(std::function<void(std::function<void()>)> const& on_engine) {
  data_.stop();
  on_engine([this] { data_.tell_rest(hub_); });
}

}  // namespace muster::server
