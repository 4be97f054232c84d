#include "web/json/program_json.hpp"

#include "base/utf8.hpp"
#include "server/core/api/program_fields.hpp"
#include "web/json/described_json.hpp"
#include "web/json/step_pattern.hpp"

namespace muster::web {

namespace {

constexpr std::size_t program_metadata_bytes_max = 16 * 1024;
constexpr std::size_t program_cluster_characters_max = 256;

struct group_members {
  core::program_tasks tasks;
  std::uint32_t count = 0;
};

json_object<group_members> const& group_table() {
  using g = group_members;
  static json_object<g> const table = [] {
    std::vector<json_field<g>> all{field("count", &g::count, integer_kind(1, UINT32_MAX))};
    for (auto& f : described_fields<core::program_tasks>())
      all.push_back(nested(&g::tasks, std::move(f)));
    return json_object<g>(std::move(all));
  }();
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
    check.fail(impossible(at.path(), "expected either 'count', or 'min' and 'max'"));
  if (!range) g.tasks.min = g.tasks.max = g.count;
  if (g.tasks.min == 0) g.tasks.min = 1;
  if (!check.failed() && g.tasks.max == 0)
    check.fail(impossible(at.path(), "'min' requires 'max'"));
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
          "required: the number of ranks of each role, such as {\"worker\": 8}"};
}

json_object<program_request> const& program_table() {
  using r = program_request;
  using s = core::program_spec;
  static json_object<r> const table = [] {
    auto of_spec = described_fields<s>();
    put_field(of_spec, tasks_field());
    put_field(of_spec, field("metadata", &s::metadata, an_object_text(program_metadata_bytes_max)));
    put_field(of_spec, field("step_pattern", &s::step_pattern, a_step_pattern()));
    std::vector<json_field<r>> all{
        field("cluster", &r::cluster, text_kind(program_cluster_characters_max))};
    for (auto& f : of_spec) all.push_back(nested(&r::spec, std::move(f)));
    put_field(all, field("store", &r::store, enum_kind<core::store_place>()));
    return json_object<r>(std::move(all));
  }();
  return table;
}

// Reads a step number, or "next" for the first step at which all ranks can stop.
json_object<stop_request> const& stop_table() {
  constexpr std::int64_t step_max = std::int64_t{1} << 53;
  constexpr std::string_view next = "next";
  auto read = [next](json_check& check, json_ref const& at, stop_request& r) {
    if (at.type() == json_type::number)
      r.at_step = static_cast<std::uint64_t>(check.integer(at, 0, step_max));
    else if (at.type() == json_type::string && at.string() == next)
      r.at_step = 0;
    else
      check.fail(at, "expected a step number, or \"next\"");
  };
  static json_object<stop_request> const table({json_field<stop_request>{
      "at_step", schema::any_of({schema::integer(0, step_max), schema::one_of({next})}), read}});
  return table;
}

void hang_members(member_list const& m, core::hang const& h) {
  m("text", text(h));
  described_members(m, h);
}

void program_cause_members(member_list const& m, core::program_cause const& c) {
  described_members(m, c,
                    [&](std::string_view name) { m.some_object(name, c.hang, hang_members); });
}

void group_members_of(member_list const& m, core::program_tasks const& t) {
  described_members(m, t);
}

schema::json tasks_schema() {
  return schema::map(schema_of_members<group_members_of>());
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
  described_members(m, s, [&](std::string_view name) {
    if (name == "tasks")
      m.json(name, tasks_schema, [&s](json_out& out) { write_tasks(out, s.tasks); });
    else if (name == "env")
      m.some(name, names_of(s.env), "names of the environment variables, without their values");
    else if (name == "metadata")
      m.when(!s.metadata.empty())
          .json(
              name, [] { return schema::map(schema::any()); },
              [&s](json_out& out) { out.raw(s.metadata); });
  });
}

// Removes an incomplete UTF-8 character at the end if `more` data follows, because the next chunk
// begins with this character.
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

// Includes fractions, because a step can take less than a millisecond.
double as_ms(core::duration d) {
  return static_cast<double>(d.count()) / 1000;
}

void slow_members(member_list const& m, core::program_steps_view::slow const& s) {
  m("rank", s.rank);
  m("host", s.host);
  m("worker", s.worker,
    "the worker of the rank; cordon this worker to exclude it from the next attempt");
  m("chronic", s.chronic, "true if every step is slow, false if only some steps are slow");
  m.some("percent", s.permille / 10.0, "delay as a percentage of the step duration");
  m.some("arrives_late", s.arrives_late,
         "true if the rank was detected by its arrival times, not by its step durations");
  m.some("attempts", s.attempts, "number of attempts in which a rank on this host was slow");
  m.some("runs", s.runs,
         "number of programs in which a rank on this host was slow, including this program");
  m.some("odd_steps", s.times, "number of slow steps among the newest steps");
  m.when(s.times > 0)("step", s.step, "number of the last slow step");
  m.when(s.times > 0)("took_ms", as_ms(s.took));
  m.when(s.times > 0)("usual_ms", as_ms(s.usual));
}

void lost_worker_members(member_list const& m, core::lost_worker_view const& l) {
  m("worker", l.worker);
  m("host", l.host);
  m("ranks", l.ranks, "ranks of the attempt on the worker that are not known to have ended");
  m("since_ms", l.since, "time at which the connection ended or the server started");
  m("given_up_ms", l.given_up, "time at which its --program-lease expires");
  m.some("next_attempt", l.next_attempt,
         "the attempt that starts then; missing if the program is being stopped");
  m.some("next_hosts", l.next_hosts, "hosts with spares for the next attempt");
  m("text", l.text, "a sentence with the remaining times");
}

void steps_members(member_list const& m, core::program_steps_view const& s) {
  m("least", s.least, "the lowest step of all ranks");
  m("most", s.most);
  m("ranks", s.ranks, "ranks that report steps");
  m.some("median_ms", as_ms(s.took));
  m.when(s.stop_after.has_value())("stop_after", s.stop_after.value_or(0),
                                   "all ranks stop after this step");
  m.list("slow", s.slow_ones, slow_members,
         "slow ranks, slowest first; only when one program is requested");
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
  m.some("coordination_cluster", p.coordination_cluster,
         "the coordination cluster of the last attempt");
  m("name", p.spec.name);
  m("state", p.state);
  m("attempt", p.attempt, "number of the last attempt; 0 before the first attempt");
  m("restarts", p.restarts, "restarts that count towards the program's limit");
  m("ranks", p.ranks, "ranks of the last attempt");
  m("started", p.started);
  m("alive", p.alive, "ranks that are not known to have ended");
  m.when(p.spec.spares > 0)("spares_free", p.spares, "spare places that are currently reserved");
  m("created_ms", p.created);
  m.when(p.finished != core::never)("finished_ms", p.finished);
  m.some("waits_for", p.waits_for);
  m.some("cannot_start", p.cannot_start,
         "true if the program is waiting and the connected workers could not run it even if they "
         "were idle");
  m.some_object("cause", p.cause, program_cause_members, "the first failure");
  m.some_object("steps", p.steps, steps_members, "present if ranks report steps");
  m.when(p.stop_at.has_value())("stop_at_step", p.stop_at.value_or(core::agreed_stop{}).step,
                                "step after which the program stops, in this or a later attempt");
  m.some_object("hang", p.hang, hang_members, "present while no rank makes progress");
  m.when(!p.lost_workers.empty())
      .list("lost_workers", p.lost_workers, lost_worker_members,
            "disconnected workers with ranks of the program; only when one program is requested");
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
  m.some("not_preloaded", r.not_preloaded, "reason why the rank started without 'preload'");
  m.some("out_of_memory", r.out_of_memory);
  m.some("worker_lost", r.worker_lost, "true if the worker is disconnected; see 'lost_workers'");
  m.some("resources", r.resources);
  m.when(r.step.has_value())("step", r.step.value_or(0), "the last step that the rank reported");
  m.when(r.step.has_value())("step_reached_ms", r.step_reached);
  m.some("step_ms", as_ms(r.step_took), "median duration of the last steps");
  m.some("last_line", r.last_line, "the newest line of output; present with last_lines=true");
}

void members(member_list const& m, core::program_attempt_view const& a) {
  m("attempt", a.attempt);
  m("end", a.end);
  m("ranks", a.ranks);
  m("hosts", a.hosts);
  m("begun_ms", a.begun);
  m.when(a.running_since != core::never)("running_ms", a.running_since,
                                         "time at which all ranks had started");
  m.when(a.ended != core::never)("ended_ms", a.ended);
  m.some_object("cause", a.cause, program_cause_members);
}

void members(member_list const& m, server::rank_log const& l) {
  auto const data = whole_characters(l.data, !l.complete || l.offset + l.data.size() < l.size);
  m("known", l.known, "true if the worker has output from the rank");
  m("offset", l.offset, "offset of the first byte");
  m("data", to_utf8(data));
  m("next_offset", l.offset + data.size());
  m("size", l.size, "current size in bytes");
  m("complete", l.complete, "true if the output is complete");
  m("task", l.task, "the task of the rank");
}

}  // namespace muster::web
