#include "tests/coordination/fixture.hpp"

#include <memory>

namespace muster::core::coordination {

namespace {
coordination::limits journalled(coordination::limits l) {
  l.journalled = true;
  return l;
}
}  // namespace

scene::scene(setting s) : limits(journalled(s.limits)), all(limits, 42) {
  if (s.spec.jobs.empty()) s.spec.jobs = {{"worker", s.tasks, false}};
  auto const made = create(s.spec);
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  if (made) id = *made;
}

// Checks the tasks of a reply against the declaration that is current after the step.
void scene::expect_known_tasks(reply const& r) const {
  auto const size = all.spec(id).size();
  auto const known = [&](task_index t) { EXPECT_TRUE(t < size || t == no_task) << t; };
  if (r.fault) known(r.fault->source);
  if (auto const* states = std::get_if<std::shared_ptr<task_states const>>(&r.body);
      states && *states)
    for (auto const& t : (*states)->tasks) known(t.task);
  if (auto const* alive = std::get_if<std::shared_ptr<alive_tasks const>>(&r.body); alive && *alive)
    for (auto const t : (*alive)->tasks) known(t);
}

void scene::fold(changes const& all_of_step) {
  folded_.fold(all_of_step);
  if (!all_of_step.list.empty()) changed_.push_back(all_of_step);
}

void scene::take(effects& fx) {
  fold(fx.changes);
  last_replies_ = fx.replies.size();
  for (auto& r : fx.replies) {
    EXPECT_EQ(open_.erase(r.call), 1u) << "call " << raw(r.call) << " is answered twice or gone";
    if (r.fault) {
      EXPECT_NE(r.fault->code, code::ok);
      EXPECT_LE(r.fault->message.size(), message_bytes_max);
    }
    expect_known_tasks(r);
    auto const call = r.call;
    replies_.emplace(call, std::move(r));
  }
  log_.fold(fx.changes);
  log_events_.insert(log_events_.end(), log_.pending_events().begin(), log_.pending_events().end());
  written_.add(fx.facts);
  if (stopped_) {
    EXPECT_TRUE(fx.facts.empty()) << "state that ends with the process was stored";
  }
  if (checks_each_step) {
    EXPECT_EQ(all.violated_invariant(), "");
    EXPECT_EQ(folded_.difference(all), "");
    if (!stopped_) {
      EXPECT_EQ(lost_at_restart(all, written_, limits, now_), "");
    }
  }
  EXPECT_GT(all.next_deadline(), time_point{});
}

void scene::gone(call_id call) {
  EXPECT_EQ(open_.erase(call), 1u) << "it has been answered";
  take(all.step(now_, call_abandoned{id, call}));
}

status scene::redeclare(cluster_spec spec) {
  auto& fx = all.step(now_, redeclare_cluster{id, std::move(spec)});
  auto const done = fx.declared;
  take(fx);
  return done;
}

status scene::renew(cluster_spec spec) {
  auto& fx = all.step(now_, renew_cluster{id, std::move(spec)});
  auto const done = fx.declared;
  take(fx);
  return done;
}

status scene::fail(muster::code c, std::string message, bool refuses) {
  auto& fx = all.step(now_, fail_cluster{id, c, std::move(message), refuses});
  auto const done = fx.declared;
  take(fx);
  return done;
}

result<cluster_id> scene::create(cluster_spec spec) {
  auto& fx = all.step(now_, create_cluster{std::move(spec)});
  if (!fx.declared.ok()) return fx.declared;
  written_.add(fx.facts);
  fold(fx.changes);
  return fx.cluster;
}

void scene::restart() {
  auto const name = all.spec(id).name;
  std::destroy_at(&all);
  std::construct_at(&all, limits, 43);
  open_.clear();
  stopped_ = false;
  folded_ = {};
  for (auto& c : written_.clusters()) {
    auto const& fx = all.step(now_, restore_cluster{std::move(c)});
    EXPECT_TRUE(fx.declared.ok());
    fold(fx.changes);
  }
  EXPECT_EQ(folded_.difference(all), "");
  auto const found = all.find(name);
  EXPECT_TRUE(found.has_value());
  if (found) id = *found;
}

void scene::advance(duration d) {
  auto const end = now_ + d;
  for (int ticks = 0; all.next_deadline() <= end; ++ticks) {
    if (ticks > 100'000) FAIL() << "the deadline does not advance";
    now_ = std::max(now_, all.next_deadline());
    tick();
  }
  now_ = end;
}

void scene::tick() {
  take(all.step(now_, coordination::tick{}));
}

task_ref scene::ref(task_index t) const {
  if (t < all.spec(id).size()) return {t, {}};
  return {no_task, "/job:worker/task:" + std::to_string(t)};
}

std::vector<task_ref> scene::refs(std::vector<task_index> const& who) const {
  std::vector<task_ref> all_of_them;
  for (auto const t : who) all_of_them.push_back(ref(t));
  return all_of_them;
}

call_id scene::enlist(task_index t, std::uint64_t inc, time_point deadline) {
  return ask(register_task{.from = {},
                           .task = ref(t),
                           .incarnation = core::incarnation{inc ? inc : 100 + t},
                           .peer = "10.0.0." + std::to_string(t) + ":4711"},
             deadline);
}

void scene::enlist_all() {
  for (task_index t = 0; t < all.spec(id).size(); ++t) enlist(t);
}

call_id scene::beat(task_index t, std::uint64_t inc) {
  return ask(heartbeat{{}, ref(t), core::incarnation{inc ? inc : 100 + t}});
}

void scene::beat_all() {
  for (task_index t = 0; t < all.spec(id).size(); ++t) beat(t);
}

call_id scene::leave(task_index t, time_point deadline) {
  return ask(shutdown_task{{}, ref(t)}, deadline);
}
call_id scene::reset(task_index t) {
  return ask(reset_task{{}, ref(t)});
}
call_id scene::poll(task_index t) {
  return ask(poll_for_error{{}, ref(t)});
}
call_id scene::report(task_index t, muster::code c, std::string message) {
  return ask(report_error{{}, ref(t), c, std::move(message)});
}
call_id scene::barrier(std::string name, task_index t, barrier_call b) {
  return ask(enter_barrier{{}, std::move(name), b.counter, b.timeout, ref(t), refs(b.who)},
             b.deadline);
}
call_id scene::cancel(std::string name, std::optional<std::int64_t> counter) {
  return ask(cancel_barrier{{}, std::move(name), counter});
}
call_id scene::set(std::string key, std::string value, bool overwrite) {
  return ask(insert_key_value{{}, std::move(key), blob(value, encoding::bytes), overwrite});
}
call_id scene::get(std::string key, time_point deadline) {
  return ask(get_key_value{{}, std::move(key), true, {}, {}}, deadline);
}
call_id scene::try_get(std::string key) {
  return ask(get_key_value{{}, std::move(key), false, {}, {}});
}
call_id scene::increment(std::string key, std::int64_t by) {
  return ask(increment_key_value{{}, std::move(key), by});
}
call_id scene::dir(std::string key) {
  return ask(get_key_value_dir{{}, std::move(key)});
}
call_id scene::erase(std::string key) {
  return ask(delete_key_value{{}, std::move(key)});
}
call_id scene::watch(std::int64_t version) {
  return ask(watch_tasks{{}, {}, version, false});
}
call_id scene::alive(task_index t, std::vector<task_index> who) {
  return ask(get_alive_tasks{{}, ref(t), refs(who)});
}
call_id scene::devices(task_index t, std::vector<std::string> devices) {
  std::vector<blob> blobs;
  for (auto const& d : devices) blobs.emplace_back(d, encoding::bytes);
  return ask(wait_for_all_tasks{{}, ref(t), std::move(blobs), std::move(devices)});
}

std::optional<muster::code> scene::code_of(call_id c) const {
  if (parked(c)) return {};
  auto const& r = replies_.at(c);
  return r.fault ? r.fault->code : code::ok;
}

std::string scene::message_of(call_id c) const {
  auto const& r = reply_to(c);
  return r.fault ? r.fault->message : std::string();
}

reply const& scene::reply_to(call_id c) const {
  static reply const none;
  auto const it = replies_.find(c);
  EXPECT_NE(it, replies_.end()) << "call " << raw(c) << " is not answered";
  return it == replies_.end() ? none : it->second;
}

fault const& scene::fault_of(call_id c) const {
  static fault const none;
  auto const& r = reply_to(c);
  EXPECT_TRUE(r.fault) << "it is no error";
  return r.fault ? *r.fault : none;
}

std::string scene::value_of(call_id c) const {
  auto const* kv = std::get_if<key_value>(&reply_to(c).body);
  return kv ? std::string(kv->second.view()) : "(none)";
}

std::shared_ptr<task_states const> scene::states_of(call_id c) const {
  auto const* states = std::get_if<std::shared_ptr<task_states const>>(&reply_to(c).body);
  return states ? *states : nullptr;
}

agent_state scene::state_of(task_index t) {
  return states_of(ask(get_task_state{{}, refs({t})}))->tasks.at(0).state;
}

std::int64_t scene::version() {
  return states_of(ask(watch_tasks{{}, {}, 0, true}))->version;
}

std::vector<log_event> scene::log_events(log_event_kind kind) const {
  std::vector<log_event> of_kind;
  for (auto const& r : log_events_)
    if (r.kind == kind) of_kind.push_back(r);
  return of_kind;
}

}  // namespace muster::core::coordination
