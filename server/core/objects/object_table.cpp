#include "server/core/objects/object_table.hpp"

#include <algorithm>
#include <utility>

namespace muster::core::objects {
namespace {

std::string shown(object const& o) {
  return o.spec.name.empty() ? "an object" : "object '" + o.spec.name + "'";
}

}  // namespace

status object_table::open(session_id s, user u) {
  if (auto const it = sessions_.find(s); it != sessions_.end()) {
    it->second.away_since = never;
    calls_.caller_reconnected(caller_of(s));
    return {};
  }
  if (u.ticket.size() < limits_.ticket_bytes_min || u.ticket.size() > limits_.ticket_bytes_max ||
      tickets_.contains(u.ticket))
    return wrong_field("ticket", "must be " + std::to_string(limits_.ticket_bytes_min) + " to " +
                                     std::to_string(limits_.ticket_bytes_max) +
                                     " random bytes that no other session uses");
  tickets_.emplace(u.ticket, s);
  sessions_.emplace(s, opened{std::move(u), {}});
  return {};
}

void object_table::session_ended(session_id s) {
  auto const it = sessions_.find(s);
  if (it == sessions_.end()) return;
  std::vector<object_id> own;
  for (auto& [id, o] : book_.all()) {
    o.users.erase(s);
    if (o.owner == s && !o.spec.detached) own.push_back(id);
  }
  for (auto const id : own) remove(id);
  std::vector<dataset_id> dealt;
  for (auto const& [id, d] : datasets_)
    if (d.owner() == s) dealt.push_back(id);
  for (auto const id : dealt) remove(id);
  tickets_.erase(it->second.of.ticket);
  sessions_.erase(it);
  passed(calls_.leave(caller_of(s)));
}

void object_table::session_disconnected(time_point now, session_id s) {
  auto const it = sessions_.find(s);
  if (it != sessions_.end()) it->second.away_since = std::min(it->second.away_since, now);
}

void object_table::session_reconnected(session_id s) {
  auto const it = sessions_.find(s);
  if (it != sessions_.end()) it->second.away_since = never;
}

time_point object_table::abandoned_since(session_id s, std::string_view name) const {
  auto const* o = book_.find(book_.named(name));
  if (!o || o->owner == s || o->spec.detached || !may_use(s, o->submitter)) return never;
  auto const owner = sessions_.find(o->owner);
  return owner == sessions_.end() ? never : owner->second.away_since;
}

bool object_table::must_wait_for_name(time_point now, session_id s, std::string_view name) const {
  auto const since = abandoned_since(s, name);
  return since != never && now < since + limits_.name_grace;
}

session_id object_table::holder_of(std::string_view ticket) const {
  auto const it = tickets_.find(ticket);
  return it == tickets_.end() ? session_id{} : it->second;
}

bool object_table::may_use(session_id s, std::string const& submitter) const {
  auto const it = sessions_.find(s);
  return it != sessions_.end() &&
         (it->second.of.all || submitter.empty() || it->second.of.submitter == submitter);
}

result<object_id> object_table::create(time_point now, session_id s, std::uint64_t number,
                                       object_spec spec) {
  auto const it = sessions_.find(s);
  if (it == sessions_.end())
    return status{code::failed_precondition, "ticket: must be sent before objects"};
  if (auto const made = it->second.made.find(number); made != it->second.made.end())
    return made->second;
  auto bad = book_.check(spec);
  if (bad.code == code::already_exists && abandoned_since(s, spec.name) != never &&
      !must_wait_for_name(now, s, spec.name)) {
    remove(book_.named(spec.name));
    bad = book_.check(spec);
  }
  if (!bad.ok()) return bad;
  object o;
  o.spec = std::move(spec);
  o.owner = s;
  o.submitter = it->second.of.submitter;
  o.created = o.since = now;
  auto const id = book_.add(std::move(o));
  auto& all = it->second.made;
  all.emplace(number, id);
  if (all.size() > 2 * limits_.objects_max)
    std::erase_if(all, [this](auto const& old) { return !book_.find(old.second); });
  auto& made = *book_.find(id);
  auto const& at = book_.of({made.spec.job, made.spec.index});
  if (at.stream != stream_id{}) {
    if (!at.takes) {
      built(
          now, at.stream, id,
          failure{failure_kind::stale_handle, "", "the worker of its task does not support objects",
                  "", text(task_name{made.spec.job, made.spec.index}), 0},
          object_end::unable);
      return id;
    }
    made.become(now, object_state::starting);
    out_.builds.push_back({at.stream, id});
  }
  use(s, made);
  return id;
}

bool object_table::has_made(session_id s, std::uint64_t number) const {
  auto const it = sessions_.find(s);
  return it != sessions_.end() && it->second.made.contains(number);
}

result<object_id> object_table::find(session_id s, std::string_view name) {
  auto const id = book_.named(name);
  auto* const o = book_.find(id);
  if (!o) return status{code::not_found, "there is no object '" + std::string(name) + "'"};
  if (!may_use(s, o->submitter))
    return status{code::permission_denied, shown(*o) + " belongs to token '" + o->submitter + "'"};
  use(s, *o);
  return id;
}

// Reports every use, because the session may have restarted since the last report.
void object_table::use(session_id s, object& o) {
  o.users.insert(s);
  use_task const said{s, o.spec.job, o.spec.index};
  if (out_.uses.empty() || out_.uses.back() != said) out_.uses.push_back(said);
}

// Objects from an earlier server process are checked first. After a restart, session and ticket are
// unknown until the client reconnects, and the answer must not depend on the order of reconnection.
failure object_table::refused(session_id s, object const* o, call_spec const& c) const {
  if (!o && raw(c.object) <= last_before_)
    return because(
        failure_reason::server_restarted,
        {failure_kind::dependency_lost, "muster.ServerRestarted",
         "UNAVAILABLE: the object is lost: the server has restarted since it was created", "", "",
         0});
  if (!sessions_.contains(s))
    return because(failure_reason::ticket_refused,
                   {failure_kind::input, "muster.TicketError",
                    "the session of the handle has ended, or the handle belongs to another server",
                    "", "", 0});
  if (!o)
    return because(failure_reason::object_gone,
                   {failure_kind::stale_handle, "",
                    "the object was deleted, or its session has ended", "", "", 0});
  if (!may_use(s, o->submitter))
    return because(failure_reason::ticket_refused,
                   {failure_kind::input, "muster.TicketError",
                    shown(*o) + " belongs to token '" + o->submitter + "'", "", "", 0});
  if (c.method.empty() || c.method.size() > limits_.name_bytes_max ||
      c.args.size() > limits_.args_bytes_max)
    return {failure_kind::input,
            "",
            "the method name is empty or too long, or the arguments are too large",
            "",
            "",
            0};
  return o->why;
}

bool object_table::take(call_name const& name, call_spec const& c) {
  switch (calls_.take(name.caller, c)) {
    case call_table::verdict::repeated:
    case call_table::verdict::early:
      break;
    case call_table::verdict::past:
      queue_answer(
          {name,
           false,
           {},
           because(failure_reason::call_forgotten,
                   {failure_kind::dependency_lost, "",
                    "UNAVAILABLE: the call may or may not have been executed; its answer is lost",
                    "", "", 0})});
      break;
    case call_table::verdict::answered:
      if (auto& known = *calls_.find(name); !std::exchange(known.told, true))
        out_.answers.push_back(known.answer);
      break;
    case call_table::verdict::full:
      queue_answer({name,
                    false,
                    {},
                    because(failure_reason::no_room_for_call,
                            {failure_kind::user, "muster.ResourceExhausted",
                             "too many calls are waiting, or their arguments are too large; wait "
                             "for some answers before you call again",
                             "", "", 0})});
      break;
    case call_table::verdict::fresh:
      return true;
  }
  return false;
}

void object_table::call(caller_id who, session_id s, call_spec const& c) {
  call_name const name{who, c.number};
  // The call must not start the caller's number sequence: the earlier process may have answered
  // later calls of this caller.
  if (who.of_worker && raw(c.object) <= last_before_ && !calls_.find(name)) {
    if (calls_.pass(who, c.number)) queue_answer({name, false, {}, refused(s, nullptr, c)});
    return;
  }
  if (!take(name, c)) return;
  if (dataset_id const d{raw(c.object)}; find(d)) return ask(d, name, s, c);
  auto* const o = book_.find(c.object);
  bool const usable = o && o->state != object_state::lost && o->state != object_state::failed;
  if (auto why = refused(s, o, c); !usable || !why.message.empty())
    return fail(name, std::move(why));
  use(s, *o);
  o->queue.push_back(name);
  if (o->state == object_state::pending) return;
  auto const& at = book_.of({o->spec.job, o->spec.index});
  if (at.stream != stream_id{}) out_.calls.push_back({at.stream, c.object, name});
}

status object_table::drop(session_id s, object_id id) {
  if (auto const* d = find(dataset_id{raw(id)}); d && d->owner() == s) {
    remove(dataset_id{raw(id)});
    return {};
  }
  auto* const o = book_.find(id);
  if (!o) return {code::not_found, "there is no " + text(id)};
  if (!may_use(s, o->submitter))
    return {code::permission_denied, shown(*o) + " belongs to token '" + o->submitter + "'"};
  remove(id);
  return {};
}

void object_table::remove(object_id id) {
  auto& o = *book_.find(id);
  fail_all(o, {failure_kind::cancelled, "", shown(o) + " was deleted", "", "", 0});
  bool const there = o.state == object_state::starting || o.state == object_state::ready;
  auto const stream = book_.of({o.spec.job, o.spec.index}).stream;
  if (there && stream != stream_id{}) out_.drops.push_back({stream, id});
  book_.erase(id);
}

void object_table::queue_answer(call_answer a) {
  auto const how = a.ok                                          ? call_end::ok
                   : a.why.kind == failure_kind::cancelled       ? call_end::cancelled
                   : a.why.kind == failure_kind::dependency_lost ? call_end::lost
                                                                 : call_end::failed;
  ++ended_[static_cast<std::size_t>(how)];
  out_.answers.push_back(std::move(a));
}

void object_table::fail(call_name const& n, failure why) {
  queue_answer(calls_.answer(n, {n, false, {}, std::move(why)}));
}

void object_table::refuse(call_name const& n, failure why) {
  auto const* c = calls_.find(n);
  if (!c || c->answered) return;
  auto* const o = book_.find(c->object);
  fail(n, std::move(why));
  if (o) trim(*o);
}

void object_table::fail_all(object& o, failure const& why) {
  for (auto const& n : std::exchange(o.queue, {}))
    if (auto const* c = calls_.find(n); c && !c->answered) fail(n, why);
}

}  // namespace muster::core::objects
