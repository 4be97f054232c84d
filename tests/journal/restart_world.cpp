// REST clients that ask again for answers that they have received.
#include "tests/journal/restart_world.hpp"

#include <algorithm>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/core/api/placeholders.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"

namespace muster::server::journal {

namespace {

constexpr int actions = 250;

core::config durable() {
  core::config c;
  c.durable = true;
  c.max_worker_failures = 0;  // any number of crashes is allowed
  return c;
}

std::size_t inputs_of(core::closure_spec const& c) {
  return c.extras ? c.extras->inputs.size() : 0;
}

}  // namespace

restart_world::restart_world(std::uint64_t seed) : killed_world(seed, durable()) {}

std::vector<core::closure_spec> restart_world::some_closures() {
  std::vector<core::closure_spec> list(static_cast<std::size_t>(dice_.between(1, 6)));
  bool const gang = dice_.chance(10);
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto& c = list[i];
    c.function = server_.function(dice_.below(2));
    c.args = core::blob("[" + std::to_string(++last_args_) + "]");
    auto x = std::make_shared<core::closure_extras>();
    if (i > 0 && dice_.chance(25))
      x->inputs.push_back(
          {{}, static_cast<std::uint32_t>(dice_.between(0, static_cast<std::int64_t>(i) - 1)), 1});
    else if (!closures_.empty() && dice_.chance(15))
      x->inputs.push_back(
          {std::next(closures_.begin(), static_cast<std::ptrdiff_t>(dice_.below(closures_.size())))
               ->first,
           0, 1});
    if (dice_.chance(15))
      x->options.max_retries = 3, x->options.retry_initial = core::duration(1000);
    if (dice_.chance(10)) x->options.delay = core::duration(dice_.between(1, 300'000));
    if (dice_.chance(10)) x->options.priority = static_cast<std::int32_t>(dice_.between(-3, 3));
    if (gang && list.size() <= 3) x->options.gang = "together";
    if (last_args_ % 3 == 0) {  // inputs are sent separately from the arguments
      c.args = core::blob(c.args.view(), core::encoding::bytes);
      for (auto& input : x->inputs) input.offset = core::beside_pickled;
    }
    if (!x->inputs.empty() || x->options != core::closure_options{}) c.extras = std::move(x);
  }
  return list;
}

void restart_world::remember(core::session_id job, std::vector<core::closure_id> const& ids,
                             std::vector<core::closure_spec> const& specs) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    jobs_[job].closures.push_back(ids[i]);
    known_closure k;
    k.args = specs[i].args.view();
    k.inputs = inputs_of(specs[i]);
    if (!closures_.emplace(ids[i], std::move(k)).second) fail(text(ids[i]) + " was assigned twice");
  }
  count("accepted") += ids.size();
}

void restart_world::submit() {
  core::open_session e;
  e.spec.open = dice_.chance(30);
  e.spec.on_error = dice_.chance(70) ? core::on_error::continue_all : core::on_error::fail_fast;
  if (dice_.chance(5)) e.spec.deadline = core::duration(dice_.between(1, 1'000'000));
  e.closures = some_closures();
  auto specs = e.closures;
  bool const open = e.spec.open;
  server_.ask(std::move(e), [this, specs = std::move(specs), open](core::reply const& r) {
    if (!r.status.ok()) return;
    auto const& body = std::get<core::session_reply>(r.body);
    jobs_[body.session].open = open;
    remember(body.session, body.closures, specs);
  });
}

core::session_id restart_world::some_job(bool open) {
  std::vector<core::session_id> some;
  for (auto const& [id, j] : jobs_)
    if (!j.deleted && (!open || j.open)) some.push_back(id);
  if (some.empty()) return {};
  return some[dice_.below(some.size())];
}

void restart_world::append() {
  auto const job = some_job(true);
  if (job == core::session_id{}) return submit();
  if (dice_.chance(30)) {
    jobs_[job].open = false;
    core::seal_session seal;
    seal.session = job;
    return server_.ask(seal, [](core::reply const&) {});
  }
  core::schedule e;
  e.session = job;
  e.closures = some_closures();
  auto specs = e.closures;
  server_.ask(std::move(e), [this, job, specs = std::move(specs)](core::reply const& r) {
    if (r.status.ok()) remember(job, std::get<core::session_reply>(r.body).closures, specs);
  });
}

void restart_world::told(core::closure_id id, core::closure_state state, std::string value) {
  auto const it = closures_.find(id);
  if (it == closures_.end()) return;
  auto& c = it->second;
  ++count("told");
  if (c.told && (c.state != state || c.value != value))
    fail(text(id) + " was reported as " + std::string(name(c.state)) + " " + c.value + ", now as " +
         std::string(name(state)) + " " + value);
  if (state == core::closure_state::succeeded && value != value_of(c.args))
    fail(text(id) + " with " + c.args + " has " + value);
  c.told = true, c.state = state, c.value = std::move(value);
}

