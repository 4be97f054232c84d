#include "web/json/views_json.hpp"

#include <absl/strings/escaping.h>

#include "base/text.hpp"
#include "server/core/api/closure_fields.hpp"
#include "server/core/texts/attempt_texts.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "web/json/arguments.hpp"
#include "web/json/described_json.hpp"
#include "web/json/json_in.hpp"
#include "web/json/python_call.hpp"

namespace muster::web {

namespace {

constexpr std::string_view with_token = "id of the token with which it was submitted";

struct hex_id {
  core::incarnation value{};
  void write(json_out& out) const { out.string(hex16(core::raw(value))); }
  static schema::json schema() { return schema::id(""); }
};

std::string_view args_text(core::closure_view const& c) {
  return c.args && c.args.encoding() == core::encoding::bytes ? python_arguments_text(c.args.view())
                                                              : std::string_view{};
}

void attempt_members(member_list const& m, core::attempt_view const& a) {
  m("attempt", a.attempt);
  m("worker", a.worker);
  m("incarnation", hex_id{a.incarnation});
  m("host", a.host);
  m("started_ms", a.started);
  m("ended_ms", a.ended);
  m.when(a.ended != core::time_point{} && a.started != core::time_point{})(
      "took_us", std::max<std::int64_t>(0, (a.ended - a.started).count()),
      "the duration in microseconds; missing until the attempt has ended");
  m("outcome", text(a.outcome));
  m("end", name(a.outcome.how), "the outcome as a code, such as WORKER_LOST");
}

void component_members(member_list const& m, core::per_worker_view::component const& c) {
  m("task", c.job + ":" + std::to_string(c.index));
  m("status", c.state);
  m("since_ms", c.since);
  m.some("error", c.error);
  m.some("queued_behind", c.queued_behind,
         "for NOT_READY: the function that the worker is executing before it builds this value");
}

std::string task_text(core::closure_options const& o) {
  return o.task_job + (o.task_index < 0 ? "" : ":" + std::to_string(o.task_index));
}

// Writes only options that differ from their defaults.
void option_members(member_list const& m, core::closure_view const& c) {
  auto const& o = c.options;
  m.when(o.priority != 0)
      .json(
          "priority", [] { return schema::integer(-1'000'000, 1'000'000); },
          [&o](json_out& out) { out.number(o.priority); });
  auto const tried = m.when(o.max_retries != 0);
  tried("max_retries", o.max_retries);
  tried("retries", c.retries);
  tried("retry_delay_ms", o.retry_initial);
  tried("retry_delay_max_ms", o.retry_max);
  m.some("start_ms", c.start_at);
  m.when(o.deadline != core::duration{})("deadline_ms", c.created + o.deadline);
  needs_members(m, o, true);
  m.some("per_worker", c.per_worker);
  auto const needed = m.when(!c.dependents.empty());
  needed.list("dependents", c.dependents, as_value_id,
              "some of the closures that are or were waiting for this closure");
  needed.some("dependents_more", c.dependents_more);
  auto const needs = m.when(!c.inputs.empty());
  needs("inputs_missing", c.inputs_missing);
  needs.list("inputs", c.inputs, as_value_id);
}

void gang_members(member_list const& m, core::gang_view const& g) {
  m("job", g.job);
  m("gang", g.waits.name);
  m("size", g.waits.size);
  m("here", g.waits.ready, "members that are ready to start");
  m("first", g.first);
  m("function", g.function);
  m("since_ms", g.since);
  m("possible", g.waits.possible, "true if the connected workers could run the whole gang");
  m("why", text(g.waits) + (g.lack ? "; " + text(*g.lack) : std::string()));
}

void demand_members(member_list const& m, core::demand_view const& w) {
  m.object("needs", [&w](member_list const& of) { needs_members(of, w.needs, false); });
  m("functions", w.functions, "up to ten functions of these closures");
  m("queued", w.queued);
  m("workers", w.workers, "workers that meet the needs but are draining or cordoned");
  m("first", w.first);
  m("job", w.job);
  m("since_ms", w.since);
  m("why", text(w.lack));
  m("reason", name(w.lack.why), "the reason as a code, such as UNSATISFIABLE");
}

void write_resources(json_out& out, core::task_view const& t) {
  out.begin_object();
  for (auto const& [name, amount] : t.resources) {
    out.key(name).begin_object().key("total").number(amount);
    for (auto const& [known, left] : t.free)
      if (known == name) out.key("free").number(left);
    out.end_object();
  }
  out.end_object();
}

schema::json resources_schema() {
  return schema::map(
      schema::object({{"total", schema::count()}, {"free", schema::count(), schema::optional}}));
}

}  // namespace

void needs_members(member_list const& m, core::closure_options const& o, bool with_gang) {
  m.when(!o.task_job.empty())("task", task_text(o));
  if (with_gang) m.some("gang", o.gang);
  m.some("labels", o.labels);
  m.some("resources", o.resources);
}

void members(member_list const& m, core::failure const& f) {
  described_members(m, f);
}

void members(member_list const& m, core::closure_counts const& c) {
  m("total", c.total());
  m("blocked", c.blocked);
  m("queued", c.queued);
  m("running", c.running);
  m("succeeded", c.succeeded);
  m("failed", c.failed);
  m("cancelled", c.cancelled);
}

void members(member_list const& m, core::job_view const& j) {
  m("id", j.id);
  m("cluster", j.cluster);
  m("name", j.name);
  m("state", j.state);
  m("open", j.open);
  m("stopping", j.stopping);
  m("streaming", j.streaming);
  m.when(j.streaming)("generation", j.generation);
  m.when(j.resumable).object("holding", [&j](member_list const& of) {
    of("attached", j.attached);
    of("detached", j.detached);
    of.when(j.lease_until != core::never)("kept_until_ms", j.lease_until);
    of("values", j.held);
    of("value_bytes", j.value_bytes);
  });
  m("on_error", j.on_error);
  m("counts", j.counts);
  m.some("not_kept", j.not_kept,
         "for a session: closures that the client released before a restart of the server; not "
         "included in counts");
  m("values", j.values);
  m("value_bytes", j.value_bytes);
  m("put_back", j.requeued);
  m("retried", j.retried);
  m.some("client", j.client, "the current or last client of the session");
  m.some("submitted_by", j.submitted_by, with_token);
  m.some("retry_of", j.retry_of);
  m.when(!j.streaming && core::ended(j.state))(
      "retryable", j.retryable, "true if a closure failed and the arguments are still stored");
  m.some("durable", j.durable, "true if the job survives a restart of the server");
  m.when(j.weight != 1)("weight", j.weight);
  m.when(j.deadline != core::never)("deadline_ms", j.deadline);
  m("created_ms", j.created);
  m("finished_ms", j.finished);
  m.some("error", j.error);
  m.when(!j.metadata.empty())
      .json(
          "metadata", [] { return schema::map(schema::any()); },
          [&j](json_out& out) { out.raw(j.metadata); });
}

void write_value(json_out& out, core::blob const& b) {
  if (b.encoding() == core::encoding::json && is_json(b.view())) {
    out.raw(b.view());
  } else {
    out.begin_object().key("$bytes").string(base64(b.view())).end_object();
  }
}

std::int64_t ms_since(core::time_point then, core::time_point now) {
  auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - then).count();
  return std::max<std::int64_t>(0, ms);
}

