// One function a view, member by member in the order of the contract.
#include "web/json/views_json.hpp"

#include <absl/strings/escaping.h>

#include "base/text.hpp"
#include "server/hub/id_text.hpp"
#include "web/json/arguments.hpp"
#include "web/json/json_in.hpp"
#include "web/json/log_json.hpp"

namespace muster::web {

namespace {
// Times in milliseconds since the epoch; 0 when it has not happened.
void time(json_out& out, std::string_view key, core::time_point t) {
  out.key(key).number(core::to_unix_ms(t));
}

void write(json_out& out, core::attempt_view const& a) {
  auto const object = out.object();
  out.key("attempt").number(a.attempt);
  out.key("worker").string(a.worker);
  out.key("incarnation").string(hex16(core::raw(a.incarnation)));
  out.key("host").string(a.host);
  time(out, "started_ms", a.started);
  time(out, "ended_ms", a.ended);
  out.key("outcome").string(a.outcome);
}
}  // namespace

void write(json_out& out, core::failure const& f) {
  auto const object = out.object();
  out.key("kind").string(core::name(f.kind));
  out.key("type").string(f.type);
  out.key("message").string(f.message);
  out.key("traceback").string(f.traceback);
  out.key("worker").string(f.worker);
  out.key("attempt").number(f.attempt);
  if (!f.dependencies.empty()) {
    out.key("dependencies").strings(f.dependencies);
  }
}

void write(json_out& out, core::closure_counts const& c) {
  auto const object = out.object();
  out.key("total").number(c.total());
  out.key("blocked").number(c.blocked);
  out.key("queued").number(c.queued);
  out.key("running").number(c.running);
  out.key("succeeded").number(c.succeeded);
  out.key("failed").number(c.failed);
  out.key("cancelled").number(c.cancelled);
}

void write(json_out& out, core::job_view const& j) {
  auto const object = out.object();
  out.key("id").string(core::text(j.id));
  out.key("cluster").string(j.cluster);
  out.key("name").string(j.name);
  out.key("state").string(core::name(j.state));
  out.key("open").boolean(j.open);
  out.key("stopping").boolean(j.stopping);
  out.key("streaming").boolean(j.streaming);
  if (j.streaming) out.key("generation").number(j.generation);
  if (j.holding) {
    out.key("holding").begin_object();
    out.key("attached").boolean(j.attached);
    out.key("detached").boolean(j.detached);
    if (j.lease_until != core::never) time(out, "kept_until_ms", j.lease_until);
    out.key("values").number(j.held);
    out.key("value_bytes").number(j.value_bytes);
    out.end_object();
  }
  out.key("on_error").string(core::name(j.on_error));
  out.key("counts");
  write(out, j.counts);
  out.key("values").number(j.values);
  out.key("value_bytes").number(j.value_bytes);
  out.key("put_back").number(j.put_back);
  out.key("retried").number(j.retried);
  if (!j.client.empty()) out.key("client").string(j.client);
  if (!j.submitted_by.empty()) out.key("submitted_by").string(j.submitted_by);
  if (j.retry_of != core::session_id{}) out.key("retry_of").string(core::text(j.retry_of));
  if (!j.streaming && j.state != core::job_state::running)
    out.key("retryable").boolean(j.retryable);
  if (j.durable) out.key("durable").boolean(true);
  if (j.weight != 1) out.key("weight").number(j.weight);
  if (j.deadline != core::never) time(out, "deadline_ms", j.deadline);
  time(out, "created_ms", j.created);
  time(out, "finished_ms", j.finished);
  write_if(out, "error", j.error);
  if (!j.metadata.empty()) out.key("metadata").raw(j.metadata);
}

void write_value(json_out& out, core::blob const& b) {
  if (b.encoding() == core::encoding::json && is_json(b.view())) {
    out.raw(b.view());
  } else {
    out.begin_object().key("$bytes").string(base64(b.view())).end_object();
  }
}

void write_needs(json_out& out, core::closure_options const& o) {
  if (!o.task_job.empty())
    out.key("task").string(o.task_job +
                           (o.task_index < 0 ? "" : ":" + std::to_string(o.task_index)));
  if (!o.gang.empty()) out.key("gang").string(o.gang);
  if (!o.labels.empty()) {
    out.key("labels").texts(o.labels);
  }
  if (o.resources.empty()) return;
  out.key("resources").begin_object();
  for (auto const& [name, amount] : o.resources) out.key(name).number(amount);
  out.end_object();
}

// Only what differs from a plain closure's.
void write_options(json_out& out, core::closure_view const& c) {
  auto const ms = [](core::duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  };
  auto const& o = c.options;
  if (o.priority != 0) out.key("priority").number(o.priority);
  if (o.max_retries != 0) {
    out.key("max_retries").number(o.max_retries);
    out.key("retries").number(c.retries);
    out.key("retry_delay_ms").number(ms(o.retry_initial));
    out.key("retry_delay_max_ms").number(ms(o.retry_max));
  }
  if (c.start_at != core::time_point{}) time(out, "start_ms", c.start_at);
  if (o.deadline != core::duration{}) time(out, "deadline_ms", c.created + o.deadline);
  write_needs(out, o);
  if (!c.per_worker.empty()) {
    out.key("per_worker").begin_array();
    for (auto const v : c.per_worker) out.string(core::text(v));
    out.end_array();
  }
  if (!c.dependents.empty()) {
    out.key("dependents").begin_array();
    for (auto const d : c.dependents) out.string(server::value_text(d));
    out.end_array();
    if (c.dependents_more > 0) out.key("dependents_more").number(c.dependents_more);
  }
  if (c.inputs.empty()) return;
  out.key("inputs_missing").number(c.inputs_missing);
  out.key("inputs").begin_array();
  for (auto const i : c.inputs) out.string(server::value_text(i));
  out.end_array();
}

void write(json_out& out, core::closure_view const& c, server::closure_progress const* progress) {
  auto const object = out.object();
  out.key("id").string(core::text(c.id));
  out.key("job").string(core::text(c.job));
  out.key("index").number(c.index);
  out.key("function").string(c.function);
  if (!c.display_name.empty()) out.key("display_name").string(c.display_name);
  if (!c.callable.empty()) out.key("callable").string(absl::BytesToHexString(c.callable));
  out.key("state").string(core::name(c.state));
  out.key("cancel_requested").boolean(c.cancel_requested);
  out.key("alone").boolean(c.alone);
  if (c.history) out.key("history").boolean(true);
  if (!c.sent_to.empty()) out.key("sent_to").string(c.sent_to);
  out.key("remote_value").string(server::value_text(c.id));
  out.key("value_status").string(core::name(c.value));
  if (c.state == core::closure_state::succeeded) out.key("value_bytes").number(c.value_bytes);
  if (c.spilled) out.key("value_spilled").boolean(true);
  if (!c.released.empty()) out.key("value_released").string(c.released);
  if (c.args) {
    out.key("args");
    if (c.extras && c.args.encoding() == core::encoding::json)
      out.raw(shown_arguments(c));
    else
      write_value(out, c.args);
  }
  write_options(out, c);
  time(out, "created_ms", c.created);
  time(out, "finished_ms", c.finished);
  write_if(out, "error", c.error);
  write_if(out, "progress", progress);
  out.key("attempts").begin_array();
  for (auto const& a : c.attempts) write(out, a);
  out.end_array();
}

void write(json_out& out, core::task_view const& t, core::time_point now) {
  auto const object = out.object();
  out.key("kind").string("worker");
  out.key("cluster").string(t.cluster);
  out.key("row").number(t.row);
  out.key("job").string(t.job);
  out.key("index").number(t.index);
  out.key("state").string(core::name(t.state));
  time(out, "since_ms", t.since);
  time(out, "last_seen_ms", t.last_seen);
  auto const age = std::chrono::duration_cast<std::chrono::milliseconds>(now - t.last_seen);
  out.key("heartbeat_age_ms").number(std::max<std::int64_t>(0, age.count()));
  out.key("incarnation").string(hex16(core::raw(t.incarnation)));
  out.key("host").string(t.host);
  out.key("pid").number(t.pid);
  out.key("version").string(t.version);
  out.key("slots").number(t.slots);
  out.key("credits").number(t.credits);
  out.key("running").number(t.running);
  out.key("sent_ahead").number(t.sent_ahead);
  out.key("finished").number(t.finished);
  out.key("failed").number(t.failed);
  out.key("restarts").number(t.restarts);
  out.key("reconnects").number(t.reconnects);
  out.key("draining").boolean(t.draining);
  out.key("cordoned").boolean(t.cordoned);
  out.key("away").boolean(t.away);
  if (t.starts_at != core::time_point{}) time(out, "starts_ms", t.starts_at);
  if (t.lost_since != core::never) {
    time(out, "lost_since_ms", t.lost_since);
    out.key("given_up").boolean(t.given_up);
  }
  out.key("functions").strings(t.functions);
  out.key("labels").texts(t.labels);
  out.key("resources").begin_object();
  for (auto const& [name, amount] : t.resources) {
    out.key(name).begin_object().key("total").number(amount);
    for (auto const& [known, left] : t.free)
      if (known == name) out.key("free").number(left);
    out.end_object();
  }
  out.end_object();
  out.key("error").string(t.error);
}

void write(json_out& out, core::per_worker_view const& v) {
  auto const object = out.object();
  out.key("id").string(core::text(v.id));
  out.key("cluster").string(v.cluster);
  out.key("name").string(v.name);
  out.key("function").string(v.function);
  if (v.args) {
    out.key("args");
    write_value(out, v.args);
  }
  if (v.owner != core::session_id{}) out.key("job").string(core::text(v.owner));
  if (!v.submitted_by.empty()) out.key("submitted_by").string(v.submitted_by);
  time(out, "created_ms", v.created);
  out.key("released").boolean(v.released);
  out.key("users").number(v.users);
  out.key("components").begin_array();
  for (auto const& part : v.components) {
    auto const entry = out.object();
    out.key("task").string(part.job + ":" + std::to_string(part.index));
    out.key("status").string(core::name(part.state));
    time(out, "since_ms", part.since);
    write_if(out, "error", part.error);
  }
  out.end_array();
}

void write(json_out& out, core::function_view const& f) {
  auto const object = out.object();
  out.key("name").string(f.name);
  out.key("workers").number(f.workers);
  out.key("ever_had").boolean(f.ever_had);
  out.key("waiting").number(f.waiting);
  out.key("queued").number(f.queued);
  out.key("running").number(f.running);
  out.key("succeeded").number(f.succeeded);
  out.key("failed").number(f.failed);
  out.key("cancelled").number(f.cancelled);
}

}  // namespace muster::web
