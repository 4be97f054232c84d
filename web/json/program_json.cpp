// The table of a program, and what is shown of one.
#include "web/json/program_json.hpp"

#include "base/utf8.hpp"
#include "server/core/api/idempotency.hpp"
#include "web/json/json_fields.hpp"
#include "web/json/step_pattern.hpp"

namespace muster::web {

namespace {

constexpr std::size_t program_name_bytes_max = 256;
constexpr std::size_t text_bytes_max = 128 * 1024;
constexpr std::size_t program_metadata_bytes_max = 16 * 1024;
constexpr std::size_t names_max = 64;
constexpr std::int64_t priority_max = 1'000'000;
constexpr std::uint32_t weight_max = 1'000;
constexpr core::duration longest = std::chrono::hours(24 * 365);

json_kind<std::vector<std::string>> texts() {
  auto read = [](json_check& check, json_ref const& at) {
    std::vector<std::string> words;
    if (!check.is(at, json_type::array)) return words;
    for (json_walk w(at); w.next() && !check.failed();)
      words.push_back(check.text(w.value(), text_bytes_max));
    return words;
  };
  return {schema::array(schema::text(0, text_bytes_max)), read};
}

json_kind<core::named_texts> named_texts(std::size_t value_bytes) {
  auto read = [value_bytes](json_check& check, json_ref const& at) {
    core::named_texts all;
    if (!check.is(at, json_type::object)) return all;
    for (json_walk m(at); m.next() && !check.failed();)
      all.emplace_back(m.key(), check.text(m.value(), value_bytes));
    return all;
  };
  return {schema::map(schema::text(0, value_bytes)), read};
}

json_kind<core::named_amounts> amounts() {
  auto const amount = an_integer(1, UINT32_MAX);
  auto read = [amount](json_check& check, json_ref const& at) {
    core::named_amounts all;
    if (!check.is(at, json_type::object)) return all;
    for (json_walk m(at); m.next() && !check.failed();)
      all.emplace_back(m.key(), static_cast<std::uint32_t>(amount.read(check, m.value())));
    return all;
  };
  return {schema::map(amount.schema, schema::text(1, program_name_bytes_max), names_max), read};
}

struct group_members {
  core::program_tasks tasks;
  std::uint32_t count = 0;
};

json_object<group_members> const& group_table() {
  using g = group_members;
  using t = core::program_tasks;
  static json_object<g> const table(
      {field("count", &g::count, an_integer(1, UINT32_MAX)),
       nested(&g::tasks, field("min", &t::min, an_integer(1, UINT32_MAX))),
       nested(&g::tasks, field("max", &t::max, an_integer(1, UINT32_MAX))),
       nested(&g::tasks, field("command", &t::command, texts())),
       nested(&g::tasks, field("resources", &t::resources, amounts())),
       nested(&g::tasks, field("labels", &t::labels, named_texts(program_name_bytes_max)))});
  return table;
}

core::program_tasks read_group(json_check& check, json_ref const& at) {
  group_members g;
  g.tasks.min = g.tasks.max = 0;
  if (at.type() == json_type::number)
    g.count = static_cast<std::uint32_t>(check.integer(at, 1, UINT32_MAX));
  else
    group_table().read(check, at, g);
  bool const range = g.tasks.min != 0 || g.tasks.max != 0;
  if (!check.failed() && range == (g.count != 0))
    check.fail(impossible(at.path(), "say either 'count' or 'min' and 'max'"));
  if (!range) g.tasks.min = g.tasks.max = g.count;
  if (g.tasks.min == 0) g.tasks.min = 1;
  if (!check.failed() && g.tasks.max == 0) check.fail(impossible(at.path(), "'min' needs a 'max'"));
  return std::move(g.tasks);
}

json_field<core::program_spec> tasks_field() {
  auto read = [](json_check& check, json_ref const& at, core::program_spec& spec) {
    if (!check.is(at, json_type::object)) return;
    for (json_walk m(at); m.next() && !check.failed();) {
      spec.tasks.push_back(read_group(check, m.value()));
      spec.tasks.back().type = m.key();
    }
  };
  auto each = schema::any_of({schema::integer(1, UINT32_MAX), group_table().schema()});
  return {"tasks", schema::map(std::move(each)), read,
          "required, how many of which type: {\"worker\": 8}"};
}

json_field<core::program_spec> program_metadata_field() {
  auto read = [](json_check& check, json_ref const& at, core::program_spec& spec) {
    if (!check.is(at, json_type::object)) return;
    auto const limit = std::to_string(program_metadata_bytes_max) + " bytes";
    if (at.text().size() > program_metadata_bytes_max)
      check.fail(impossible(at.path(), "the limit is " + limit, limit));
    spec.metadata = at.text();
  };
  return {"metadata", schema::map(schema::any()), read};
}

json_object<program_request> const& program_table() {
  using r = program_request;
  using s = core::program_spec;
  auto const of = [](json_field<s> f) { return nested(&r::spec, std::move(f)); };
  static json_object<r> const table(
      {of(field("name", &s::name, a_text(program_name_bytes_max))),
       field("cluster", &r::cluster, a_text(program_name_bytes_max)),
       of(field("command", &s::command, texts())),
       of(tasks_field()),
       of(field("per_worker", &s::per_worker, an_integer(1, UINT32_MAX))),
       of(field("env", &s::env, named_texts(text_bytes_max))),
       of(field("working_dir", &s::working_dir, a_text(4'096))),
       of(field("upload", &s::upload, a_text(64))),
       of(field("preload", &s::preload, texts())),
       field("store", &r::store, a_word<core::store_place>()),
       of(field("max_restarts", &s::max_restarts, an_integer(0, 1'000'000))),
       of(field("grace", &s::grace, a_duration(std::chrono::hours(1)))),
       of(field("restart_grace", &s::restart_grace, a_duration(std::chrono::hours(1)))),
       of(field("deadline", &s::deadline, a_duration(longest))),
       of(field("notice", &s::notice, a_duration(longest))),
       of(field("on_hang", &s::on_hang, a_word<core::hang_policy>())),
       of(field("hang_after", &s::hang_after, a_duration(longest))),
       of(field("step_pattern", &s::step_pattern, a_step_pattern())),
       of(field("spares", &s::spares, an_integer(0, UINT32_MAX))),
       of(field("priority", &s::priority, an_integer(-priority_max, priority_max))),
       of(field("weight", &s::weight, an_integer(1, weight_max))),
       of(field("ends_with", &s::ends_with, texts())),
       of(field("idempotency_key", &s::idempotency_key, a_text(core::idempotency_key_bytes_max))),
       of(program_metadata_field())});
  return table;
}

// A number, or the word that means the first one that all can stop at.
json_object<stop_request> const& stop_table() {
  constexpr std::int64_t step_max = std::int64_t{1} << 53;
  constexpr std::string_view next = "next";
  auto read = [next](json_check& check, json_ref const& at, stop_request& r) {
    if (at.type() == json_type::number)
      r.at_step = static_cast<std::uint64_t>(check.integer(at, 0, step_max));
    else if (at.type() == json_type::string && at.string() == next)
      r.at_step = 0;
    else
      check.fail(at, "expected the number of a step, or \"next\"");
  };
  static json_object<stop_request> const table({json_field<stop_request>{
      "at_step", schema::any_of({schema::integer(0, step_max), schema::one_of({next})}), read}});
  return table;
}

void coordination_members(member_list const& m, core::coordination_failure const& f) {
  m("code", name(f.code));
  m.some("task", f.task, "that failed");
  m("message", f.message);
}

void hang_members(member_list const& m, core::hang const& h) {
  m("evidence", h.evidence);
  m("text", text(h));
  m.when(h.rank >= 0)("rank", static_cast<std::uint64_t>(h.rank < 0 ? 0 : h.rank));
  m.some("task", h.task);
  m.some("host", h.host);
  m.some("line", h.line, "of its stack");
  m.some("process", h.process, "the kernel's word for it");
  m.some("barrier", h.barrier, "that the others wait at");
  m("waits", h.waits, "ranks that wait");
  m.some("waiting", h.waiting, "the first of them");
  m.some("waiting_line", h.waiting_line, "where most of them are");
  m("since_ms", h.since, "nothing has moved");
  m("found_ms", h.found);
}

void cause_members(member_list const& m, core::program_cause const& c) {
  m("kind", c.kind);
  m.when(c.rank >= 0)("rank", static_cast<std::uint64_t>(c.rank));
  m.some("task", c.task);
  m.some("host", c.host);
  m.some("exit_status", c.exit_status);
  m.some("signal", c.signal);
  m("text", c.text);
  m.some("stderr", c.stderr_lines, "the last lines");
  m.some_object("coordination", c.coordination, coordination_members,
                "what its coordination service had told before");
  m.some_object("hang", c.hang, hang_members);
}

void group_members_of(member_list const& m, core::program_tasks const& t) {
  m("min", t.min);
  m("max", t.max);
  m.some("command", t.command);
  m.some("resources", t.resources);
  m.some("labels", t.labels);
}

schema::json tasks_schema() {
  return schema::map(schema_told_by<group_members_of>());
}

void write_tasks(json_out& out, std::vector<core::program_tasks> const& tasks) {
  auto const all = out.object();
  for (auto const& t : tasks) {
    auto const one = out.key(t.type).object();
    group_members_of(member_list(out), t);
  }
}

std::vector<std::string> names_of(core::named_texts const& env) {
  std::vector<std::string> names;
  for (auto const& [name, value] : env) names.push_back(name);
  return names;
}

void spec_members(member_list const& m, core::program_spec const& s) {
  m("command", s.command);
  m.json("tasks", tasks_schema, [&s](json_out& out) { write_tasks(out, s.tasks); });
  m.some("per_worker", s.per_worker);
  m.some("env", names_of(s.env), "names alone");
  m.some("working_dir", s.working_dir);
  m.some("upload", s.upload, "the SHA-256 of a blob");
  m.some("preload", s.preload, "Python modules");
  m("store", s.store);
  m("max_restarts", s.max_restarts);
  m("grace_ms", s.grace);
  m("restart_grace_ms", s.restart_grace);
  m.some("deadline_ms", s.deadline);
  m.some("notice_ms", s.notice);
  m("on_hang", s.on_hang);
  m("hang_after_ms", s.hang_after);
  m.some("step_pattern", s.step_pattern, "by which steps are read off what ranks print");
  m.some("spares", s.spares);
  m.when(s.priority != 0)
      .json(
          "priority", [] { return schema::integer(-priority_max, priority_max); },
          [&s](json_out& out) { out.number(s.priority); });
  m.when(s.weight != 1)("weight", s.weight);
  m.some("ends_with", s.ends_with);
  m.when(!s.metadata.empty())
      .json(
          "metadata", [] { return schema::map(schema::any()); },
          [&s](json_out& out) { out.raw(s.metadata); });
  m.some("submitted_by", s.submitted_by);
}

// What was cut in the middle of a character comes with the next piece.
std::string_view whole_characters(std::string_view data, bool more) {
  auto end = data.size();
  std::size_t back = 0;
  while (more && back < 3 && end > back + 1 &&
         (static_cast<unsigned char>(data[end - 1 - back]) & 0xC0) == 0x80)
    ++back;
  if (more && end > back && (static_cast<unsigned char>(data[end - 1 - back]) & 0xC0) == 0xC0 &&
      !is_utf8(data.substr(end - 1 - back)) && end > back + 1)
    end -= back + 1;
  return data.substr(0, end);
}

// Steps may take less than a millisecond.
double as_ms(core::duration d) {
  return static_cast<double>(d.count()) / 1000;
}

void slow_members(member_list const& m, core::program_steps_view::slow const& s) {
  m("rank", s.rank);
  m("host", s.host);
  m("worker", s.worker, "which a cordon keeps out of the next attempt");
  m("chronic", s.chronic, "in step after step; else a step is odd now and then");
  m.some("percent", s.permille / 10.0, "of a step, by which it is behind");
  m.some("arrives_late", s.arrives_late, "seen by when it arrives, not by how long its steps take");
  m.some("attempts", s.attempts, "in so many a rank on this host was behind");
  m.some("runs", s.runs, "and in so many programs, this one among them");
  m.some("odd_steps", s.times, "of the newest");
  m.when(s.times > 0)("step", s.step, "the last odd one");
  m.when(s.times > 0)("took_ms", as_ms(s.took));
  m.when(s.times > 0)("usual_ms", as_ms(s.usual));
}

void lost_worker_members(member_list const& m, core::lost_worker_view const& l) {
  m("worker", l.worker);
  m("host", l.host);
  m("ranks", l.ranks, "of the attempt that run there and are not known to be dead");
  m("since_ms", l.since, "its connection ended, or the server started");
  m("given_up_ms", l.given_up, "its --program-lease has run out");
  m.some("next_attempt", l.next_attempt, "begins then; absent: the program is being stopped");
  m.some("next_hosts", l.next_hosts, "have spares for it");
  m("text", l.text, "for people, with the times that are left");
}

void steps_members(member_list const& m, core::program_steps_view const& s) {
  m("least", s.least, "the last step of the rank that is farthest behind");
  m("most", s.most);
  m("ranks", s.ranks, "that say steps");
  m.some("median_ms", as_ms(s.took));
  m.when(s.stop_after.has_value())("stop_after", s.stop_after.value_or(0),
                                   "all ranks end behind this step");
  m.list("slow", s.slow_ones, slow_members, "of one program that is asked for, the worst first");
}

}  // namespace

program_request read_program(json_check& check, json_ref const& body) {
  program_request request;
  program_table().read(check, body, request);
  return request;
}

schema::named program_schema() {
  return {"ProgramRequest", program_table().schema()};
}

stop_request read_stop(json_check& check, json_ref const& body) {
  stop_request request;
  stop_table().read(check, body, request);
  return request;
}

schema::named stop_schema() {
  return {"StopRequest", stop_table().schema()};
}

void members(member_list const& m, core::program_view const& p) {
  m("id", p.id);
  m("cluster", p.cluster);
  m.some("coordination_cluster", p.coordination_cluster, "its own, of the last attempt");
  m("name", p.spec.name);
  m("state", p.state);
  m("attempt", p.attempt, "the last; 0: none yet");
  m("restarts", p.restarts, "those that count");
  m("ranks", p.ranks, "of the last attempt");
  m("started", p.started);
  m("alive", p.alive, "not known to be dead");
  m.when(p.spec.spares > 0)("spares_free", p.spares, "places that are put by now");
  m("created_ms", p.created);
  m.when(p.finished != core::never)("finished_ms", p.finished);
  m.some("waits_for", p.waits_for);
  m.some("cannot_start", p.cannot_start,
         "it waits, and no connected worker has what it needs, even when idle");
  m.some_object("cause", p.cause, cause_members, "the first thing that went wrong");
  m.some_object("steps", p.steps, steps_members, "where its ranks say them");
  m.when(p.stop_at.has_value())("stop_at_step", p.stop_at.value_or(core::agreed_stop{}).step,
                                "it was asked to stop behind it, in this attempt or a later one");
  m.some_object("hang", p.hang, hang_members, "while nothing moves");
  m.when(!p.lost_workers.empty())
      .list("lost_workers", p.lost_workers, lost_worker_members,
            "of one program that is asked for: workers without a connection that have ranks of it");
  spec_members(m, p.spec);
}

void members(member_list const& m, core::rank_view const& r) {
  bool const over = r.ended != core::never;
  m("rank", r.rank);
  m("task", r.task);
  m("state", r.state);
  m("worker", r.worker);
  m("host", r.host);
  m("address", r.address);
  m.some("pid", r.pid);
  m.when(r.started != core::never)("started_ms", r.started);
  m.when(over)("ended_ms", r.ended);
  m.when(over)("exit_status", r.exit_status);
  m.some("signal", r.signal);
  m.some("not_started", r.not_started);
  m.some("not_preloaded", r.not_preloaded, "why it began without 'preload'");
  m.some("out_of_memory", r.out_of_memory);
  m.some("worker_lost", r.worker_lost, "its worker has no connection: see 'lost_workers'");
  m.some("resources", r.resources);
  m.when(r.step.has_value())("step", r.step.value_or(0), "the last that it has said");
  m.when(r.step.has_value())("step_reached_ms", r.step_reached);
  m.some("step_ms", as_ms(r.step_took), "the median of the last ones");
  m.some("last_line", r.last_line, "the newest that it has printed, where they were asked for");
}

void members(member_list const& m, core::program_attempt_view const& a) {
  m("attempt", a.attempt);
  m("end", a.end);
  m("ranks", a.ranks);
  m("hosts", a.hosts);
  m("begun_ms", a.begun);
  m.when(a.running_since != core::never)("running_ms", a.running_since, "all ranks had started");
  m.when(a.ended != core::never)("ended_ms", a.ended);
  m.some_object("cause", a.cause, cause_members);
}

void members(member_list const& m, server::rank_log const& l) {
  auto const data = whole_characters(l.data, !l.complete || l.offset + l.data.size() < l.size);
  m("known", l.known, "its worker has it");
  m("offset", l.offset, "of the first byte");
  m("data", to_utf8(data));
  m("next_offset", l.offset + data.size());
  m("size", l.size, "so far, in bytes");
  m("complete", l.complete, "nothing will be added");
  m("task", l.task, "whose it is");
}

}  // namespace muster::web
