#include "server/hub/object_hub.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "server/core/api/id_text.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/history/log/incident_texts.hpp"
#include "server/hub/hub.hpp"

namespace muster::server {
namespace {

core::objects::object_limits limits_of(core::config const& c) {
  core::objects::object_limits limits;
  limits.grace = c.reconnect_grace;
  return limits;
}

core::failure slow_worker() {
  return core::objects::because(
      core::failure_reason::no_room_for_call,
      {core::failure_kind::user, "muster.ResourceExhausted",
       "its worker is not reading the messages that the server sends", "", "", 0});
}

}  // namespace

// Object IDs start at the current time, so that they increase across server processes.
object_hub::object_hub(hub& of)
    : hub_(of),
      table_(limits_of(of.state().configuration()),
             static_cast<std::uint64_t>(of.now().time_since_epoch().count())) {}

muster::result<core::object_id> object_hub::create(core::session_id s, std::uint64_t number,
                                                   core::objects::object_spec spec) {
  if (spec.job.empty() && !table_.has_made(s, number))
    if (auto placed = place(spec); !placed.ok()) return placed;
  auto made = table_.create(hub_.now(), s, number, std::move(spec));
  deliver();
  return made;
}

// The core knows which functions a task provides, and whether it accepts new work.
muster::status object_hub::place(core::objects::object_spec& spec) const {
  auto const workers = hub_.state().workers();
  for (auto const& [job, index] : table_.holders()) {
    auto const task = workers.find(job, index);
    if (!task || task->draining || task->cordoned || task->away ||
        std::ranges::count(task->functions, spec.function) == 0)
      continue;
    spec.job = job;
    spec.index = index;
    return {};
  }
  return {muster::code::unavailable,
          "task: no connected worker can create the object, because none provides '" +
              spec.function + "'; start such a worker, or specify a task that will connect later",
          "task"};
}

bool object_hub::must_wait_for_name(core::session_id s, std::string_view name) const {
  return table_.must_wait_for_name(hub_.now(), s, name);
}

muster::result<core::dataset_id> object_hub::create_dataset(core::session_id s,
                                                            std::uint64_t number,
                                                            core::datasets::dataset_spec spec) {
  return table_.create_dataset(hub_.now(), s, number, std::move(spec));
}

muster::result<core::object_id> object_hub::find(core::session_id s, std::string_view name) {
  auto found = table_.find(s, name);
  deliver();
  return found;
}

muster::status object_hub::drop(core::session_id s, core::object_id id) {
  auto done = table_.drop(s, id);
  deliver();
  return done;
}

void object_hub::remove(core::object_id id) {
  table_.remove(id);
  deliver();
}

void object_hub::call(core::session_id s, std::vector<core::objects::call_spec> const& calls,
                      std::vector<std::uint64_t> const& taken) {
  auto const who = core::objects::caller_of(s);
  for (auto const number : taken) table_.taken(who, number);
  for (auto const& c : calls) table_.call(who, s, c);
  deliver();
}

void object_hub::call(core::incarnation i, std::string_view ticket,
                      std::vector<core::objects::call_spec> const& calls,
                      std::vector<std::uint64_t> const& taken) {
  auto const who = core::objects::caller_of(i);
  auto const s = table_.holder_of(ticket);
  for (auto const number : taken) table_.taken(who, number);
  for (auto const& c : calls)
    if (c.method == "draw" && table_.find(core::dataset_id{core::raw(c.object)}))
      draw(i, s, c);
    else
      table_.call(who, s, c);
  deliver();
}

// The core knows which closure requests a split, and whether its worker runs the closure.
void object_hub::draw(core::incarnation i, core::session_id s, core::objects::call_spec const& c) {
  auto const who = core::objects::caller_of(i);
  auto const refuse = [&](std::string why) {
    table_.refuse(who, c, {core::failure_kind::input, "", std::move(why), "", "", 0});
  };
  auto wanted = core::datasets::draw_from(c.args.view());
  if (!wanted) return refuse("args: not valid for reading a split");
  auto const from = callers_.find(core::raw(i));
  auto const place = from == callers_.end()
                         ? std::nullopt
                         : hub_.state().held(from->second.stream, wanted->closure, wanted->attempt);
  if (!place)
    return refuse("closure: only a function that its worker is executing can read splits, but " +
                  core::text(wanted->closure) + " is not running");
  wanted->stops = place->stopping;
  table_.draw(who, s, c, *wanted, hub_.state().session_of(wanted->closure), from->second.task);
}

void object_hub::waits(core::stream_id stream, core::objects::call_name const& within,
                       core::objects::call_name const& inner) {
  table_.waits(stream, within, inner);
  deliver();
}

void object_hub::attached(core::stream_id stream, std::pair<std::string, std::int64_t> const& task,
                          core::incarnation i, bool takes) {
  callers_[core::raw(i)] = {stream, core::objects::text(task)};
  incarnations_[stream] = core::raw(i);
  table_.attached(hub_.now(), task, i, stream, takes);
  deliver();
}

void object_hub::reports(core::stream_id stream, std::vector<report> answers) {
  for (auto& r : answers) table_.answered(stream, r.object, std::move(r.answer));
  deliver();
}

void object_hub::built(core::stream_id stream, core::object_id id,
                       std::optional<core::failure> why) {
  table_.built(hub_.now(), stream, id, std::move(why));
  deliver();
}

object_hub::changes object_hub::changes_of(core::effects const& fx) const {
  changes c;
  for (auto const& s : fx.changes.sessions)
    if (s.closed || core::ended(s.state))
      c.ended.push_back(s.session);
    else if (s.kind == core::delivery::resumable)
      c.attached.emplace_back(s.session, s.attached);
  for (auto const& s : fx.changes.sessions_released) c.ended.push_back(s.session);
  // The process may still be alive: its new stream may have replaced this one.
  for (auto const& d : fx.disconnects) c.lost.push_back({d.stream, false, d.status.message});
  if (!table_.is_drawn_from()) return c;
  for (auto const& s : fx.stop_requests) c.stops.push_back(s.closure);
  for (auto const& m : fx.changes.moved)
    if (m.why == core::move_reason::worker_lost || m.why == core::move_reason::retried)
      c.closures.emplace_back(m.closure, false);
  for (auto const& e : fx.changes.ended)
    c.closures.emplace_back(e.of.closure, e.of.as == core::closure_state::succeeded);
  return c;
}

void object_hub::apply(changes const& c) {
  if (c.empty()) return;
  for (auto const s : c.ended) table_.session_ended(s);
  for (auto const& [s, here] : c.attached)
    here ? table_.session_reconnected(s) : table_.session_disconnected(hub_.now(), s);
  for (auto const& g : c.lost) {
    if (auto const was = incarnations_.extract(g.stream))
      if (auto const it = callers_.find(was.mapped());
          it != callers_.end() && it->second.stream == g.stream)
        callers_.erase(it);
    table_.task_disconnected(hub_.now(), g.stream, g.final, g.why);
  }
  for (auto const closure : c.stops) table_.closure_stops(closure);
  for (auto const& [closure, succeeded] : c.closures) table_.closure_ended(closure, succeeded);
  deliver();
}

void object_hub::tick() {
  table_.tick(hub_.now());
  deliver();
}

void object_hub::deliver_answer(core::objects::call_answer const& a) {
  auto const& who = a.name.caller;
  if (!who.of_worker) {
    if (auto* sink = hub_.sessions().sink(core::session_id{who.number})) sink->on_object_answer(a);
    return;
  }
  auto const it = callers_.find(who.number);
  if (it == callers_.end()) return;
  hub_.workers().send(it->second.stream, &object_sink::on_object_answer, a);
}

// The order within a stream is preserved. The coordinator is notified last, because its step can
// call this function again.
void object_hub::deliver() {
  for (auto said = table_.take_output(); !said.empty(); said = table_.take_output()) perform(said);
  hub_.follow_deadlines();
}

bool object_hub::is_slow(object_sink const& worker) const {
  return worker.bytes_to_send() > 2 * table_.limits().waiting_bytes_max;
}

void object_hub::perform(core::objects::output const& said) {
  for (auto const& b : said.begins)
    hub_.workers().send(b.stream, &object_sink::on_objects_begin, b);
  for (auto const& b : said.builds)
    if (auto* sink = hub_.workers().sink(b.stream))
      if (auto const* o = table_.find(b.object))
        is_slow(*sink) ? table_.built(hub_.now(), b.stream, b.object, slow_worker(),
                                      core::objects::object_end::slow)
                       : sink->on_build(b.object, o->spec);
  for (auto const& c : said.calls)
    if (auto* sink = hub_.workers().sink(c.stream))
      if (auto const* call = table_.find(c.name); call && !call->answered)
        is_slow(*sink) ? table_.refuse(c.name, slow_worker())
                       : sink->on_call(c, call->method, call->args);
  for (auto const& d : said.drops)
    if (auto* sink = hub_.workers().sink(d.stream)) sink->on_drop_object(d.object);
  for (auto const& a : said.answers) deliver_answer(a);
  auto const& stateful = hub_.state().configuration().stateful_jobs;
  auto const holds = [&](std::string const& job) {
    return std::find(stateful.begin(), stateful.end(), job) != stateful.end();
  };
  std::set<std::tuple<core::session_id, std::string, std::int64_t>> used;
  for (auto const& u : said.uses)
    if (holds(u.job) && used.emplace(u.session, u.job, u.index).second) hub_.apply(u);
  for (auto const& l : said.lost) hub_.events().publish(history::told(l));
  for (auto const& l : said.losses)
    if (!holds(l.job)) hub_.apply(l);
}

}  // namespace muster::server
