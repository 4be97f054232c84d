// Entries of programs: g, h, i, l, r, and the records of attempts: x.
#include "tests/journal/goldens/numbers.hpp"
#include "tests/journal/goldens/scenes.hpp"

namespace muster::server::journal::goldens {
namespace program_scenes {

using namespace core;
using namespace core::programs;
using namespace std::chrono_literals;
using programs_facts = std::vector<programs::fact>;

hang full_hang() {
  hang h;
  h.evidence = hang_evidence::collective;
  h.rank = 6'000'000'001;
  h.task = "worker:61";
  h.host = "host-61";
  h.line = "train.py:61 in step\xff";
  h.process = "S in pipe_read\xfe";
  h.barrier = "step_61\xfd";
  h.waits = 62;
  h.waiting = {"worker:63", "worker:64"};
  h.waiting_line = "wait.py:65 in wait\xfc";
  h.since = at + 66s;
  h.found = at + 67s;
  return h;
}

hang empty_hang() {
  hang h;
  h.rank = 0;
  return h;
}

program_cause full_cause() {
  program_cause c;
  c.kind = cause_kind::coordination;
  c.rank = 5'000'000'051;
  c.task = "worker:51";
  c.host = "host-51";
  c.exit_status = 52;
  c.signal = 53;
  c.text = "worker:51 was killed \xff";
  c.stderr_lines = {"line 54", "\xfe line 55"};
  c.coordination = coordination_failure{code::unavailable, "worker:56", "it is silent \xfd"};
  c.hang = full_hang();
  return c;
}

program_cause empty_cause() {
  program_cause c;
  c.kind = cause_kind::exit_status;
  c.rank = 0;
  return c;
}

program_spec full_spec() {
  program_spec s;
  s.on_hang = hang_policy::abort;
  s.hang_after = 5h;
  s.step_pattern = "step (\\d+) of 11";
  s.store = store_place::server;
  s.name = "train 12";
  s.command = {"python", "\xff.py"};
  s.tasks = {
      {"chief", 13, 14, {"chief", "\xfe"}, {{"gpu", 15}, {"", 0}}, {{"zone", "a"}, {"", ""}}},
      {"", 16, 17, {}, {}, {}}};
  s.per_worker = 18;
  s.env = {{"A", "b\xfd"}, {"", ""}};
  s.working_dir = "/srv/19";
  s.upload = "0123456789abcdef";
  s.preload = {"numpy", "os.path"};
  s.max_restarts = 20;
  s.grace = 2h;
  s.restart_grace = 3h;
  s.deadline = 100h;
  s.notice = 4h;
  s.spares = 21;
  s.priority = -22;
  s.weight = 23;
  s.ends_with = {"chief", "worker:24"};
  s.idempotency_key = "key 25";
  s.request_digest = "\xfc digest 26";
  s.metadata = "{\"a\":27}";
  s.submitted_by = "token-28";
  return s;
}

program_spec empty_spec() {
  program_spec s;
  s.on_hang = hang_policy::off;
  s.hang_after = 1us;  // 0: an older server without hang detection
  s.tasks = {{"", 1, 1, {"x"}, {}, {}}};
  s.grace = s.restart_grace = duration{};
  return s;
}

submitted_fact submitted(program_id id, program_spec const& spec, time_point created) {
  return {id, std::make_shared<program_spec const>(spec), created};
}

course_fact full_course(program_id id) {
  course_fact c;
  c.program = id;
  c.state = program_state::stopping;
  c.goal = goal::fail;
  c.attempts = 2;
  c.counted_restarts = 31;
  c.quick_ends = 32;
  c.failures = {{"host-33", 34}, {"", 0}};
  c.cause = full_cause();
  c.finished = at + 35s;
  c.not_before = at + 36s;
  c.stop_at = agreed_stop{1, 7'000'000'037};
  c.hang = full_hang();
  c.hang->task = "worker:38";
  return c;
}

course_fact empty_course(program_id id) {
  course_fact c;
  c.program = id;
  c.finished = epoch;
  return c;
}

program_attempt_view full_attempt(std::uint32_t number) {
  program_attempt_view a;
  a.attempt = number;
  a.end = program_end::lost;
  a.ranks = 41;
  a.hosts = 42;
  a.begun = at + 43s;
  a.running_since = at + 44s;
  a.ended = at + 45s;
  a.cause = full_cause();
  return a;
}

program_attempt_view empty_attempt(std::uint32_t number) {
  program_attempt_view a;
  a.attempt = number;
  a.running_since = a.ended = epoch;
  return a;
}

placement_fact full_placement(program_id id) {
  placement_fact f;
  f.program = id;
  f.attempt = 2;
  f.places = {{"worker", 8'000'000'071, incarnation{0xf000'0000'0000'0072}, "host-73", "10.0.0.74",
               20'075, 20'076, 2h},
              {"chief", 77, incarnation{78}, "host-79", "fd00::80", 21'081, 21'082, 3h}};
  f.ranks = {{0, 0, 1, 21'081}, {1, 0, 0, 20'075}, {1, 1, 0, 20'076}};
  f.own_service = "[fd00::80]:21083";
  f.meeting_point = "[fd00::80]:21084";
  f.tunnels = true;
  f.ports = {{"fd00::80", 21'083}, {"fd00::81", 21'084}};
  return f;
}

placement_fact empty_placement(program_id id, std::uint32_t attempt, std::uint32_t ranks) {
  placement_fact f;
  f.program = id;
  f.attempt = attempt;
  f.places = {{"", 0, incarnation{}, "", "", 1, 1, 1us}};
  for (std::uint32_t r = 0; r < ranks; ++r) f.ranks.push_back({0, 0, 0, 1});
  return f;
}

rank_fact full_end(program_id id) {
  rank_fact f;
  f.name = {id, 2, 1};
  f.well = true;
  f.state = rank_state::failed;
  f.pid = 91;
  f.started = at + 92s;
  f.ended = at + 93s;
  f.exit_status = 94;
  f.signal = 95;
  f.not_started = "no such file 96 \xff";
  return f;
}

rank_fact empty_end(rank_name name) {
  rank_fact f;
  f.name = name;
  f.started = f.ended = epoch;
  return f;
}

/// Returns a consistent program: the rank of its last attempt has ended if `state` is final.
programs_facts program(program_id id, program_state state, goal to, std::uint32_t attempts) {
  programs_facts all{submitted(id, empty_spec(), epoch)};
  for (std::uint32_t n = 1; n <= attempts; ++n) all.push_back(attempt_fact{id, empty_attempt(n)});
  if (attempts > 0) all.push_back(empty_placement(id, attempts, 1));
  if (ended(state)) all.push_back(empty_end({id, attempts, 0}));
  auto course = empty_course(id);
  course.state = state;
  course.goal = to;
  course.attempts = attempts;
  if (state == program_state::failed) course.cause = empty_cause();
  all.push_back(course);
  return all;
}

/// Calls `change(attempt, n)` for each attempt.
template <class Change>
programs_facts program_with_attempts(std::uint32_t attempts, Change change) {
  auto all = program(program_id{3}, program_state::running, goal::run, attempts);
  for (auto& f : all)
    if (auto* const a = std::get_if<attempt_fact>(&f)) change(a->about, a->about.attempt - 1);
  return all;
}

std::string numbered(std::string const& name, std::uint32_t number) {
  return name + " " + std::to_string(number);
}

void add_enumerators(std::vector<scene>& all) {
  constexpr program_id id{3};
  for (auto const& [state, number] : numbers::program_state) {
    bool const began = state != program_state::pending;
    auto const to = state == program_state::restarting ? goal::again
                    : state == program_state::stopping ? goal::stop
                                                       : goal::run;
    add(all, numbered("program state", number), "", program(id, state, to, began ? 1 : 0));
  }
  for (auto const& [to, number] : numbers::goal) {
    auto const state = to == goal::run ? program_state::running : program_state::stopping;
    add(all, numbered("program goal", number), "", program(id, state, to, 1));
  }
  for (auto const& [policy, number] : numbers::hang_policy) {
    auto facts = program(id, program_state::pending, goal::run, 0);
    auto spec = empty_spec();
    spec.on_hang = policy;
    facts.front() = submitted(id, spec, epoch);
    add(all, numbered("hang policy", number), "", facts);
  }
  for (auto const& [place, number] : numbers::store_place) {
    auto facts = program(id, program_state::pending, goal::run, 0);
    auto spec = empty_spec();
    spec.store = place;
    facts.front() = submitted(id, spec, epoch);
    add(all, numbered("store place", number), "", facts);
  }
  add(all, "ends of attempts", "",
      program_with_attempts(std::size(numbers::program_end),
                            [](auto& a, std::size_t n) { a.end = numbers::program_end[n].value; }));
  add(all, "kinds of causes", "",
      program_with_attempts(std::size(numbers::cause_kind), [](auto& a, std::size_t n) {
        a.cause = empty_cause();
        a.cause->kind = numbers::cause_kind[n].value;
      }));
  add(all, "evidence of hangs", "",
      program_with_attempts(std::size(numbers::hang_evidence), [](auto& a, std::size_t n) {
        a.cause = empty_cause();
        a.cause->hang = empty_hang();
        a.cause->hang->evidence = numbers::hang_evidence[n].value;
      }));
  add(all, "codes of coordination failures", "",
      program_with_attempts(std::size(numbers::code), [](auto& a, std::size_t n) {
        a.cause = empty_cause();
        a.cause->coordination = coordination_failure{numbers::code[n].value, "", ""};
      }));
  auto ends = program(id, program_state::running, goal::run, 1);
  auto const ranks = static_cast<std::uint32_t>(std::size(numbers::rank_state));
  for (auto& f : ends)
    if (std::get_if<placement_fact>(&f)) f = empty_placement(id, 1, ranks + 1);
  for (std::uint32_t r = 0; r < ranks; ++r) {
    auto one = empty_end({id, 1, r});
    one.state = numbers::rank_state[r].value;
    one.out_of_memory = r == 1;
    ends.push_back(one);
  }
  add(all, "states of ranks", "", ends);
}

attempt_record full_record() {
  attempt_record r;
  for (auto const& [kind, number] : numbers::attempt_event)
    r.events.push_back({at + number * 1s, kind, "worker:1" + std::to_string(number), "\xff event"});
  r.events.push_back({});
  r.barriers = {{"barrier 21 \xfe",
                 9'000'000'022,
                 at + 23s,
                 24,
                 "worker:25",
                 "host-26",
                 2h,
                 3h,
                 {{27, 28}, {29, 30}}},
                {}};
  r.latecomers = {{"worker:31", "host-32", 33, 34, 2h, 3h}, {}};
  for (auto const& [state, number] : numbers::stack_state)
    r.stacks.push_back(
        {state, "stack 4" + std::to_string(number), "S \xfd", {number, 50 + number}});
  r.stacks.push_back({});
  r.ranks.push_back({61,
                     "worker:62",
                     "host-63",
                     at + 64s,
                     65,
                     66,
                     "no such file \xfc",
                     true,
                     false,
                     false,
                     {"error 67", "\xfb"},
                     {"output 68", "\xfa"},
                     at + 69s});
  r.ranks.push_back({});
  r.ranks.back().lease_ran_out = true;
  r.ranks.push_back({});
  r.ranks.back().out_of_memory = true;
  r.events_left_out = 71;
  r.stacks_left_out = 72;
  r.ranks_left_out = 73;
  return r;
}

}  // namespace program_scenes

void add_program_scenes(std::vector<scene>& all) {
  using namespace program_scenes;
  constexpr program_id full{0xf000'0000'0000'0001};
  add(all, "full program", "blue",
      programs_facts{submitted(full, full_spec(), at + 29s), attempt_fact{full, full_attempt(1)},
                     attempt_fact{full, full_attempt(2)}, full_placement(full), full_end(full),
                     full_course(full)});
  constexpr program_id id{2};
  add(all, "empty program", "", program(id, program_state::pending, goal::run, 0));

  // Fields that exclude each other, or are present with 0.
  auto facts = program(id, program_state::stopping, goal::cancel, 1);
  for (auto& f : facts) {
    if (auto* const a = std::get_if<attempt_fact>(&f)) {
      a->about.cause = empty_cause();
      a->about.cause->hang = empty_hang();
      a->about.cause->coordination = coordination_failure{code::ok, "", ""};
    }
    if (auto* const p = std::get_if<placement_fact>(&f)) p->store = true;
    if (auto* const c = std::get_if<course_fact>(&f)) {
      c->cause = empty_cause();
      c->stop_at = agreed_stop{1, 0};
      c->hang = empty_hang();
      c->finished = never;
    }
  }
  add(all, "program with empty parts", "", facts);
  add_enumerators(all);
  add(all, "program without an attempt", "",
      programs_facts{attempt_removed{full, 1}, program_removed{full}});
}

void add_record_scenes(std::vector<scene>& all) {
  using namespace program_scenes;
  auto const full = full_record();
  attempt_record const empty;
  auto& s = all.emplace_back();
  s.name = "records of attempts";
  encode(program_id{0xf000'0000'0000'0001}, 4'000'000'001, &full, s.batch);
  encode(program_id{1}, 1, &empty, s.batch);
  encode(program_id{1}, 2, nullptr, s.batch);
}

}  // namespace muster::server::journal::goldens