void members(member_list const& m, core::closure_view const& c,
             server::closure_progress const* progress) {
  m("id", c.id);
  m("job", c.job);
  m("index", c.index);
  m("function", c.function);
  m.some("display_name", c.display_name, "name of the called function; missing if it is unknown");
  m.some("callable", absl::BytesToHexString(c.callable), "hexadecimal SHA-256 of the callable");
  m("state", c.state);
  m("cancel_requested", c.cancel_requested);
  m("alone", c.exclusive,
    "true if the closure repeatedly lost its worker; its current worker runs nothing else");
  m.some("history", c.history, "true if only a summary is stored, without arguments and value");
  m.some("sent_to", c.sent_to);
  m("remote_value", value_id{c.id});
  m("value_status", c.value);
  m.when(c.state == core::closure_state::succeeded)("value_bytes", c.value_bytes);
  m.some("value_spilled", c.spilled);
  m.some("value_released", c.released);
  m.when(bool(c.args)).json("args", schema::any, [&c](json_out& out) {
    if (c.extras && c.args.encoding() == core::encoding::json)
      out.raw(display_arguments(c));
    else
      write_value(out, c.args);
  });
  m.some("args_text", args_text(c),
         "for a pickled call: the client's description of the arguments");
  option_members(m, c);
  m("created_ms", c.created);
  m("finished_ms", c.finished);
  m.some("error", c.error);
  m.some("progress", progress);
  m.list("attempts", c.attempts, attempt_members);
}

