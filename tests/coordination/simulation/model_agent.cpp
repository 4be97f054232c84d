#include "tests/coordination/simulation/model_agent.hpp"

#include <memory>

namespace muster::coordination_simulation {

using namespace std::chrono_literals;

void model_agent::start() {
  alive_ = true;
  left_ = false;
  ++life_;
  incarnation_ = core::incarnation{world_.dice().next() | 1};
  service_ = {};
  peer_ = "10.0.0." + std::to_string(task_) + ":" + std::to_string(10'000 + life_);
  counters_.clear();
  meeting_.clear();
  world_.note("task " + std::to_string(task_) + " starts life " + std::to_string(life_));
  enlist();
}

void model_agent::die(char const* why) {
  if (!alive_) return;
  world_.note("task " + std::to_string(task_) + " dies: " + why);
  alive_ = false;
  ++life_;
  ++world_.counts["deaths"];
  for (auto const& [handle, unused] : std::exchange(open_, {})) world_.drop(handle);
  world_.close_connection(task_, incarnation_);
}

void model_agent::perform_last_act() {
  die("healed");
  last_act_ = true;
  resting_ = false;
  start();
}

void model_agent::after(core::duration delay, std::function<void()> what) {
  world_.after(delay, [this, life = life_, what = std::move(what)] {
    if (life == life_ && alive_) what();
  });
}

template <class Request>
void model_agent::call(Request r, core::duration patience,
                       std::function<void(cc::reply const*)> then) {
  if (patience < 24h) r.from.deadline = world_.now() + patience;
  if (speaks_xla_) r.from.service = service_;
  if (!speaks_xla_) r.from.peer = peer_;
  auto const handle = std::make_shared<std::uint64_t>();
  auto const finish = [this, life = life_, handle, then](cc::reply const* reply) {
    if (life != life_ || !alive_ || open_.erase(*handle) == 0) return;
    world_.drop(*handle);
    then(reply);
  };
  *handle = world_.send(std::move(r), [finish](cc::reply const& reply) { finish(&reply); });
  open_.emplace(*handle, true);
  if (patience < 24h) after(patience, [finish] { finish(nullptr); });
}

void model_agent::enlist() {
  cc::register_task r;
  r.task = me();
  r.incarnation = incarnation_;
  r.peer = peer_;
  auto const patience = core::duration(world_.dice().between(5, 60)) * 1'000'000;
  call(std::move(r), patience, [this](cc::reply const* reply) { connect(reply); });
}

void model_agent::connect(cc::reply const* r) {
  auto const code = !r ? muster::code::unavailable : r->fault ? r->fault->code : muster::code::ok;
  if (code == muster::code::ok) {
    ++world_.counts["registered"];
    service_ = std::get<core::incarnation>(r->body);
    beat();
    if (polls_) poll();
    watch(-1);
    return work();
  }
  // Like the client library: some errors are retried, others end the process.
  auto const again = code == muster::code::unavailable || code == muster::code::aborted ||
                     code == muster::code::internal;
  if (again)
    return after(core::duration(world_.dice().between(1, 2'000'000)), [this] { enlist(); });
  die("registration refused");
  world_.after(1s, [this] {
    if (!alive_ && (last_act_ || !resting_)) start();
  });
}

void model_agent::suffer(cc::reply const& r) {
  ++world_.counts["told"];
  world_.note("told: " + r.fault->message.substr(0, 300));
  die("told of an error");
  try_again();
}

void model_agent::try_again() {
  die("it begins anew");
  world_.after(core::duration(world_.dice().between(100'000, 20'000'000)), [this] {
    if (!alive_ && (last_act_ || !resting_)) start();
  });
}

void model_agent::beat() {
  cc::heartbeat r{{}, me(), incarnation_};
  call(std::move(r), 5s, [this](cc::reply const* reply) {
    if (reply && reply->fault) return suffer(*reply);
    after(world_.spec().heartbeat_timeout / 2, [this] { beat(); });
  });
}

void model_agent::poll() {
  call(cc::poll_for_error{{}, me()}, 24h, [this](cc::reply const* reply) {
    if (!reply->fault) throw violation("a poll was answered OK");
    if (reply->fault->code != muster::code::cancelled) suffer(*reply);
  });
}

void model_agent::watch(std::int64_t version) {
  cc::watch_tasks r;
  r.version = version;
  call(std::move(r), 24h, [this](cc::reply const* reply) {
    if (reply->fault)
      return reply->fault->mismatch ? suffer(*reply) : after(1s, [this] { watch(-1); });
    auto const& states = *std::get<std::shared_ptr<cc::task_states const>>(reply->body);
    after(1ms, [this, v = states.version] { watch(v); });
  });
}

void model_agent::work() {
  if (resting_) return;
  auto& dice = world_.dice();
  if (last_act_) return meet("last act", {}, [this](bool ok) { ok ? leave() : try_again(); });
  auto const n = world_.service().views().tasks(world_.now(), 0, 100).size();
  after(core::duration(dice.between(1'000, 4'000'000)), [this] { work(); });
  switch (dice.between(0, 11)) {
    case 0:
    case 1:
    case 2:
      return meet("all" + std::to_string(dice.between(0, 1)), {}, [](bool) {});
    case 3: {
      auto const other = static_cast<cc::task_index>(dice.between(0, std::int64_t(n) - 1));
      auto const low = std::min(task_, other), high = std::max(task_, other);
      return meet("pair" + std::to_string(low) + "-" + std::to_string(high), {low, high},
                  [](bool) {});
    }
    case 4:
    case 5: {
      cc::insert_key_value r{{}, "k/" + std::to_string(dice.between(0, 20)), core::blob("v"), true};
      return call(std::move(r), 5s, [](cc::reply const*) {});
    }
    case 6:
      return call(cc::delete_key_value{{}, "k/" + std::to_string(dice.between(0, 20))}, 5s,
                  [](cc::reply const*) {});
    case 7:
    case 8:
      return wait_for_key();
    case 9:
      return ask_who_lives();
    case 10:
      if (!world_.spec().recoverable && dice.chance(4))
        return call(cc::report_error{{}, me(), muster::code::internal, "user code failed"}, 5s,
                    [](cc::reply const*) {});
      return call(cc::cancel_barrier{{}, "all0", counters_["all0"]}, 5s, [](cc::reply const*) {});
    default:
      if (dice.chance(10)) return leave();
  }
}

void model_agent::meet(std::string id, std::vector<cc::task_index> who,
                       std::function<void(bool)> then) {
  if (!meeting_.insert(id).second) return;  // the library rejects a second wait at the same barrier
  cc::enter_barrier r;
  r.id = id;
  r.counter = counters_[id];
  r.timeout = last_act_ ? 10min : core::duration(world_.dice().between(1, 30'000)) * 1'000;
  r.task = me();
  for (auto const t : who) r.participants.push_back({t, {}});
  auto const patience = r.timeout + (world_.dice().chance(30) ? -r.timeout / 3 : 5s);
  call(std::move(r), patience, [this, id, then](cc::reply const* reply) {
    meeting_.erase(id);
    auto const ok = reply && !reply->fault;
    ++world_.counts[ok ? "passed" : "failed"];
    if (ok) counters_[id] = std::get<std::int64_t>(reply->body) + 1;
    if (reply && reply->fault && reply->fault->barrier)
      counters_[id] = reply->fault->barrier->counter + 1;
    if (reply && reply->fault && reply->fault->mismatch) return suffer(*reply);
    then(ok);
  });
}

void model_agent::wait_for_key() {
  cc::get_key_value r;
  r.key = "k/" + std::to_string(world_.dice().between(0, 20));
  r.wait = world_.dice().chance(70);
  r.incarnation = speaks_xla_ ? incarnation_ : core::incarnation{};
  r.peer = peer_;
  auto const patient = r.wait && world_.dice().chance(20);
  call(std::move(r), patient ? core::duration(24h) : core::duration(10s), [](cc::reply const*) {});
}

void model_agent::ask_who_lives() {
  cc::get_alive_tasks r;
  r.task = me();
  for (cc::task_index t = 0; t < world_.spec().size(); ++t) r.tasks.push_back({t, {}});
  call(std::move(r), 20s, [](cc::reply const* reply) {
    if (!reply || reply->fault) return;
    auto const& alive = *std::get<std::shared_ptr<cc::alive_tasks const>>(reply->body);
    if (alive.tasks.size() != alive.incarnations.size()) throw violation("half an alive answer");
  });
}

void model_agent::leave() {
  call(cc::shutdown_task{{}, me()}, world_.spec().shutdown_timeout + 5s,
       [this](cc::reply const* reply) {
         auto const ok = reply && !reply->fault;
         if (ok && world_.spec().renew) left_ = true;
         die(ok ? "left" : "could not leave");
         if (last_act_ && ok) return;
         world_.after(core::duration(world_.dice().between(1, 10'000'000)), [this] {
           if (!alive_ && (last_act_ || !resting_)) start();
         });
       });
}

}  // namespace muster::coordination_simulation
