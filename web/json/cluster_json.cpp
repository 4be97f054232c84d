// One function a view, member by member in the order of the contract.
#include "web/json/cluster_json.hpp"

#include "base/text.hpp"
#include "base/utf8.hpp"

namespace muster::web {

namespace {

using coordination::agent_health;
using coordination::severity;

// Times in milliseconds since the epoch; 0 when it has not happened.
void time(json_out& out, std::string_view key, core::time_point t) {
  out.key(key).number(core::to_unix_ms(t));
}

void milliseconds(json_out& out, std::string_view key, core::duration d) {
  out.key(key).number(std::chrono::duration_cast<std::chrono::milliseconds>(d).count());
}

// Null when it has not happened.
void age(json_out& out, std::string_view key, core::time_point t, core::time_point now) {
  out.key(key);
  if (t == core::time_point{})
    out.null();
  else
    out.number(ms_since(t, now));
}

// 64 bits do not fit into a JSON number that everybody reads exactly.
std::string decimal(core::incarnation i) {
  return std::to_string(core::raw(i));
}

void write(json_out& out, coordination::first_cause const& c) {
  auto const object = out.object();
  out.key("task").string(c.task);
  out.key("address").string(c.peer);
  out.key("message").string(c.message);
  time(out, "at_ms", c.at);
}

void write(json_out& out, coordination::missing_task const& t, core::time_point now) {
  auto const object = out.object();
  out.key("task").string(t.name);
  out.key("address").string(t.peer);
  time(out, "last_seen_ms", t.last_heartbeat);
  age(out, "silent_ms", t.last_heartbeat, now);
}

}  // namespace

std::string_view severity_name(severity s) {
  return s == severity::info ? "INFO" : s == severity::warning ? "WARNING" : "ERROR";
}

std::int64_t ms_since(core::time_point then, core::time_point now) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - then).count();
  return std::max<std::int64_t>(0, ms);
}

void write_fields(json_out& out, coordination::cluster_spec const& spec) {
  out.key("name").string(spec.name);
  out.key("type").string(spec.service_type);
  out.key("jobs").begin_object();
  for (auto const& j : spec.jobs) out.key(j.name).number(j.tasks);
  out.end_object();
  out.key("recoverable_jobs").begin_array();
  for (auto const& j : spec.jobs)
    if (j.recoverable) out.string(j.name);
  out.end_array();
  if (spec.stateful_jobs) {
    out.key("stateful").begin_array();
    for (auto const& job : *spec.stateful_jobs) out.string(job);
    out.end_array();
  }
  milliseconds(out, "heartbeat_timeout_ms", spec.heartbeat_timeout);
  milliseconds(out, "connection_grace_ms", spec.connection_grace);
  out.key("error_delivery").string(coordination::name(spec.errors));
  out.key("agents").string(coordination::name(spec.agents));
  milliseconds(out, "register_timeout_ms", spec.register_timeout);
  milliseconds(out, "shutdown_timeout_ms", spec.shutdown_timeout);
  milliseconds(out, "stuck_after_ms", spec.stuck_after);
  out.key("recoverable").boolean(spec.recoverable);
  out.key("allow_reconnect").boolean(spec.allow_reconnect);
  out.key("register_barrier").boolean(spec.register_barrier);
  out.key("renew").boolean(spec.renew);
}

void write_agents(json_out& out, coordination::generation_view const& g) {
  using enum agent_health;
  out.key("agents").begin_object();
  for (auto const h : {missing, registering, connected, late, error, disconnected})
    out.key(lower(coordination::name(h))).number(g.by_health[static_cast<std::size_t>(h)]);
  out.end_object();
}

