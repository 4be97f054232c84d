// Clients that keep closures without an outcome and send them again, like the C++ and Python
// libraries.
#include "tests/journal/session_world.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"

namespace muster::server::journal {

namespace {

constexpr int actions_of_clients = 250;

core::config durable_sessions() {
  core::config c;
  c.durable = true;
  c.max_worker_failures = 0;
  c.session_grace = std::chrono::hours(1);
  return c;
}

void ignore(core::reply const&) {}

}  // namespace

session_world::session_world(std::uint64_t seed) : killed_world(seed, durable_sessions()) {
  server_.on_outcome = [this](core::outcome const& o) { told(o); };
  server_.on_notice = [this](core::session_notification const& n) { told(n); };
}

session_world::client* session_world::find(core::session_id id) {
  for (auto& [n, c] : clients_)
    if (c.session == id && id != core::session_id{}) return &c;
  return nullptr;
}

session_world::client* session_world::some_client() {
  std::vector<client*> some;
  for (auto& [n, c] : clients_)
    if (c.session != core::session_id{}) some.push_back(&c);
  return some.empty() ? nullptr : some[dice_.below(some.size())];
}

void session_world::open() {
  auto const n = ++last_client_;
  core::open_session e;
  e.spec.delivery = dice_.chance(30) ? core::delivery::unary : core::delivery::resumable;
  e.spec.open = true;
  e.spec.on_error = dice_.chance(60) ? core::on_error::continue_all : core::on_error::fail_fast;
  clients_[n].unary = e.spec.delivery == core::delivery::unary;
  server_.ask(std::move(e), [this, n](core::reply const& r) {
    if (!r.status.ok()) return fail("a session is refused: " + r.status.message);
    auto& c = clients_.at(n);
    c.session = std::get<core::session_reply>(r.body).session;
    c.attached = true;
    ++count("opened");
  });
}

void session_world::schedule(client& c) {
  if (!c.attached) return;
  auto const request = ++last_request_;
  std::vector<std::uint64_t> tokens;
  for (auto n = dice_.between(1, 5); n > 0; --n) {
    auto const token = ++last_token_;
    auto& t = c.tasks[token];
    t.request = request;
    t.spec.token = token;
    t.spec.function = server_.function(dice_.below(2));
    t.spec.args = core::blob("[" + std::to_string(token) + "]");
    auto x = std::make_shared<core::closure_extras>();
    if (!tokens.empty() && dice_.chance(20))
      x->inputs.push_back({{}, static_cast<std::uint32_t>(dice_.below(tokens.size())), 1});
    if (dice_.chance(10)) x->options.delay = core::duration(dice_.between(1, 300'000));
    if (auto const v = some_value(c); v != core::per_worker_id{} && dice_.chance(20))
      x->per_worker.push_back(v);
    if (!x->inputs.empty() || !x->per_worker.empty() || x->options != core::closure_options{})
      t.spec.extras = std::move(x);
    tokens.push_back(token);
  }
  count("scheduled") += tokens.size();
  send(c, tokens);
}

// Sends one message, because inputs refer to closures by position.
void session_world::send(client& c, std::vector<std::uint64_t> const& tokens) {
  core::schedule e;
  e.session = c.session;
  for (auto const token : tokens) e.closures.push_back(c.tasks.at(token).spec);
  for (auto& spec : e.closures) spec.function = server_.function(0);
  if (!c.unary) return server_.step(std::move(e));
  server_.ask(std::move(e), [this, session = c.session, tokens](core::reply const& r) {
    auto* const to = find(session);
    if (!to || !r.status.ok()) return;  // an error is being drained
    auto const& ids = std::get<core::session_reply>(r.body).closures;
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (auto const it = to->tasks.find(tokens[i]); it != to->tasks.end()) it->second.id = ids[i];
  });
}

void session_world::send_all_unfinished(client& c) {
  // Complete, because inputs use positions.
  std::map<std::uint64_t, std::vector<std::uint64_t>> requests;
  std::map<std::uint64_t, bool> wanted;
  for (auto const& [token, t] : c.tasks) {
    requests[t.request].push_back(token);
    wanted[t.request] |= !t.outcome;
  }
  for (auto const& [request, tokens] : requests)
    if (wanted[request]) send(c, tokens);
}

core::per_worker_id session_world::some_value(client const& c) const {
  for (auto const& [token, id] : c.values)
    if (id != core::per_worker_id{}) return id;
  return {};
}

void session_world::create_value(client& c, std::uint64_t token) {
  if (!c.attached) return;
  c.values[token];
  core::create_per_worker e;
  e.function = server_.function(0);
  e.args = core::blob("[" + std::to_string(token) + "]");
  e.owner = c.session;
  e.token = token;
  server_.ask(std::move(e), [this, session = c.session, token](core::reply const& r) {
    auto* const to = find(session);
    if (!to || !r.status.ok()) return;
    auto const id = std::get<core::per_worker_reply>(r.body).id;
    if (auto& known = to->values[token]; known == core::per_worker_id{} || known == id)
      known = id;
    else
      fail(text(known) + " is " + text(id) + " now");
    ++count("per_worker");
  });
}

void session_world::release_some(client& c) {
  if (!c.attached) return;
  core::release_values e;
  e.session = c.session;
  std::set<std::uint64_t> unfinished;  // they refer to each other when they are sent again
  for (auto const& [token, t] : c.tasks)
    if (!t.outcome) unfinished.insert(t.request);
  std::vector<std::uint64_t> gone;
  for (auto& [token, t] : c.tasks) {
    if (unfinished.contains(t.request) || !dice_.chance(40)) continue;
    c.unary ? e.closures.push_back(t.id) : e.tokens.push_back(token);
    gone.push_back(token);
  }
  for (auto const token : gone) c.tasks.erase(token);
  count("released") += gone.size();
  server_.ask(std::move(e), ignore);
}

void session_world::break_stream(client& c) {
  if (c.unary || !c.attached) return;
  c.attached = false;
  server_.step(core::suspend_session{c.session});
}

void session_world::resume(client& c) {
  if (c.attached || std::exchange(c.resuming, true)) return;
  if (c.unary) {
    c.attached = true;
    c.resuming = false;
    return send_all_unfinished(c);
  }
  core::resume_session e;
  e.session = c.session;
  for (auto const& [token, t] : c.tasks) e.tokens.push_back(token);
  for (auto const& [token, id] : c.values) e.per_worker.push_back(token);
  server_.ask(std::move(e), [this, session = c.session](core::reply const& r) {
    auto* const to = find(session);
    if (!to) return;
    if (!r.status.ok()) return fail(text(session) + " cannot be resumed: " + r.status.message);
    to->attached = true;
    to->resuming = false;
    auto const generation = std::get<core::resume_reply>(r.body).generation;
    if (generation < to->generation) fail(text(session) + " is back in an earlier generation");
    to->generation = generation;
    ++count("resumed");
    std::vector<std::uint64_t> unanswered;
    for (auto const& [token, id] : to->values)
      if (id == core::per_worker_id{}) unanswered.push_back(token);
    for (auto const token : unanswered) create_value(*to, token);
    send_all_unfinished(*to);
  });
}

void session_world::keep(client& c, std::uint64_t token, core::outcome const& o) {
  auto const it = c.tasks.find(token);
  if (it == c.tasks.end()) return;
  auto& t = it->second;
  ++count("told");
  auto const args = std::string(t.spec.args.view());
  bool const builds = !t.spec.extras || t.spec.extras->inputs.empty();
  if (o.ok && builds && o.value.view() != value_of(args))
    fail("token " + std::to_string(token) + " has " + std::string(o.value.view()));
  if (t.outcome) {
    ++count("repeated");
    if (t.outcome->ok != o.ok || t.outcome->value != o.value || t.outcome->closure != o.closure)
      fail("token " + std::to_string(token) + " was told otherwise before");
    return;
  }
  t.outcome = o;
  if (o.closure != core::closure_id{}) t.id = o.closure;
}

void session_world::told(core::outcome const& o) {
  if (auto* const c = find(o.session); c && c->attached && !c->unary) keep(*c, o.token, o);
}

void session_world::told(core::session_notification const& n) {
  auto* const c = find(n.session);
  if (c && c->attached && n.kind == core::notice_kind::drained)
    c->generation = std::max(c->generation, n.generation + 1);
}

void session_world::fetch(client& c) {
  if (c.tasks.empty() || !c.attached) return;
  auto const it =
      std::next(c.tasks.begin(), static_cast<std::ptrdiff_t>(dice_.below(c.tasks.size())));
  if (it->second.id == core::closure_id{}) return;
  core::await_value e;
  e.closure = it->second.id;
  e.deadline = server_.now() + std::chrono::seconds(1);
  server_.ask(e, [this, session = c.session, token = it->first](core::reply const& r) {
    auto* const to = find(session);
    if (!to || !to->tasks.contains(token)) return;
    if (r.status.code == code::deadline_exceeded) return;
    if (!r.status.ok()) return fail("a value is not there: " + r.status.message);
    auto const& v = std::get<core::value_reply>(r.body);
    core::outcome o;
    o.ok = v.state == core::closure_state::succeeded;
    o.value = v.data;
    o.closure = to->tasks.at(token).id;
    keep(*to, token, o);
  });
}

// Checks that an error is raised once, even if the server is killed afterwards.
void session_world::settle(client& c) {
  if (!c.unary || !c.attached) return;
  core::join_session e;
  e.session = c.session;
  e.deadline = server_.now() + std::chrono::seconds(1);
  e.mode = core::join_mode::settle;
  server_.ask(e, [this, session = c.session](core::reply const& r) {
    auto* const to = find(session);
    auto const* j = std::get_if<core::join_reply>(&r.body);
    if (!to || !r.status.ok() || !j) return;
    if (j->generation < to->generation) fail(text(session) + " is back in an earlier generation");
    to->generation = j->generation;
    if (!j->has_error) return;
    ++count("raised");
    if (!to->errors.insert(j->generation).second) fail(text(session) + " raises an error twice");
  });
}

void session_world::close(client& c) {
  if (!c.attached) return;
  ++count("closed");
  auto const session = c.session;
  std::erase_if(clients_, [&](auto const& entry) { return entry.second.session == session; });
  server_.step(core::close_session{session});
}

void session_world::lose_touch() {
  // Without a session id there is no session.
  std::erase_if(clients_,
                [](auto const& entry) { return entry.second.session == core::session_id{}; });
  for (auto& [n, c] : clients_) c.attached = c.resuming = false;
}

void session_world::check_known() {
  for (auto const& [n, c] : clients_) {
    if (!server_.core().sessions().find(c.session)) return fail(text(c.session) + " is lost");
    for (auto const& [token, id] : c.values)
      if (id != core::per_worker_id{} && !server_.core().per_worker().find(id))
        return fail(text(id) + " is lost");
    for (auto const& [token, t] : c.tasks) {
      if (t.id == core::closure_id{}) continue;
      auto const view = server_.core().closures().find(t.id);
      if (!view) return fail(text(t.id) + " is lost");
      if (t.outcome && (view->state == core::closure_state::succeeded) != t.outcome->ok)
        return fail(text(t.id) + " was told otherwise");
    }
  }
}

void session_world::act() {
  auto const roll = dice_.between(1, 100);
  auto* const c = some_client();
  if (roll <= 4 || (!c && roll <= 30)) return open();
  if (!c) return server_.write_some(1);
  if (roll <= 18) return schedule(*c);
  if (roll <= 20) return create_value(*c, ++last_token_);
  if (roll <= 26 && workers_.size() < 3) return workers_.come_back();
  if (roll <= 54) return workers_.answer_one(false);
  if (roll <= 57) return workers_.lose_one();
  if (roll <= 62) return release_some(*c);
  if (roll <= 65) return break_stream(*c);
  if (roll <= 72) return resume(*c);
  if (roll <= 74) return fetch(*c);
  if (roll <= 76) return settle(*c);
  if (roll <= 77) return close(*c);
  go_on(roll);
}

void session_world::live() {
  for (int i = 0; i < actions_of_clients; ++i) act();
  if (dice_.chance(50)) crash();
  heal();
  check_known();
  for (auto& [n, c] : clients_) release_some(c);
  server_.write_some(1);
  crash();
  heal();
  release_all();
  leave();
}

}  // namespace muster::server::journal
