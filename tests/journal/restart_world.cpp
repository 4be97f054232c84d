#include "tests/journal/restart_world.hpp"

#include <algorithm>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/journal/closure_facts.hpp"

namespace muster::server::journal {

namespace {
constexpr int actions = 250;
constexpr std::uint64_t ids_at_once = 1'000;

std::string value_of(std::string const& args) {
  return "\"done " + args.substr(1, args.size() - 2) + "\"";
}
}  // namespace

restart_world::restart_world(std::uint64_t seed) : dice_(seed) {
  config_.durable = true;
  config_.max_worker_failures = 0;  // a closure may meet any number of crashes
  start_server();
}

void restart_world::fail(std::string why) {
  if (report_.violation.empty()) report_.violation = std::move(why);
}

void restart_world::start_server() {
  ++epoch_;
  core_.reset();
  wide_ = std::make_unique<core::server_wide>(now_);
  wide_->first_generation = 1 + (static_cast<std::uint32_t>(epoch_ - 1) << 20);
  core_ = std::make_unique<core::coordinator>(config_, now_, *wide_);
  auto stored = load_jobs(disk_);
  if (!stored) return fail(stored.error().message);
  wide_->last_session = (epoch_ - 1) * ids_at_once;
  core::restore_jobs all;
  for (auto& j : *stored) all.jobs.push_back(std::move(j.job));
  report_.restored += all.jobs.size();
  perform(core_->step(now_, all));
  functions_.clear();
  core::learn_functions names;
  names.names = {"f", "g", "h"};
  ask(names,
      [this](core::reply const& r) { functions_ = std::get<core::functions_reply>(r.body).ids; });
  write_some(queue_.size());
}

// What waits for the disk, and for being told, is gone with the process.
void restart_world::crash() {
  ++report_.crashes;
  report_.lost_batches += queue_.size();
  written_ -= queue_.size();
  queue_.clear();
  replies_.clear();
  calls_.clear();
  for (auto& [stream, w] : std::exchange(workers_, {})) lost_sight_.push_back(std::move(w));
  start_server();
  check_known();
}

template <class Event>
void restart_world::step(Event e) {
  perform(core_->step(now_, e));
}

template <class Event>
void restart_world::ask(Event e, std::function<void(core::reply const&)> told) {
  e.call = core::call_id{++last_call_};
  calls_.emplace(e.call, std::move(told));
  step(std::move(e));
}

void restart_world::perform(core::effects const& fx) {
  if (!fx.facts.empty()) {
    std::vector<change> batch;
    encode({}, fx.facts, batch);
    queue_.push_back(std::move(batch));
    ++written_;
  }
  for (auto const& w : fx.welcomes) {
    auto& held = workers_[w.stream].held;
    std::vector<held_closure> kept;
    for (auto const k : w.kept) kept.push_back(held.at(k));
    report_.taken_up += kept.size();
    held = std::move(kept);
  }
  for (auto const& d : fx.dispatches)
    for (auto i = d.first; i < d.first + d.count; ++i) {
      auto const& a = fx.assignments[i];
      workers_[d.stream].held.push_back({a.closure, a.attempt, std::string(a.args.view())});
    }
  for (auto const& d : fx.disconnects) workers_.erase(d.stream);
  for (auto const& r : fx.replies) replies_.push_back({written_, r});
  if (auto const wrong = core_->violated_invariant(); !wrong.empty()) fail(wrong);
  write_some(0);
}

// Replies are told in order, each when what it may rest on is on the disk.
void restart_world::write_some(std::size_t batches) {
  for (; batches > 0 && !queue_.empty(); --batches) {
    (void)disk_.write(queue_.front());
    queue_.pop_front();
    ++durable_;
  }
  durable_ = written_ - queue_.size();
  while (!replies_.empty() && replies_.front().number <= durable_) {
    auto const reply = std::move(replies_.front().reply);
    replies_.pop_front();
    if (auto node = calls_.extract(reply.call)) node.mapped()(reply);
  }
}

std::vector<core::closure_spec> restart_world::some_closures(core::session_id of) {
  std::vector<core::closure_spec> list(static_cast<std::size_t>(dice_.between(1, 6)));
  bool const gang = dice_.chance(10);
  for (std::size_t i = 0; i < list.size(); ++i) {
    auto& c = list[i];
    c.function = functions_[static_cast<std::size_t>(dice_.between(0, 1))];
    c.args = core::blob("[" + std::to_string(++last_args_) + "]");
    auto x = std::make_shared<core::closure_extras>();
    if (i > 0 && dice_.chance(25))
      x->inputs.push_back(
          {{}, static_cast<std::uint32_t>(dice_.between(0, static_cast<std::int64_t>(i) - 1)), 1});
    else if (!closures_.empty() && dice_.chance(15))
      x->inputs.push_back(
          {std::next(closures_.begin(),
                     dice_.between(0, static_cast<std::int64_t>(closures_.size()) - 1))
               ->first,
           0, 1});
    if (dice_.chance(15))
      x->options.max_retries = 3, x->options.retry_initial = core::duration(1000);
    if (dice_.chance(10)) x->options.delay = core::duration(dice_.between(1, 300'000));
    if (dice_.chance(10)) x->options.priority = static_cast<std::int32_t>(dice_.between(-3, 3));
    if (gang && list.size() <= 3) x->options.gang = "together";
    if (!x->inputs.empty() || x->options != core::closure_options{}) c.extras = std::move(x);
  }
  (void)of;
  return list;
}

void restart_world::remember(core::session_id job, std::vector<core::closure_id> const& ids,
                             std::vector<std::string> const& args) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    jobs_[job].closures.push_back(ids[i]);
    if (!closures_.emplace(ids[i], known_closure{args[i], false, {}, {}}).second)
      fail(text(ids[i]) + " was given twice");
  }
  report_.accepted += ids.size();
}

namespace {
std::vector<std::string> args_of(std::vector<core::closure_spec> const& closures) {
  std::vector<std::string> all;
  for (auto const& c : closures) all.emplace_back(c.args.view());
  return all;
}
}  // namespace

void restart_world::submit() {
  core::open_session e;
  e.spec.open = dice_.chance(30);
  e.spec.on_error = dice_.chance(70) ? core::on_error::continue_all : core::on_error::fail_fast;
  if (dice_.chance(5)) e.spec.deadline = core::duration(dice_.between(1, 1'000'000));
  e.closures = some_closures({});
  auto args = args_of(e.closures);
  bool const open = e.spec.open;
  ask(std::move(e), [this, args = std::move(args), open](core::reply const& r) {
    if (!r.status.ok()) return;
    auto const& body = std::get<core::session_reply>(r.body);
    jobs_[body.session].open = open;
    remember(body.session, body.closures, args);
  });
}

core::session_id restart_world::some_job(bool open) {
  std::vector<core::session_id> some;
  for (auto const& [id, j] : jobs_)
    if (!j.deleted && (!open || j.open)) some.push_back(id);
  if (some.empty()) return {};
  return some[static_cast<std::size_t>(
      dice_.between(0, static_cast<std::int64_t>(some.size()) - 1))];
}

void restart_world::append() {
  auto const job = some_job(true);
  if (job == core::session_id{}) return submit();
  if (dice_.chance(30)) {
    jobs_[job].open = false;
    core::seal_session seal;
    seal.session = job;
    return ask(seal, [](core::reply const&) {});
  }
  core::schedule e;
  e.session = job;
  e.closures = some_closures(job);
  ask(std::move(e), [this, job, args = args_of(e.closures)](core::reply const& r) {
    if (r.status.ok()) remember(job, std::get<core::session_reply>(r.body).closures, args);
  });
}

void restart_world::attach(model_worker w) {
  core::worker_attached e;
  e.stream = core::stream_id{++last_stream_};
  e.spec.functions = {"f", "g"};
  e.spec.slots = w.slots;
  e.spec.credits = w.credits;
  e.spec.incarnation = w.incarnation;
  for (auto const& c : w.held) e.held.push_back({c.id, c.attempt});
  workers_[e.stream] = std::move(w);
  step(std::move(e));
}

// One that has seen an earlier server, or a new one.
void restart_world::come_back() {
  if (!lost_sight_.empty() && dice_.chance(70)) {
    auto w = std::move(lost_sight_.back());
    lost_sight_.pop_back();
    return attach(std::move(w));
  }
  auto const slots = static_cast<std::uint32_t>(dice_.between(1, 3));
  attach({core::incarnation{++last_incarnation_},
          slots,
          slots + static_cast<std::uint32_t>(dice_.between(0, 2)),
          {}});
}

void restart_world::answer_one(bool well) {
  std::vector<core::stream_id> busy;
  for (auto const& [stream, w] : workers_)
    if (!w.held.empty()) busy.push_back(stream);
  if (busy.empty()) return;
  auto const stream =
      busy[static_cast<std::size_t>(dice_.between(0, static_cast<std::int64_t>(busy.size()) - 1))];
  auto& held = workers_[stream].held;
  auto const c = held.front();
  held.erase(held.begin());
  core::worker_result r;
  r.closure = c.id;
  r.attempt = c.attempt;
  r.ok = well || !dice_.chance(15);
  if (r.ok)
    r.value = core::blob(value_of(c.args));
  else
    r.failure = {core::failure_kind::user, "Error", "broken", "trace", "", 0};
  step(core::worker_results{stream, {std::move(r)}});
}

void restart_world::lose_a_worker() {
  if (workers_.empty()) return;
  auto const it =
      std::next(workers_.begin(), dice_.between(0, static_cast<std::int64_t>(workers_.size()) - 1));
  auto const stream = it->first;
  workers_.erase(it);
  core::worker_detached e;
  e.stream = stream;
  e.reason = "lost";
  step(e);
}

void restart_world::told(core::closure_id id, core::closure_state state, std::string value) {
  auto const it = closures_.find(id);
  if (it == closures_.end()) return;
  auto& c = it->second;
  ++report_.told;
  if (c.told && (c.state != state || c.value != value))
    fail(text(id) + " was told " + std::string(name(c.state)) + " " + c.value + ", now " +
         std::string(name(state)) + " " + value);
  if (state == core::closure_state::succeeded && value != value_of(c.args))
    fail(text(id) + " with " + c.args + " has " + value);
  c.told = true, c.state = state, c.value = std::move(value);
}

void restart_world::ask_for_a_value() {
  if (closures_.empty()) return;
  auto const id = std::next(closures_.begin(),
                            dice_.between(0, static_cast<std::int64_t>(closures_.size()) - 1))
                      ->first;
  core::await_value e;
  e.closure = id;
  e.deadline = now_ + std::chrono::seconds(1);
  ask(e, [this, id](core::reply const& r) {
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
    return ask(e, ignore);
  }
  if (dice_.chance(30)) {
    core::retry_job e;
    e.session = job;
    return ask(e, [this](core::reply const& r) { report_.retried += r.status.ok(); });
  }
  if (core_->job(job)->state == core::job_state::running) return;
  jobs_[job].deleted = true;
  core::delete_session e;
  e.session = job;
  ask(e, ignore);
}

void restart_world::act() {
  auto const roll = dice_.between(1, 100);
  if (roll <= 12) return submit();
  if (roll <= 20) return append();
  if (roll <= 26 && workers_.size() < 3) return come_back();
  if (roll <= 60) return answer_one(false);
  if (roll <= 63) return lose_a_worker();
  if (roll <= 72) return ask_for_a_value();
  if (roll <= 76) return cancel_or_delete();
  if (roll <= 90) return write_some(static_cast<std::size_t>(dice_.between(1, 4)));
  if (roll <= 92) return crash();
  now_ += core::duration(dice_.between(0, 200'000));
  step(core::tick{});
}

// Everybody is there and nothing breaks any more.
void restart_world::heal() {
  lost_sight_.clear();
  for (int i = 0; i < 2; ++i) attach({core::incarnation{++last_incarnation_}, 4, 4, {}});
  // Those whose clients were never told of them, too.
  for (auto const& j : core_->jobs({}, ~std::size_t{}).items) {
    core::seal_session seal;
    seal.session = j.id;
    ask(seal, [](core::reply const&) {});
  }
  for (int i = 0; i < 5'000 && report_.violation.empty(); ++i) {
    answer_one(true);
    write_some(queue_.size());
    if (core_->overview(now_).jobs_running == 0) return;
    now_ = std::max(now_, std::min(core_->next_deadline(), now_ + std::chrono::milliseconds(100)));
    step(core::tick{});
    auto const workers = workers_;
    for (auto const& [stream, w] : workers) step(core::worker_alive{stream});
  }
  fail("jobs have not ended");
}

// Right after a start: what was told is there.
void restart_world::check_known() {
  for (auto const& [id, j] : jobs_) {
    if (j.deleted) continue;
    if (!core_->job(id)) return fail(text(id) + " was accepted and is lost");
    for (auto const c : j.closures) {
      auto const view = core_->closure(c);
      if (!view) return fail(text(c) + " was accepted and is lost");
      if (closures_.at(c).told && view->state != closures_.at(c).state)
        return fail(text(c) + " was told " + std::string(name(closures_.at(c).state)) + " and is " +
                    std::string(name(view->state)));
    }
  }
}

void restart_world::check_the_end() {
  for (auto const& [id, j] : jobs_) {
    if (j.deleted) continue;
    auto const job = core_->job(id);
    if (!job) return fail(text(id) + " is gone");
    if (job->counts.total() < j.closures.size()) return fail(text(id) + " has lost closures");
    for (auto const c : j.closures) {
      auto const v = core_->closure(c);
      if (!v) return fail(text(c) + " is gone");
      if (!core::ended(v->state)) return fail(text(c) + " has not ended");
      told(c, v->state, std::string(v->data.view()));
      ++(v->state == core::closure_state::succeeded ? report_.succeeded
         : v->state == core::closure_state::failed  ? report_.failed
                                                    : report_.cancelled);
    }
  }
}

restart_report restart_world::run() {
  for (int i = 0; i < actions && report_.violation.empty(); ++i) act();
  if (report_.violation.empty() && dice_.chance(50)) crash();
  if (report_.violation.empty()) heal();
  if (report_.violation.empty()) check_the_end();
  if (report_.violation.empty()) crash();  // what the last one ended is there for the next
  if (report_.violation.empty()) check_the_end();
  return report_;
}

}  // namespace muster::server::journal