void write(json_out& out, coordination::generation_view const& g) {
  auto const object = out.object();
  out.key("number").number(g.number);
  out.key("incarnation").string(decimal(g.incarnation));
  out.key("state").string(coordination::name(g.state));
  time(out, "started_ms", g.started);
  time(out, "ended_ms", g.ended);
  if (g.cause) {
    out.key("cause");
    write(out, *g.cause);
  }
  write_agents(out, g);
  out.key("barriers").begin_object();
  out.key("running").number(g.barriers_running);
  out.key("remembered").number(g.barriers_remembered);
  out.end_object();
  out.key("keys").number(g.keys);
  out.key("key_bytes").number(g.key_bytes);
  out.key("parked_calls").begin_object();
  out.key("total").number(g.parked_calls);
  out.key("polls").number(g.parked_polls);
  out.key("key_waits").number(g.parked_key_waits);
  out.key("watches").number(g.parked_watches);
  out.end_object();
}

void write(json_out& out, coordination::agent_view const& a, core::time_point now) {
  auto const object = out.object();
  out.key("kind").string("agent");
  out.key("job").string(a.job);
  out.key("index").number(a.index);
  out.key("state").string(coordination::name(a.health));
  out.key("incarnation").string(decimal(a.incarnation));
  out.key("host").string(a.peer.substr(0, a.peer.rfind(':')));
  out.key("address").string(a.peer);
  time(out, "registered_ms", a.registered_at);
  time(out, "last_seen_ms", a.last_heartbeat);
  age(out, "heartbeat_age_ms", a.last_heartbeat, now);
  out.key("devices").number(a.devices);
  if (!a.device_names.empty()) out.key("device_names").strings(a.device_names);
  out.key("recoverable").boolean(a.recoverable);
  if (a.error) {
    out.key("error").begin_object();
    out.key("code").string(name(a.error->code));
    out.key("message").string(a.error->message);
    out.key("casualty").boolean(a.casualty);
    out.end_object();
  }
  if (!a.late_for.empty()) {
    out.key("late_for").string(a.late_for);
    time(out, "late_since_ms", a.late_since);
  }
  out.key("waiting_for").strings(a.waiting_for);
}

void write(json_out& out, coordination::barrier_view const& b, core::time_point now,
           bool with_tasks) {
  bool const running = b.state == coordination::barrier_state::running;
  auto const object = out.object();
  out.key("id").string(b.id);
  out.key("counter").number(b.counter);
  out.key("state").string(coordination::name(b.state));
  out.key("participants").number(b.participants);
  out.key("arrived_count").number(b.arrived_count);
  out.key("missing_count").number(b.participants - b.arrived_count);
  time(out, "started_ms", b.started);
  time(out, "ended_ms", b.ended);
  out.key("time_left_ms");
  if (!running || b.deadline == core::never)
    out.null();
  else
    out.number(ms_since(now, b.deadline));
  out.key("first").string(b.first);
  if (b.fault) {
    out.key("error").begin_object();
    out.key("code").string(name(b.fault->code));
    out.key("message").string(b.fault->message);
    out.end_object();
  }
  if (with_tasks) {
    out.key("arrived").strings(b.arrived);
    out.key("missing").begin_array();
    for (auto const& task : b.missing) write(out, task, now);
    out.end_array();
  }
}

void write_bytes(json_out& out, std::string_view bytes) {
  if (is_utf8(bytes))
    out.key("value").string(bytes);
  else
    out.key("value_base64").string(base64(bytes));
}

void write(json_out& out, coordination::key_view const& k, bool with_value) {
  auto const object = out.object();
  out.key("key").string(k.key);
  out.key("size").number(k.value.size());
  time(out, "changed_ms", k.changed);
  if (with_value) write_bytes(out, k.value.view());
}

void write(json_out& out, server::event const& e) {
  auto const object = out.object();
  out.key("number").number(e.number);
  time(out, "time_ms", e.at);
  out.key("severity").string(severity_name(e.what.severity));
  out.key("kind").string(e.what.kind);
  out.key("cluster").string(e.what.cluster);
  out.key("subject").string(e.what.subject);
  out.key("text").string(e.what.text);
}

}  // namespace muster::web
