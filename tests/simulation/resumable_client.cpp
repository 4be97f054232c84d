#include "tests/simulation/resumable_client.hpp"

#include <algorithm>

#include "server/core/api/blob_name.hpp"

namespace muster::simulation {

using namespace std::chrono_literals;

void resumable_client::start() {
  if (stopped_ || session_open_) return;
  auto& dice = world_.dice();
  session_open_ = true;
  ++life_;
  by_call_ = dice.chance(40);
  failing_ = dice.chance(60);
  turns_left_ = static_cast<int>(dice.between(5, 60));
  pending_.clear(), held_.clear(), values_.clear(), built_.clear(), dropped_.clear();
  generation_ = 1, raised_generation_ = 0;
  draining_ = has_failed_ = false;
  grace_ = std::chrono::milliseconds(dice.between(1'000, 5'000));
  core::open_session e;
  e.spec.open = true;
  e.spec.delivery = by_call_ ? core::delivery::unary : core::delivery::resumable;
  // Some closures kill their worker.
  e.spec.max_worker_failures = world_.server().configuration().max_worker_failures;
  e.spec.grace = grace_;
  e.spec.on_error = dice.chance(80) ? core::on_error::fail_fast : core::on_error::continue_all;
  e.spec.queue_capacity = static_cast<std::size_t>(dice.between(20, 200));
  world_.ask(std::move(e), [this](core::reply const& r) {
    if (!r.status.ok()) throw violation("a resumable session was refused: " + r.status.message);
    session_ = std::get<core::session_reply>(r.body).session;
  });
  connected_ = !by_call_;
  by_call_ ? call_turn(life_) : turn(life_);
}

core::closure_spec resumable_client::some_closure() {
  auto& dice = world_.dice();
  bool const patient = world_.server().configuration().max_worker_failures > core::exclusive_after;
  auto b = behaviour::succeed;
  if (failing_ && dice.chance(2)) b = behaviour::fail;
  if (failing_ && dice.chance(1)) b = behaviour::kill_worker;
  if (failing_ && patient && dice.chance(1)) b = behaviour::kill_five;
  core::closure_spec c;
  c.token = ++last_token_;
  c.function = functions_[static_cast<std::size_t>(
      dice.between(0, static_cast<std::int64_t>(functions_.size()) - 1))];
  c.args = args_for(b, c.token);
  return c;
}

// Streams.

void resumable_client::turn(std::uint64_t life) {
  if (life != life_ || !session_open_) return;
  auto& dice = world_.dice();
  if (connected_) {
    bool const leaving = turns_left_ <= 0 && pending_.empty() && !draining_;
    if (leaving) return leave();
    if (turns_left_ > 0 && !draining_ && world_.server().has_room(session_)) schedule_some();
    if (dice.chance(30)) fetch_some();
    if (dice.chance(40)) release_some();
    own_values();
    if (dice.chance(2) && !draining_) {
      draining_ = true;  // until the drained notice arrives
      world_.ask(core::cancel_session{{}, session_}, [](core::reply const&) {});
    }
    if (turns_left_ > 0 && dice.chance(8)) break_stream();
    --turns_left_;
  }
  world_.after(core::duration(dice.between(1'000, 300'000)), [this, life] { turn(life); });
}

void resumable_client::schedule_some() {
  auto& dice = world_.dice();
  std::vector<std::uint64_t> tokens;
  for (auto n = dice.between(1, 20); n > 0; --n) {
    auto spec = some_closure();
    if (!held_.empty() && dice.chance(20)) {
      auto const input =
          std::next(held_.begin(), dice.between(0, static_cast<std::int64_t>(held_.size()) - 1));
      auto extras = std::make_shared<core::closure_extras>();
      extras->inputs.push_back({input->second, 0, 0});
      spec.args = core::blob(spec.args.view(), core::encoding::bytes);  // accepts JSON and bytes
      spec.extras = std::move(extras);
    } else if (!built_.empty() && dice.chance(20)) {
      auto extras = std::make_shared<core::closure_extras>();
      extras->per_worker.push_back(built_.begin()->second);
      spec.extras = std::move(extras);
    }
    if (behaviour_of(spec.args) == behaviour::succeed && dice.chance(30))
      spec.args = large_args(spec.args);
    spec.own_error = dice.chance(25);
    auto const token = spec.token;
    auto const generation = spec.own_error ? 0 : generation_;  // belongs to no generation
    pending_.emplace(token, pending{std::move(spec), generation, true});
    tokens.push_back(token);
  }
  if (dice.chance(5)) return break_stream();  // the new closures are never sent
  send(tokens);
}

// Checks that a held value is unchanged, or that its loss is reported with a reason.
void resumable_client::fetch_some() {
  auto const deadline = world_.now() + 5s;
  for (auto const& [token, id] : held_) {
    if (!world_.dice().chance(20)) continue;
    auto const it = values_.find(token);
    if (it == values_.end()) continue;
    world_.ask(
        core::await_value{{}, id, deadline}, [this, expected = it->second](core::reply const& r) {
          if (r.status.code == muster::code::not_found) {
            if (r.status.message.find("released") == std::string::npos)
              throw violation("a held value is gone and nobody says why: " + r.status.message);
            return;
          }
          if (!r.status.ok()) return;  // deadline exceeded
          auto const& v = std::get<core::value_reply>(r.body);
          if (v.state != core::closure_state::succeeded) return;
          if (!same_value(v.data.view(), expected))
            throw violation("a fetched value is another than the one that came");
          memory_.check_there(v.data.view());
        });
  }
}

void resumable_client::send(std::vector<std::uint64_t> const& tokens) {
  std::map<std::uint32_t, core::schedule> messages;
  for (auto const token : tokens) {
    auto& p = pending_.at(token);
    ++p.asked;
    auto& m = messages[p.generation];
    m.session = session_;
    m.generation = p.generation;
    m.closures.push_back(p.spec);
  }
  for (auto& [generation, m] : messages) world_.apply(std::move(m));
}

// Releases values. A released value is forgotten, or not sent if its closure still runs.
void resumable_client::release_some() {
  auto& dice = world_.dice();
  core::release_values e{{}, session_, {}, {}};
  std::vector<core::closure_id> gone;
  for (auto it = held_.begin(); it != held_.end();) {
    if (!dice.chance(30)) {
      ++it;
      continue;
    }
    e.tokens.push_back(it->first);
    gone.push_back(it->second);
    it = held_.erase(it);
  }
  for (auto& [token, p] : pending_)
    if (p.wanted && dice.chance(5)) p.wanted = false, e.tokens.push_back(token);
  world_.counts["released"] += e.tokens.size();
  world_.ask(std::move(e), [](core::reply const&) {});
  for (auto const id : gone)  // a large value may be an input of others
    if (auto const left = world_.server().closures().find(id);
        left && left->released.empty() && !core::names_blob(left->data.view()))
      throw violation("a released value is still there");
}

void resumable_client::break_stream() {
  auto& dice = world_.dice();
  auto const life = life_;
  connected_ = false;
  // Otherwise the stream is replaced.
  if (!dice.chance(20)) world_.apply(core::suspend_session{session_});
  auto const away =
      dice.chance(90) ? dice.between(1'000, 900'000) : dice.between(100'000, 8'000'000);
  world_.after(core::duration(away), [this, life] { come_back(life); });
}

void resumable_client::come_back(std::uint64_t life) {
  if (life != life_ || !session_open_) return;
  core::resume_session e{{}, session_, {}};
  for (auto const& [token, p] : pending_) e.tokens.push_back(token);
  for (auto const& [token, id] : held_) e.tokens.push_back(token);
  resume_values(e);
  core::reply answer;
  world_.ask(std::move(e), [&answer](core::reply const& r) { answer = r; });
  if (answer.status.code == muster::code::not_found) return session_lost();
  if (!answer.status.ok()) throw violation("not resumed: " + answer.status.message);
  ++world_.counts["resumed"];
  connected_ = true;
  check_values();
  auto const r = std::get<core::resume_reply>(answer.body);
  if (r.generation > generation_ + 1) throw violation("two generations ended without their client");
  if (r.failed_generation >= generation_) failure_seen(r.failed_generation);
  bool const cancel = draining_ && !has_failed_ && r.generation == generation_;
  if (r.generation > generation_) drained_seen(r.generation - 1);
  std::vector<std::uint64_t> all;
  core::release_values unwanted{{}, session_, {}, {}};
  for (auto const& [token, p] : pending_) {
    all.push_back(token);
    if (!p.wanted) unwanted.tokens.push_back(token);
  }
  send(all);
  world_.ask(std::move(unwanted), [](core::reply const&) {});
  if (cancel) world_.ask(core::cancel_session{{}, session_}, [](core::reply const&) {});
}

void resumable_client::on_outcome(core::outcome const& o) {
  if (by_call_ || !connected_) return;  // ignored by the client
  auto const it = pending_.find(o.token);
  if (it == pending_.end())
    throw violation("closure " + std::to_string(o.token) + " ended twice, or was never scheduled");
  auto const value = o.value.view();
  // A closure cancelled because of another's error quotes that error.
  bool const of_another = !o.ok && o.failure->message.starts_with("cancelled because");
  bool const dropped = !o.ok && !of_another && o.failure->kind == core::failure_kind::cancelled &&
                       o.failure->message.find("was released") != std::string::npos;
  if (it->second.spec.own_error && of_another)
    throw violation("an error of others has ended a closure with an error of its own");
  if (dropped && it->second.asked < 2) throw violation("a value was dropped before it was told");
  auto const& args = it->second.spec.args;
  auto const expected = makes_large(args) ? memory_.make(args, 0) : value_for(args);
  if (o.ok && it->second.wanted && !same_value(value, expected.view()))
    throw violation("closure " + std::to_string(o.token) + " has the value of another");
  if (o.ok && !it->second.wanted && !value.empty())
    throw violation("a value that nobody wants was sent");
  count(world_, o);
  bool const wanted = it->second.wanted;
  if (wanted && o.ok) values_.emplace(o.token, value);
  pending_.erase(it);
  if (o.closure == core::closure_id{}) return;  // was never recorded
  if (wanted)
    held_.emplace(o.token, o.closure);
  else
    world_.after(1ms, [this, life = life_, token = o.token] {
      if (life == life_ && connected_)
        world_.ask(core::release_values{{}, session_, {token}, {}}, [](core::reply const&) {});
    });
}

void resumable_client::on_notice(core::session_notification const& n) {
  if (by_call_ || !connected_) return;
  if (n.kind == core::notice_kind::failed) failure_seen(n.generation);
  if (n.kind == core::notice_kind::drained) drained_seen(n.generation);
}

void resumable_client::failure_seen(std::uint32_t generation) {
  if (generation < generation_) return;
  if (generation != generation_) throw violation("an error of a generation that never began");
  draining_ = has_failed_ = true;
}

void resumable_client::drained_seen(std::uint32_t generation) {
  if (generation < generation_) return;
  if (!draining_) throw violation("drained without a reason");
  auto const own = std::count_if(pending_.begin(), pending_.end(),
                                 [](auto const& p) { return p.second.spec.own_error; });
  if (world_.server().sessions().find(session_)->counts.running > static_cast<std::uint64_t>(own))
    throw violation("raised while something of the generation runs");
  generation_ = generation + 1;
  if (has_failed_) {
    if (generation <= raised_generation_) throw violation("an error was raised twice");
    raised_generation_ = generation;
    ++world_.counts["raised"];
  }
  draining_ = has_failed_ = false;
}

void resumable_client::leave() {
  auto const id = session_;
  auto const held = held_;
  ended();
  world_.apply(core::close_session{id});
  if (auto const left = world_.server().sessions().find(id);
      left && left->state == core::job_state::running)
    throw violation("a closed session is still there");
  for (auto const& [token, closure] : held)
    if (world_.server().closures().find(closure))
      throw violation("a closed session's value is still there");
}

void resumable_client::session_lost() {
  ++world_.counts["lost"];
  ended();
}

void resumable_client::ended() {
  session_open_ = connected_ = false;
  session_ = {};
  world_.after(core::duration(world_.dice().between(10, 200'000)), [this] { start(); });
}

// Unary calls.

void resumable_client::call_turn(std::uint64_t life) {
  if (life != life_ || !session_open_) return;
  auto& dice = world_.dice();
  if (turns_left_-- <= 0 && calls_ == 0) {
    auto const id = session_;
    ended();
    world_.apply(core::close_session{id});
    return;
  }
  if (turns_left_ > 0) {
    for (auto n = dice.between(0, 3); n > 0; --n)
      join_by_call(dice.chance(50) ? core::join_mode::drain : core::join_mode::settle);
    schedule_by_call();
    if (dice.chance(3)) world_.ask(core::cancel_session{{}, session_}, [](core::reply const&) {});
  }
  world_.after(core::duration(dice.between(1'000, 300'000)), [this, life] { call_turn(life); });
}

void resumable_client::join_by_call(core::join_mode mode) {
  ++calls_;
  auto const until = world_.now() + core::duration(world_.dice().between(1'000, 2'000'000));
  world_.ask(core::join_session{{}, session_, until, mode}, [this](core::reply const& r) {
    --calls_;
    collected(r);
  });
}

void resumable_client::collected(core::reply const& r) {
  auto const* j = std::get_if<core::join_reply>(&r.body);
  if (!r.status.ok() || !j || !j->has_error) return;
  if (j->generation <= raised_generation_) throw violation("an error was raised twice");
  raised_generation_ = j->generation;
  ++world_.counts["raised"];
}

// Schedules after the error was collected: no closure of the failed generation can run then.
void resumable_client::schedule_by_call() {
  ++calls_;
  auto const life = life_;
  world_.ask(core::join_session{{}, session_, world_.now() + 2s, core::join_mode::settle},
             [this, life](core::reply const& r) {
               --calls_;
               collected(r);
               auto const* j = std::get_if<core::join_reply>(&r.body);
               if (life != life_ || !session_open_ || !r.status.ok() || !j) return;
               if (j->has_error && world_.server().sessions().find(session_)->counts.running > 0)
                 throw violation("raised while something of the generation runs");
               if (j->has_error) return;
               core::schedule e{{}, session_, {}, 0};
               for (auto n = world_.dice().between(1, 10); n > 0; --n)
                 e.closures.push_back(some_closure());
               world_.ask(std::move(e), [this](core::reply const& scheduled) {
                 if (!scheduled.status.ok()) return;  // queue full
                 core::release_values release{{}, session_, {}, {}};
                 for (auto const id : std::get<core::session_reply>(scheduled.body).closures)
                   if (world_.dice().chance(50)) release.closures.push_back(id);
                 world_.counts["released"] += release.closures.size();
                 world_.ask(std::move(release), [](core::reply const&) {});
               });
             });
}

}  // namespace muster::simulation