void restart_world::ask_for_a_value() {
  if (closures_.empty()) return;
  auto const id =
      std::next(closures_.begin(), static_cast<std::ptrdiff_t>(dice_.below(closures_.size())))
          ->first;
  core::await_value e;
  e.closure = id;
  e.deadline = server_.now() + std::chrono::seconds(1);
  server_.ask(e, [this, id](core::reply const& r) {
    if (!r.status.ok()) return;
    auto const& v = std::get<core::value_reply>(r.body);
    told(id, v.state, std::string(v.data.view()));
  });
}

void restart_world::cancel_or_delete() {
  auto const job = some_job(false);
  if (job == core::session_id{}) return;
  auto const ignore = [](core::reply const&) {};
  if (dice_.chance(25)) {
    core::cancel_session e;
    e.session = job;
    return server_.ask(e, ignore);
  }
  if (dice_.chance(30)) {
    core::retry_job e;
    e.session = job;
    return server_.ask(e, [this](core::reply const& r) { count("retried") += r.status.ok(); });
  }
  if (!core::ended(server_.core().sessions().find(job)->state)) return;
  jobs_[job].deleted = true;
  core::delete_session e;
  e.session = job;
  server_.ask(e, ignore);
}

// Checks that a reported end does not change, even after a crash.
void restart_world::ask_for_an_end() {
  auto const job = some_job(false);
  if (job == core::session_id{}) return;
  core::join_session e;
  e.session = job;
  e.deadline = server_.now() + std::chrono::seconds(1);
  server_.ask(e, [this, job](core::reply const& r) {
    auto const* j = std::get_if<core::join_reply>(&r.body);
    if (!r.status.ok() || !j || !j->done) return;
    auto const view = server_.core().sessions().find(job);
    if (!view) return;
    jobs_[job].ended = true;
    jobs_[job].finished = view->finished;
  });
}

void restart_world::act() {
  auto const roll = dice_.between(1, 100);
  if (roll <= 12) return submit();
  if (roll <= 20) return append();
  if (roll <= 26 && workers_.size() < 3) return workers_.come_back();
  if (roll <= 58) return workers_.answer_one(false);
  if (roll <= 61) return workers_.lose_one();
  if (roll <= 68) return ask_for_a_value();
  if (roll <= 72) return ask_for_an_end();
  if (roll <= 76) return cancel_or_delete();
  go_on(roll);
}

// Connects all workers and stops all failures.
void restart_world::heal() {
  workers_.heal();
  // Includes jobs whose submission was never answered.
  for (auto const& j : server_.core().sessions().list({}, ~std::size_t{}).items) {
    core::seal_session seal;
    seal.session = j.id;
    server_.ask(seal, [](core::reply const&) {});
  }
  for (int i = 0; i < 5'000; ++i) {
    work_well();
    auto const now = server_.core().overview(server_.now());
    if (now.jobs_queued + now.jobs_running == 0) return;
    pass_time();
  }
  fail("jobs have not ended");
}

void restart_world::check_known() {
  for (auto const& [id, j] : jobs_) {
    if (j.deleted) continue;
    auto const job = server_.core().sessions().find(id);
    if (!job) return fail(text(id) + " was accepted and is lost");
    if (j.ended && (!core::ended(job->state) || job->finished != j.finished))
      return fail(text(id) + " was reported as ended and runs, or has ended again");
    for (auto const c : j.closures) {
      auto const view = server_.core().closures().find(c);
      if (!view) return fail(text(c) + " was accepted and is lost");
      if (view->inputs.size() != closures_.at(c).inputs)
        return fail(text(c) + " has lost its inputs");
      if (closures_.at(c).told && view->state != closures_.at(c).state)
        return fail(text(c) + " was reported as " + std::string(name(closures_.at(c).state)) +
                    " and is " + std::string(name(view->state)));
    }
  }
}

void restart_world::check_the_end() {
  for (auto const& [id, j] : jobs_) {
    if (j.deleted) continue;
    auto const job = server_.core().sessions().find(id);
    if (!job) return fail(text(id) + " is lost");
    if (job->counts.total() < j.closures.size()) return fail(text(id) + " has lost closures");
    for (auto const c : j.closures) {
      auto const v = server_.core().closures().find(c);
      if (!v) return fail(text(c) + " is lost");
      if (!core::ended(v->state)) return fail(text(c) + " has not ended");
      told(c, v->state, std::string(v->data.view()));
      ++count(v->state == core::closure_state::succeeded ? "succeeded"
              : v->state == core::closure_state::failed  ? "failed"
                                                         : "cancelled");
    }
  }
}

void restart_world::live() {
  for (int i = 0; i < actions; ++i) act();
  if (dice_.chance(50)) crash();
  heal();
  check_the_end();
  crash();  // ended jobs must exist after a restart
  check_the_end();
}

}  // namespace muster::server::journal