void members(member_list const& m, reported_closure const& c) {
  members(m, c.view, c.progress ? &*c.progress : nullptr);
}

void members(member_list const& m, core::task_view const& t, core::time_point now) {
  m.word("kind", "worker", {"worker"});
  m("cluster", t.cluster);
  m("row", t.row);
  m("job", t.job);
  m("index", t.index);
  m("state", t.state);
  m("since_ms", t.since);
  m("last_seen_ms", t.last_seen);
  m("heartbeat_age_ms", ms_since(t.last_seen, now));
  m("incarnation", hex_id{t.incarnation});
  m("host", t.host);
  m("pid", t.pid);
  m("version", t.version);
  m("slots", t.slots);
  m("credits", t.credits);
  m("running", t.running);
  m("waiting_for_values", t.waiting);
  m("sent_ahead", t.prefetched);
  m("finished", t.finished,
    "closures that ended on this worker, including failed and cancelled closures");
  m("failed", t.failed, "finished closures that failed");
  m("restarts", t.restarts);
  m("reconnects", t.reconnects);
  m("draining", t.draining);
  m("cordoned", t.cordoned);
  m("away", t.away);
  m.some("starts_ms", t.starts_at);
  auto const lost = m.when(t.lost_since != core::never);
  lost("lost_since_ms", t.lost_since);
  lost("given_up", t.given_up);
  m("functions", t.functions);
  m("labels", t.labels);
  m.json("resources", resources_schema, [&t](json_out& out) { write_resources(out, t); });
  m("error", t.error);
}

void members(member_list const& m, core::per_worker_view const& v) {
  m("id", v.id);
  m("cluster", v.cluster);
  m("name", v.name);
  m("function", v.function);
  m.when(bool(v.args)).json("args", schema::any, [&v](json_out& out) { write_value(out, v.args); });
  m.some("job", v.owner);
  m.some("submitted_by", v.submitted_by, with_token);
  m("created_ms", v.created);
  m("released", v.released);
  m("users", v.users);
  m.list("components", v.components, component_members);
}

void function_members(member_list const& m, core::function_view const& f) {
  m("name", f.name);
  m("workers", f.workers);
  m("ever_had", f.ever_had);
  function_counts(m, f);
}

void members(member_list const& m, core::function_view const& f) {
  function_members(m, f);
  m("cancelled", f.cancelled);
}

void members(member_list const& m, core::gangs_view const& all) {
  m.list("gangs", all.items, gang_members);
  m("more", all.more, "number of gangs that are not listed");
}

void members(member_list const& m, core::unmet_demand_view const& all) {
  m.list("wishes", all.items, demand_members);
  m("complete", all.complete, "false if not all queued closures were examined");
}

void members(member_list const& m, server::log_line const& l) {
  m("seq", l.seq);
  m("time_ms", l.at);
  m("closure", l.closure);
  m("index", l.index);
  m("attempt", l.attempt);
  m("worker", l.worker ? std::string_view(*l.worker) : std::string_view());
  m("level", l.level);
  m("text", l.text);
}

void members(member_list const& m, server::closure_progress const& p) {
  m("fraction", p.fraction);
  m("text", p.text);
  m("attempt", p.attempt);
  m("time_ms", p.at);
}

}  // namespace muster::web
