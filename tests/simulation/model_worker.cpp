#include "tests/simulation/model_worker.hpp"

#include <algorithm>

namespace muster::simulation {

using namespace std::chrono_literals;

behaviour behaviour_of(core::blob const& args) {
  return static_cast<behaviour>(args.view().front() - '0');
}
behaviour some_builder(world& w) {
  if (w.dice().chance(20)) return behaviour::fail;
  bool const patient = w.server().configuration().max_worker_failures > core::exclusive_after;
  if (!patient || w.dice().chance(50)) return behaviour::succeed;
  return w.dice().chance(50) ? behaviour::lose_ps : behaviour::time_out;
}
core::blob args_for(behaviour b, std::uint64_t token, core::encoding e) {
  return core::blob(
      std::string(1, static_cast<char>('0' + static_cast<int>(b))) + std::to_string(token), e);
}
core::blob value_for(core::blob const& args) {
  return core::blob("=" + std::string(args.view()), args.encoding());
}
void count(world& w, core::outcome const& o) {
  bool const cancelled = !o.ok && o.failure->kind == core::failure_kind::cancelled;
  ++w.counts[o.ok ? "succeeded" : cancelled ? "cancelled" : "failed"];
}

model_worker::model_worker(world& w, model_memory& m, faults const& f, int number,
                           std::vector<std::string> functions, std::uint64_t& stream_counter)
    : world_(w),
      memory_(m),
      faults_(f),
      number_(number),
      functions_(std::move(functions)),
      stream_counter_(stream_counter),
      tells_times_(number % 3 != 0) {}

void model_worker::start() {
  alive_ = true;
  replaces_ = std::exchange(incarnation_, world_.dice().next() | 1);
  slots_ = static_cast<std::uint32_t>(world_.dice().between(number_ == 0 ? 2 : 1, 4));
  draining_ = false;
  kept_.clear();
  builds_.clear();
  attach();
}

void model_worker::attach() {
  ++link_;
  welcomed_ = false;
  stream_ = core::stream_id{++stream_counter_};
  core::worker_spec spec;
  spec.index = number_ % 2 == 0 ? number_ : -1;  // half of the workers ask for their index
  spec.incarnation = core::incarnation{incarnation_};
  if (number_ % 2 == 1) {
    spec.replaces = core::incarnation{replaces_};
    spec.group = static_cast<std::uint64_t>(number_);
    spec.group_size = 1;
  }
  spec.slots = slots_;
  spec.credits = static_cast<std::uint32_t>(world_.dice().between(slots_, 64));
  spec.functions = functions_;
  spec.labels = {{"zone", number_ % 2 == 0 ? "a" : "b"}};
  spec.resources = {{"gpu", number_ == 0 ? 2u : 1u}};
  spec.per_worker.assign(kept_.begin(), kept_.end());
  spec.host = "host" + std::to_string(number_);
  offered_ = what_it_has();
  world_.apply(core::worker_attached{stream_, std::move(spec), offered_});
  if (stream_ != core::stream_id{}) beat(link_);
}

std::vector<core::held_closure> model_worker::what_it_has() const {
  std::vector<core::held_closure> all;
  for (auto const& h : holds_) all.push_back({h.what.closure, h.what.attempt, h.waits});
  for (auto const& r : answers_) all.push_back({r.closure, r.attempt});
  return all;
}

// Discards what the server rejects and sends the other answers.
void model_worker::on_welcome(core::welcome const& w) {
  auto const wait = transit(5'000);
  welcome_comes_ = world_.now() + wait;
  world_.after(wait, [this, link = link_, kept = w.kept, nested_max = w.nested_max] {
    if (link != link_ || !alive_) return;
    welcomed_ = true;
    nested_max_ = nested_max;
    std::set<std::pair<core::closure_id, std::uint32_t>> unwanted;
    for (auto const& h : offered_) unwanted.insert({h.closure, h.attempt});
    for (auto const k : kept) unwanted.erase({offered_[k].closure, offered_[k].attempt});
    std::erase_if(holds_, [&](held const& h) {
      return unwanted.contains({h.what.closure, h.what.attempt});
    });
    std::erase_if(answers_, [&](core::worker_result const& r) {
      return unwanted.contains({r.closure, r.attempt});
    });
    world_.counts["went_on"] += kept.size();  // closures that survived a broken connection
    execute_next();
    flush(link_);
  });
}

void model_worker::beat(std::uint64_t link) {
  world_.after(world_.server().configuration().heartbeat_interval(), [this, link] {
    if (link != link_ || !alive_) return;
    if (paused_until_ <= world_.now()) send(core::worker_alive{stream_});
    beat(link);
  });
}

// Messages take up to 20 ms and are lost with their stream.
void model_worker::send(core::event e) {
  world_.after(core::duration(world_.dice().between(10, 20'000)),
               [this, link = link_, e = std::move(e)]() mutable {
                 if (link == link_ && stream_ != core::stream_id{}) world_.apply(std::move(e));
               });
}

core::duration model_worker::transit(std::int64_t longest_us) {
  auto const took = core::duration(world_.dice().between(10, longest_us));
  return std::max(took, welcome_comes_ - world_.now() + core::duration(1));
}

void model_worker::on_dispatch(std::vector<core::assignment> batch) {
  world_.after(transit(5'000), [this, link = link_, batch = std::move(batch)] {
    if (link != link_ || !alive_) return;
    for (auto const& a : batch) {
      check_values(a);
      holds_.push_back({a, false, {}});
    }
    execute_next();
  });
}

void model_worker::execute_next() {
  auto const busy = static_cast<std::uint32_t>(std::count_if(
      holds_.begin(), holds_.end(), [](held const& h) { return h.executing && !h.waits; }));
  auto room = slots_ > busy ? slots_ - busy : 0;
  for (auto& h : holds_) {
    if (room == 0) return;
    if (h.executing) continue;
    --room;
    h.executing = true;
    h.began = world_.now();
    auto const took = world_.dice().chance(80) ? world_.dice().between(10, 2'000)
                                               : world_.dice().between(2'000, 900'000);
    auto const wait = std::max(core::duration{}, paused_until_ - world_.now());
    world_.after(wait + core::duration(took), [this, c = h.what.closure, attempt = h.what.attempt,
                                               life = life_] { finish(c, attempt, life); });
    if (took > 10'000 && world_.dice().chance(40))
      world_.after(wait + core::duration(took / 4),
                   [this, c = h.what.closure, attempt = h.what.attempt, life = life_] {
                     wait_or_go_on(c, attempt, life);
                   });
    if (tells_times_)
      world_.after(20ms, [this, c = h.what.closure, attempt = h.what.attempt, life = life_] {
        report_start(c, attempt, life);
      });
  }
}

std::vector<model_worker::held>::iterator model_worker::find(core::closure_id c,
                                                             std::uint32_t attempt) {
  return std::find_if(holds_.begin(), holds_.end(), [&](held const& h) {
    return h.what.closure == c && h.what.attempt == attempt;
  });
}

void model_worker::finish(core::closure_id c, std::uint32_t attempt, std::uint64_t life) {
  if (life != life_ || !alive_) return;
  auto const it = find(c, attempt);
  if (it == holds_.end()) return;
  auto const inputs = look_for_inputs(*it);
  if (inputs == model_memory::place::awaited) return;
  auto const what = it->what;
  bool const builds = what.builds != core::per_worker_id{};
  // Builders fail up to four times; the third failure may be final.
  auto const tried = builds ? ++builds_[what.builds] : what.attempt;
  auto const fails = builds ? core::raw(what.builds) % 5 : 0;
  auto const ran = world_.now() - it->began;
  auto const b = behaviour_of(what.args);
  if (b == behaviour::kill_worker || (b == behaviour::kill_five && what.attempt <= 5))
    return crash(true, what.attempt % 2 == 0 ? ended{{what.closure, what.attempt}} : ended{});
  holds_.erase(it);
  core::worker_result r;
  r.closure = what.closure;
  r.attempt = what.attempt;
  if (tells_times_) r.execution = ran;
  if (inputs == model_memory::place::never) {
    r.ok = false;
    r.failure.emplace().message = "an input is lost";
    answer(std::move(r));
    return execute_next();
  }
  switch (b) {
    case behaviour::fail:
      r.ok = false;
      r.failure.emplace().message = "as told";
      break;
    case behaviour::fail_stale:
      r.ok = what.attempt > 1;
      r.failure.emplace().kind = core::failure_kind::stale_handle;
      r.value = value_for(what.args);
      break;
    case behaviour::lose_ps:  // lost temporarily: a session with too many losses fails
      r.ok = builds ? tried > fails : tried > 2;
      r.failure.emplace().kind = core::failure_kind::dependency_lost;
      r.failure->dependencies = {builds || tried == 1 ? "ps:0" : "ps:1"};
      r.value = value_for(what.args);
      break;
    case behaviour::time_out:
      r.ok = builds ? tried > fails : tried > 1;
      r.failure.emplace().kind = core::failure_kind::timeout;
      r.value = value_for(what.args);
      break;
    default:
      r.value = value_of(what.args);
  }
  if (builds && (r.ok || b == behaviour::fail)) kept_.insert(what.builds);
  answer(std::move(r));
  execute_next();
}

// Checks that no worker gets a closure that needs an abandoned value. A value is abandoned if its
// builds killed their workers or failed too often.
void model_worker::check_values(core::assignment const& a) const {
  if (!a.extras) return;
  if (a.inputs && a.args.encoding() == core::encoding::json)
    for (auto const& value : *a.inputs)
      if (value.encoding() != core::encoding::json)
        throw violation("an input in bytes was put into JSON arguments");
  auto const given_up = [this](core::per_worker_id v) {
    auto const view = world_.server().per_worker().find(v);
    return view && std::any_of(view->components.begin(), view->components.end(), [](auto& part) {
             return part.state == core::value_state::ready && part.error &&
                    part.error->kind != core::failure_kind::user;
           });
  };
  for (auto const v : a.extras->per_worker)
    if (!kept_.contains(v) && !given_up(v))
      throw violation("worker " + std::to_string(number_) +
                      " was sent a closure that needs value " + std::to_string(core::raw(v)) +
                      ", which it has not built");
}

void model_worker::answer(core::worker_result r) {
  answers_.push_back(std::move(r));
  if (flushing_ || !welcomed_) return;
  flushing_ = true;
  world_.after(core::duration(world_.dice().between(1, 500)),
               [this, link = link_] { flush(link); });
}

void model_worker::flush(std::uint64_t link) {
  if (link != link_) return;
  flushing_ = false;
  if (!alive_ || answers_.empty()) return;
  core::worker_results batch{stream_, std::exchange(answers_, {}), {}, {}};
  if (faults_.on && world_.dice().chance(faults_.duplicate_percent)) {
    world_.note("worker " + std::to_string(number_) + " answers twice");
    send(batch);
  }
  send(std::move(batch));
  if (draining_ && holds_.empty())
    world_.after(50ms, [this, link] {
      if (link == link_ && alive_) leave();
    });
}

// Returns a closure that has not started; a started closure is answered as usual.
void model_worker::on_retract(core::retract_request const& r) {
  world_.after(transit(5'000), [this, link = link_, r] {
    if (link != link_ || !alive_) return;
    auto const it = find(r.closure, r.attempt);
    if (it == holds_.end() || it->executing) return;
    holds_.erase(it);
    send(core::worker_results{stream_, {}, {}, {{r.closure, r.attempt}}});
  });
}

void model_worker::on_stop(core::stop_request const& s) {
  world_.after(transit(5'000), [this, link = link_, s] {
    if (link != link_ || !alive_) return;
    auto const it = find(s.closure, s.attempt);
    if (it == holds_.end() || (it->executing && world_.dice().chance(50))) return;
    core::worker_result r;
    r.closure = s.closure;
    r.attempt = s.attempt;
    r.ok = false;
    r.failure.emplace().kind = core::failure_kind::cancelled;
    r.failure->message = "stopped";
    holds_.erase(it);
    answer(std::move(r));
    execute_next();
  });
}

void model_worker::on_drain() {
  draining_ = true;
  world_.after(50ms, [this, link = link_] {
    if (link == link_ && alive_ && holds_.empty()) leave();
  });
}

void model_worker::forget_everything() {
  memory_.gone(incarnation_);
  ++life_;
  holds_.clear();
  answers_.clear();
}

// Loses messages in transit, but not the state of the process.
void model_worker::lose_connection(std::string const& why, bool tell_server, bool clean, ended by) {
  auto const stream = std::exchange(stream_, core::stream_id{});
  ++link_;
  welcomed_ = flushing_ = false;
  if (tell_server && stream != core::stream_id{})
    world_.apply(core::worker_disconnected{stream, clean, why, !clean, by});
}

void model_worker::leave() {
  forget_everything();
  lose_connection("left", true, true);
  alive_ = false;
}

void model_worker::attach_later(core::duration longest) {
  world_.after(core::duration(world_.dice().between(1'000, longest.count())), [this, link = link_] {
    if (link == link_ && alive_) attach();
  });
}

void model_worker::on_disconnect(bool final) {
  stream_ = core::stream_id{};
  ++link_;
  welcomed_ = flushing_ = false;
  if (final || draining_) forget_everything();
  if (final) alive_ = false;  // turn() starts a new process later
  // An operator drains the worker that took this worker's index.
  if (final && number_ % 2 == 0)
    world_.after(100ms, [this] {
      world_.ask(core::drain_task{{}, "worker", number_}, [](core::reply const&) {});
    });
  if (alive_ && !draining_) attach_later(2s);
}

void model_worker::crash(bool noticed, ended by) {
  world_.note("worker " + std::to_string(number_) + (noticed ? " crashes" : " vanishes"));
  alive_ = false;
  forget_everything();
  ++link_;  // if unnoticed, the server still considers the stream alive
  welcomed_ = flushing_ = false;
  if (noticed) lose_connection("connection lost", true, false, by);
}

void model_worker::die() {
  if (alive_) crash(world_.dice().chance(50));
  dead_ = true;
}

void model_worker::turn() {
  if (dead_) return;
  auto& dice = world_.dice();
  if (!alive_) {
    if (dice.chance(30)) start();
    return;
  }
  if (!faults_.on) return;
  if (dice.chance(faults_.crash_percent)) return crash(!dice.chance(faults_.unnoticed_percent));
  if (dice.chance(faults_.pause_percent))
    paused_until_ = world_.now() + core::duration(dice.between(100'000, 40'000'000));
  if (stream_ != core::stream_id{} && dice.chance(faults_.reconnect_percent)) {
    world_.note("worker " + std::to_string(number_) + " loses its connection");
    bool const noticed = dice.chance(50);
    lose_connection("connection reset", noticed, false);
    // Usually soon, sometimes after the grace period.
    return attach_later(dice.chance(70) ? core::duration(100ms) : core::duration(8s));
  }
  if (dice.chance(faults_.cordon_percent)) {
    bool const on = dice.chance(40);  // mostly uncordon
    world_.ask(core::cordon_task{{}, "worker", number_, on}, [](core::reply const&) {});
  }
  if (stream_ != core::stream_id{} && dice.chance(faults_.drain_percent)) {
    draining_ = true;
    send(core::worker_drain{stream_, false});
    if (holds_.empty()) leave();
  }
}

void model_worker::heal() {
  world_.ask(core::cordon_task{{}, "worker", number_, false}, [](core::reply const&) {});
  if (dead_) return;
  paused_until_ = {};
  if (draining_ || !alive_) {
    if (alive_) {
      forget_everything();
      lose_connection("left", true, false);
    }
    start();
  } else if (stream_ == core::stream_id{}) {
    attach();
  }
}

}  // namespace muster::simulation
