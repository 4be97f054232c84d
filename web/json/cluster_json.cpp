#include "web/json/cluster_json.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "server/core/coordination/api/coordination_fields.hpp"
#include "web/json/described_json.hpp"
#include "web/json/late_json.hpp"

namespace muster::web {

namespace {

using coordination::severity;

// Written as a string, because many JSON parsers lose precision above 2^53.
struct decimal {
  core::incarnation value{};
  void write(json_out& out) const { out.string(std::to_string(core::raw(value))); }
  static schema::json schema() { return schema::matching("^[0-9]{1,20}$"); }
};

optional_ms age(core::time_point t, core::time_point now) {
  if (t == core::time_point{}) return {};
  return {ms_since(t, now)};
}

void cause_members(member_list const& m, coordination::first_cause const& c) {
  m("task", c.task);
  m("address", c.peer);
  m("message", c.message);
  m("at_ms", c.at);
}

void fault_members(member_list const& m, coordination::fault const& f) {
  m("code", name(f.code));
  m("message", f.message);
}

void late_host_members(member_list const& m, history::straggler_view::host const& h) {
  m("host", h.name);
  m("tasks", h.tasks);
  m("last", h.last);
  m("late_mean_ms", milliseconds(h.late_mean));
  m("late_max_ms", milliseconds(h.late_max));
}

}  // namespace

optional_ms time_left(core::time_point deadline, core::time_point now) {
  if (deadline == core::never) return {};
  return {ms_since(now, deadline)};
}

void job_sizes(member_list const& m, std::string_view name, coordination::cluster_spec const& of) {
  m.json(
      name, [] { return schema::map(schema::count()); },
      [&of](json_out& out) {
        out.begin_object();
        for (auto const& j : of.jobs) out.key(j.name).number(j.tasks);
        out.end_object();
      });
}

void members(member_list const& m, coordination::cluster_spec const& spec) {
  std::vector<std::string_view> recoverable;
  for (auto const& j : spec.jobs)
    if (j.recoverable) recoverable.push_back(j.name);
  described_members(m, spec, [&](std::string_view name) {
    if (name == "torch_era") return m.when(spec.torch_port.has_value())(name, spec.torch);
    job_sizes(m, name, spec);
    m("recoverable_jobs", recoverable);
  });
}

void agent_counts(member_list const& m, coordination::generation_view const& g) {
  constexpr std::string_view states[] = {"missing", "registering", "connected",
                                         "late",    "error",       "disconnected"};
  for (std::size_t i = 0; i < std::size(states); ++i) m(states[i], g.by_health[i]);
  m("unheard", g.unheard,
    "agents that were connected and have not reconnected since the server restarted");
}

void members(member_list const& m, coordination::generation_view const& g) {
  m("number", g.number);
  m("incarnation", decimal{g.incarnation});
  m("state", g.state);
  m("started_ms", g.started);
  m("ended_ms", g.ended);
  m.some_object("cause", g.cause, cause_members);
  m.object("agents", [&g](member_list const& of) { agent_counts(of, g); });
  m.object("barriers", [&g](member_list const& of) {
    of("running", g.barriers_running);
    of("remembered", g.barriers_remembered);
  });
  m("keys", g.keys);
  m("key_bytes", g.key_bytes);
  m.object("parked_calls", [&g](member_list const& of) {
    of("total", g.parked_calls);
    of("polls", g.parked_polls);
    of("key_waits", g.parked_key_waits);
    of("watches", g.parked_watches);
  });
}

void members(member_list const& m, coordination::agent_view const& a, core::time_point now) {
  m.word("kind", "agent", {"agent"});
  m("job", a.job);
  m("index", a.index);
  m("state", a.health);
  m("incarnation", decimal{a.incarnation});
  m("host", std::string_view(a.peer).substr(0, a.peer.rfind(':')));
  m("address", a.peer);
  m("registered_ms", a.registered_at);
  m("last_seen_ms", a.last_heartbeat);
  m("heartbeat_age_ms", age(a.last_heartbeat, now));
  m.some("unheard", a.unheard,
         "true if the agent has not reconnected since the server restarted; the server still "
         "reports `state` to other agents");
  m("devices", a.devices);
  m.some("device_names", a.device_names);
  m("recoverable", a.recoverable);
  m.some_object("error", a.error, [&a](member_list const& of, coordination::fault const& f) {
    fault_members(of, f);
    of("casualty", a.casualty);
  });
  m.some("late_for", a.late_for);
  m.when(!a.late_for.empty())("late_since_ms", a.late_since);
  m("waiting_for", a.waiting_for);
}

void members(member_list const& m, coordination::barrier_view const& b, core::time_point now,
             bool with_tasks) {
  bool const running = b.state == coordination::barrier_state::running;
  m("id", b.id);
  m("counter", b.counter);
  m("state", b.state);
  m("participants", b.participants);
  m("arrived_count", b.arrived_count);
  m("missing_count", b.participants - b.arrived_count);
  m("started_ms", b.started);
  m("ended_ms", b.ended);
  m("time_left_ms", time_left(running ? b.deadline : core::never, now));
  m("first", b.first);
  m.some_object("error", b.fault, fault_members);
  auto const names = m.when(with_tasks);
  auto const missing_members = [now](member_list const& of, coordination::missing_task const& t) {
    of("task", t.name);
    of("address", t.peer);
    of("last_seen_ms", t.last_heartbeat);
    of("silent_ms", age(t.last_heartbeat, now));
  };
  std::vector<std::string_view> arrived;
  for (auto const& t : b.arrived) arrived.push_back(t.name);
  names("arrived", arrived, "names of the waiting tasks; omitted in listings");
  auto const arrival_members = [](member_list const& of, coordination::arrived_task const& t) {
    of("task", t.name);
    of("came_ms", t.came);
  };
  names.list("arrivals", b.arrived, arrival_members,
             "the waiting tasks, with their arrival times; omitted in listings");
  names.list("missing", b.missing, missing_members,
             "the tasks that have not arrived; omitted in listings");
}

void members(member_list const& m, history::straggler_view const& v) {
  m("generation", v.generation);
  m.list("barriers", v.barriers,
         [](member_list const& of, auto const& b) { late_barrier_members(of, b.id, b); });
  m.list("tasks", v.tasks,
         [](member_list const& of, auto const& t) { late_task_members(of, t.name, t); });
  m.list("hosts", v.hosts, late_host_members);
}

void members(member_list const& m, coordination::key_view const& k, bool with_value) {
  auto const value = k.value.view();
  bool const is_text = with_value && is_utf8(value);
  bool const is_other = with_value && !is_text;
  m("key", k.key);
  m("size", k.value.size());
  m("changed_ms", k.changed);
  m.when(is_text)("value", value);
  m.when(is_other)("value_base64", is_other ? base64(value) : std::string());
}

void members(member_list const& m, server::event const& e) {
  m("number", e.number);
  m("time_ms", e.at);
  m("severity", e.what.severity);
  m("kind", e.what.kind);
  m("cluster", e.what.cluster);
  m("subject", e.what.subject);
  m("text", e.what.text);
}

}  // namespace muster::web
