#include "tests/simulation/model_client.hpp"

#include <algorithm>

namespace muster::simulation {

using namespace std::chrono_literals;

void model_client::start() {
  if (stopped_ || session_open_) return;
  session_open_ = true;
  gone_ = false;
  ++sessions_;
  failing_ = world_.dice().chance(40);
  fancy_ = world_.dice().chance(40);
  if (fancy_ && world_.dice().chance(50)) create_value();
  if (world_.dice().chance(50)) {
    open_stream();
  } else {
    open_job();
  }
}

// Creates a per-worker value. Closures that need it must not be sent before every worker has built
// it, or has a builder's error.
void model_client::create_value() {
  core::create_per_worker e;
  auto const doomed = world_.server().workers().find("worker", doomed_);
  only_doomed_builds_ =
      doomed && doomed->state == core::task_state::connected && world_.dice().chance(30);
  e.function = only_doomed_builds_ ? doomed_builder_ : functions_.front();
  e.args = args_for(some_builder(world_), ++last_token_);
  world_.ask(std::move(e), [this](core::reply const& r) {
    if (!r.status.ok()) throw violation("a per-worker value was refused: " + r.status.message);
    value_ = std::get<core::per_worker_reply>(r.body).id;
  });
}

void model_client::release_value() {
  if (value_ == core::per_worker_id{}) return;
  world_.ask(core::delete_per_worker{{}, std::exchange(value_, {})}, [](core::reply const& r) {
    if (!r.status.ok()) throw violation("a value was released before: " + r.status.message);
  });
}

// Makes a gang as large as the first worker allows. A gang must not wait for itself, so it has no
// inputs.
void model_client::make_gang(std::vector<core::closure_spec>& batch) {
  for (std::size_t i = 0; i < std::min<std::size_t>(2, batch.size()); ++i) {
    auto& c = batch[batch.size() - 1 - i];
    auto x = std::make_shared<core::closure_extras>();
    if (c.extras) x->options = c.extras->options;
    x->options.resources.clear();
    x->options.task_job.clear();
    x->options.task_index = -1;
    x->options.gang = "pair";
    c.extras = std::move(x);
  }
}

// Asks for properties of the first worker, so that no closure waits forever. A closure that asks
// for the doomed worker must fail once it is given up.
void model_client::ask_for_a_worker(core::closure_extras& x) {
  auto& dice = world_.dice();
  if (dice.chance(10)) x.options.task_job = "worker";
  if (!x.options.task_job.empty() && dice.chance(50)) x.options.task_index = 0;
  if (dice.chance(20)) x.options.labels = {{"zone", "a"}};
  if (dice.chance(20))
    x.options.resources = {{"gpu", static_cast<std::uint32_t>(dice.between(1, 2))}};
  if (dice.chance(3) && doomed_is_known()) {
    x.options.task_job = "worker";
    x.options.task_index = doomed_;
  }
  if (value_ == core::per_worker_id{} || !dice.chance(50)) return;
  if (!only_doomed_builds_ || doomed_is_known()) x.per_worker = {value_};
}

std::shared_ptr<core::closure_extras const> model_client::extras(std::size_t position) {
  auto& dice = world_.dice();
  auto x = std::make_shared<core::closure_extras>();
  auto const ms = [&dice](std::int64_t most) {
    return core::duration(std::chrono::milliseconds(dice.between(0, most)));
  };
  x->options.priority = static_cast<std::int32_t>(dice.between(-2, 2));
  if (dice.chance(20)) x->options.delay = ms(400);
  if (dice.chance(20)) x->options.deadline = ms(3'000);
  x->options.max_retries = static_cast<std::uint32_t>(dice.between(0, 3));
  x->options.retry_initial = ms(50);
  x->options.retry_max = ms(200);
  ask_for_a_worker(*x);
  if (position == 0) return x;
  for (auto n = dice.between(0, 3); n > 0; --n)
    x->inputs.push_back(
        {{},
         static_cast<std::uint32_t>(dice.between(0, static_cast<std::int64_t>(position) - 1)),
         0});
  return x;
}

std::vector<core::closure_spec> model_client::batch() {
  auto& dice = world_.dice();
  std::vector<core::closure_spec> out(static_cast<std::size_t>(dice.between(1, 40)));
  bool const patient = world_.server().configuration().max_worker_failures > core::exclusive_after;
  for (auto& c : out) {
    auto b = behaviour::succeed;
    if (failing_ && dice.chance(3)) b = behaviour::fail;
    if (failing_ && dice.chance(1)) b = behaviour::kill_worker;
    if (failing_ && dice.chance(2)) b = behaviour::fail_stale;
    if (failing_ && dice.chance(2)) b = behaviour::lose_ps;
    if (failing_ && dice.chance(2)) b = behaviour::time_out;
    if (failing_ && patient && dice.chance(2)) b = behaviour::kill_five;
    c.token = ++last_token_;
    c.function = functions_[static_cast<std::size_t>(
        dice.between(0, static_cast<std::int64_t>(functions_.size()) - 1))];
    c.args = args_for(b, c.token, sessions_ % 2 ? core::encoding::bytes : core::encoding::json);
    if (fancy_ && dice.chance(50)) c.extras = extras(static_cast<std::size_t>(&c - out.data()));
  }
  if (fancy_ && dice.chance(50)) make_gang(out);
  return out;
}

void model_client::open_stream() {
  core::open_session e;
  e.spec.delivery = core::delivery::stream;
  // Some closures kill their worker. Without a session limit only losses that end a process count.
  if (sessions_ % 3 != 0)
    e.spec.max_worker_failures = world_.server().configuration().max_worker_failures;
  e.spec.open = true;
  e.spec.on_error =
      world_.dice().chance(50) ? core::on_error::fail_fast : core::on_error::continue_all;
  e.spec.queue_capacity = static_cast<std::size_t>(world_.dice().between(10, 200));
  world_.ask(std::move(e), [this](core::reply const& r) {
    if (!r.status.ok()) throw violation("a stream was refused: " + r.status.message);
    session_ = std::get<core::session_reply>(r.body).session;
    schedule_more(static_cast<int>(world_.dice().between(1, 40)));
  });
}

void model_client::schedule_more(int batches) {
  if (gone_) return;
  auto& dice = world_.dice();
  if (batches == 0) {
    world_.ask(core::seal_session{{}, session_}, [](core::reply const&) {});
    return;
  }
  if (dice.chance(2)) release_value();  // closures that need it still get it
  if (dice.chance(2)) {                 // vanish: outcomes are ignored
    gone_ = true;
    auto const id = session_;
    outstanding_.clear();
    ended();
    world_.apply(core::close_session{id});
    return;
  }
  if (dice.chance(3)) world_.ask(core::cancel_session{{}, session_}, [](core::reply const&) {});
  if (world_.server().has_room(session_)) {
    core::schedule e{{}, session_, batch()};
    for (auto const& c : e.closures) outstanding_.insert(c.token);
    --batches;
    world_.apply(std::move(e));
  }
  world_.after(core::duration(dice.between(10, 300'000)),
               [this, batches] { schedule_more(batches); });
}

void model_client::on_outcome(core::outcome const& o) {
  if (gone_) return;
  if (outstanding_.erase(o.token) != 1)
    throw violation("closure " + std::to_string(o.token) + " ended twice, or was never scheduled");
  if (o.ok && std::string(o.value.view()).substr(2) != std::to_string(o.token))
    throw violation("closure " + std::to_string(o.token) + " has the value of another");
  count(world_, o);
}

void model_client::on_notice(core::notice_kind n) {
  if (gone_ || n != core::notice_kind::drained) return;
  if (!outstanding_.empty() && !world_.server().sessions().find(session_)->open)
    throw violation("a session drained with " + std::to_string(outstanding_.size()) +
                    " closures unanswered");
  auto const job = world_.server().sessions().find(session_);
  if (job && !job->open && outstanding_.empty()) {
    gone_ = true;
    auto const id = session_;
    ended();
    world_.after(0ms, [this, id] { world_.apply(core::close_session{id}); });
  }
}

void model_client::check_reply(core::reply const& r, core::time_point deadline) {
  if (world_.now() > deadline + 1ms)
    throw violation("a parked call was answered after its deadline");
  if (r.status.code == muster::code::deadline_exceeded && world_.now() < deadline)
    throw violation("a parked call timed out early");
}

void model_client::open_job() {
  auto& dice = world_.dice();
  core::open_session e;
  e.spec.on_error = dice.chance(50) ? core::on_error::fail_fast : core::on_error::continue_all;
  if (fancy_) {
    e.spec.weight = static_cast<std::uint32_t>(dice.between(1, 5));
    if (dice.chance(20)) e.spec.deadline = std::chrono::milliseconds(dice.between(1, 4'000));
  }
  e.closures = batch();
  core::session_reply opened;
  bool full = false;
  world_.ask(std::move(e), [&](core::reply const& r) {
    full = r.status.code == muster::code::resource_exhausted;
    if (full) return;  // full of unsaved values; tries again later
    if (!r.status.ok()) throw violation("a job was refused: " + r.status.message);
    opened = std::get<core::session_reply>(r.body);
  });
  if (full) return ended();
  follow(opened);
}

void model_client::follow(core::session_reply const& opened) {
  auto& dice = world_.dice();
  session_ = opened.session;
  auto const n = opened.closures.size();
  auto const deadline = world_.now() + core::duration(dice.between(1'000, 5'000'000));
  for (std::size_t i = 0; i < n; i += 5) {
    auto const call =
        world_.ask(core::await_value{{}, opened.closures[i], deadline},
                   [this, deadline](core::reply const& r) { check_reply(r, deadline); });
    if (dice.chance(10)) world_.forget(call);
  }
  if (dice.chance(10))
    world_.ask(core::cancel_closure{{}, opened.closures.back()}, [](core::reply const&) {});
  if (dice.chance(10))
    world_.after(core::duration(dice.between(10, 2'000'000)), [this, id = session_] {
      world_.ask(core::cancel_session{{}, id}, [](core::reply const&) {});
    });
  world_.ask(core::join_session{{}, session_, core::never}, [this, n](core::reply const& r) {
    auto const& j = std::get<core::join_reply>(r.body);
    if (!j.done) throw violation("a join without deadline returned before the end");
    auto const job = *world_.server().sessions().find(session_);
    if (job.counts.succeeded + job.counts.failed + job.counts.cancelled != n)
      throw violation("a job ended with closures missing");
    if (j.state == core::job_state::succeeded && job.counts.succeeded != n)
      throw violation("a job succeeded without all of its closures");
    world_.counts["succeeded"] += job.counts.succeeded;
    world_.counts["failed"] += job.counts.failed;
    world_.counts["cancelled"] += job.counts.cancelled;
    auto const id = session_;
    if (!retry(id)) ended();
    if (world_.dice().chance(50))
      world_.after(1ms, [this, id] {
        world_.ask(core::delete_session{{}, id}, [](core::reply const&) {});
      });
  });
}

// Checks that exactly the closures without success run again, in their order.
bool model_client::retry(core::session_id id) {
  auto const& server = world_.server();
  auto const old = *server.sessions().find(id);
  if (stopped_ || old.counts.failed + old.counts.cancelled == 0) return false;
  if (fancy_ && !doomed_is_known()) return false;  // some may have waited for the doomed worker
  if (!world_.dice().chance(40)) return false;
  auto const functions_of = [&server](core::session_id job, bool all) {
    std::vector<std::string> names;
    auto const closures = server.closures().list(job, 0, ~std::size_t{});
    for (auto const& c : closures->items)
      if (all || c.state != core::closure_state::succeeded) names.push_back(c.function);
    return names;
  };
  auto const bad = functions_of(id, false);
  core::session_reply opened;
  world_.ask(core::retry_job{{}, id}, [&](core::reply const& r) {
    if (r.status.ok()) {
      opened = std::get<core::session_reply>(r.body);
    } else if (r.status.code == muster::code::failed_precondition) {
      // An input or a per-worker value may have been removed.
      if (old.retryable && r.status.message.find("cannot run again: ") == std::string::npos)
        throw violation("a retry was refused: " + r.status.message);
    } else if (r.status.code != muster::code::resource_exhausted) {
      throw violation("a retry was refused: " + r.status.message);
    }
  });
  ++world_.counts[opened.session == core::session_id{} ? "refused_retries" : "retries"];
  if (opened.session == core::session_id{}) return false;
  auto const again = server.sessions().find(opened.session);
  if (!again || again->retry_of != id) throw violation("a retry does not say of what");
  if (functions_of(opened.session, true) != bad || opened.closures.size() != bad.size())
    throw violation("a retry has other closures than those that did not succeed");
  follow(opened);
  return true;
}

void model_client::ended() {
  release_value();
  session_open_ = false;
  session_ = {};
  world_.after(core::duration(world_.dice().between(10, 200'000)), [this] { start(); });
}

}  // namespace muster::simulation
