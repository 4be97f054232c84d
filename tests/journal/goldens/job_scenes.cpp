// Entries of jobs, sessions and their closures: j, a, e, p.
#include "tests/journal/goldens/numbers.hpp"
#include "tests/journal/goldens/scenes.hpp"

namespace muster::server::journal::goldens {
namespace job_scenes {

using namespace core;
using namespace std::chrono_literals;
using facts = std::vector<fact>;

failure full_failure(std::string const& number) {
  failure f;
  f.kind = failure_kind::dependency_lost;
  f.type = "Error" + number;
  f.message = "\xff message " + number;
  f.traceback = "line " + number + "\n\xfe";
  f.worker = "worker:" + number;
  f.attempt = 11;
  f.dependencies = {"ps:" + number, "\xfd"};
  f.exception = std::string("\x80\x05\0", 3) + number;
  return f;
}

failure failed_with(failure_kind kind) {
  failure f;
  f.kind = kind;
  return f;
}

job_fact empty_job(std::uint64_t id) {
  job_fact f;
  f.id = session_id{id};
  return f;
}

job_fact full_job() {
  auto f = empty_job(0xf000'0000'0000'0001);
  auto& s = f.spec;
  s.name = "name 21";
  s.on_error = on_error::continue_all;
  s.queue_capacity = 5'000'000'022;
  s.max_worker_failures = 23;
  s.weight = 24;
  s.deadline = 2h;
  s.idempotency_key = "key 25";
  s.request_digest = "\xfe digest 26";
  s.metadata = "{\"a\":27}";
  s.submitted_by = "token-28";
  s.retry_of = session_id{0xf000'0000'0000'0029};
  s.num_workers = 30;
  f.state = job_state::failed;
  f.first_error = full_failure("31");
  f.created = at + 32s;
  f.finished = at + 33s;
  return f;
}

job_fact empty_session(std::uint64_t id) {
  auto f = empty_job(id);
  f.spec.delivery = delivery::resumable;
  return f;
}

job_fact full_session() {
  auto f = full_job();
  f.id = session_id{2};
  f.state = job_state::running;
  f.spec.delivery = delivery::unary;
  f.spec.grace = 3h;
  f.generation = 41;
  f.raised = full_failure("42");
  f.raised_generation = 43;
  f.client = "ipv4:10.0.0.44:45";
  return f;
}

closure_extras full_extras() {
  closure_extras x;
  auto& o = x.options;
  o.priority = -51;
  o.delay = 2h;
  o.deadline = 3h;
  o.max_retries = 52;
  o.retry_initial = 4h;
  o.retry_max = 5h;
  o.gang = "gang 53";
  o.task_job = "ps 54";
  o.task_index = 6'000'000'055;
  o.labels = {{"zone", "a"}, {"", ""}};
  o.resources = {{"gpu", 56}, {"", 0}};
  x.inputs = {{closure_id{0xf000'0057'0000'0058}, 0, 59}, {closure_id{}, 0, 0}};
  x.per_worker = {per_worker_id{0xf000'0000'0000'0060}, per_worker_id{61}};
  return x;
}

/// Returns the values that absent fields stand for; a new struct has others.
closure_extras empty_extras() {
  closure_extras x;
  x.options.task_index = 0;
  x.options.retry_initial = x.options.retry_max = duration{};
  return x;
}

accepted_closure closure(std::uint32_t slot) {
  accepted_closure c;
  c.id = closure_id{1ull << 32 | slot};
  c.args = blob("");
  return c;
}

/// Returns closures with ids that are unique in the scene.
accepted_fact empty_request(session_id job, std::uint32_t first, std::uint32_t size) {
  accepted_fact f;
  f.job = job;
  f.first = first;
  f.functions = {"f"};
  for (std::uint32_t n = 0; n < size; ++n)
    f.closures.push_back(closure(0x1000 * static_cast<std::uint32_t>(raw(job) & 0xff) + first + n));
  return f;
}

accepted_fact full_request(session_id job) {
  auto f = empty_request(job, 0, 4);
  f.created = at + 71s;
  f.functions = {"function 72", "python:3.11"};
  f.callables = {{"", ""}, {"train.step", std::string(callable_hash_bytes, '\xfc')}};
  auto const full = std::make_shared<closure_extras const>(full_extras());
  auto const empty = std::make_shared<closure_extras const>(empty_extras());
  auto& c = f.closures;
  c[0].id = closure_id{~0ull << 32 | 0x8000'0073};
  c[0].function = 1;
  c[0].args = blob("[74]");
  c[0].extras = full;
  c[0].token = 0xf000'0000'0000'0075;
  c[1].args = blob("\xff 76", encoding::bytes);
  c[1].token = 77;
  c[1].own_error = true;
  c[2].function = 1;
  c[2].args = blob("[78]", encoding::bytes);
  c[2].extras = empty;
  c[3].args = blob("", encoding::bytes);
  c[3].extras = full;
  return f;
}

attempt_view empty_attempt() {
  return {};
}

attempt_view full_attempt(std::uint32_t number) {
  attempt_view a;
  a.attempt = number;
  a.worker = "worker:81";
  a.incarnation = incarnation{0xf000'0000'0000'0082};
  a.host = "host-83";
  a.started = at + 84s;
  a.ended = at + 85s;
  a.outcome = {attempt_end::value_lost, "its value was lost \xff",
               closure_id{0xf000'0086'0000'0087}};
  a.blamed = blame::process;
  return a;
}

closure_fact empty_closure(session_id job, std::uint32_t order) {
  closure_fact f;
  f.job = job;
  f.order = order;
  return f;
}

closure_fact full_closure(session_id job, std::uint32_t order) {
  auto f = empty_closure(job, order);
  f.state = closure_state::succeeded;
  f.value = blob("\xfe value 91", encoding::bytes);
  f.dropped = release_reason::spill_bytes;
  f.attempt = 92;
  f.worker_failures = 93;
  f.retries = 94;
  f.workers_lost = 95;
  f.processes_ended = 96;
  f.released = true;
  f.started = at + 97s;
  f.finished = at + 98s;
  f.lost = {full_attempt(88), empty_attempt()};
  f.newest = full_attempt(89);
  return f;
}

closure_fact failed_closure(session_id job, std::uint32_t order, failure why) {
  auto f = empty_closure(job, order);
  f.state = closure_state::failed;
  f.failure = std::move(why);
  return f;
}

std::string numbered(std::string const& name, std::uint32_t number) {
  return name + " " + std::to_string(number);
}

/// Sets one flag at a time, so that swapped flags are detected.
void add_flags(std::vector<scene>& all) {
  facts list;
  std::uint64_t id = 0x10;
  auto const with = [&](auto set) {
    auto f = empty_session(id++);
    set(f);
    list.push_back(f);
  };
  with([](job_fact& f) { f.spec.on_error = on_error::continue_all; });
  with([](job_fact& f) { f.spec.open = true; });
  with([](job_fact& f) { f.spec.unlimited_worker_failures = true; });
  with([](job_fact& f) { f.spec.require_function = true; });
  with([](job_fact& f) { f.sealed = true; });
  with([](job_fact& f) { f.stopping = true; });
  with([](job_fact& f) { f.user_cancelled = true; });
  with([](job_fact& f) { f.spec.detached = true; });
  with([](job_fact& f) { f.closed = true; });
  add(all, "flags of sessions", "", list);
}

void add_enumerators(std::vector<scene>& all) {
  for (auto const& [state, number] : numbers::job_state) {
    auto f = empty_job(3);
    f.state = state;
    add(all, numbered("job state", number), "", facts{f});
  }
  for (auto const& [how, number] : numbers::delivery) {
    auto f = empty_job(3);
    f.spec.delivery = how;
    add(all, numbered("delivery", number), "", facts{f});
  }
  constexpr session_id job{3};
  for (auto const& [state, number] : numbers::closure_state) {
    auto f = empty_closure(job, 0);
    f.state = state;
    if (state == closure_state::running) f.newest = empty_attempt();
    if (ended(state) && state != closure_state::succeeded) f.failure = failed_with(failure_kind{});
    add(all, numbered("closure state", number), "",
        facts{empty_job(3), empty_request(job, 0, 1), f});
  }
  facts failures{empty_job(3), empty_request(job, 0, std::size(numbers::failure_kind))};
  for (auto const& [kind, number] : numbers::failure_kind)
    failures.push_back(failed_closure(job, number, failed_with(kind)));
  add(all, "kinds of failures", "", failures);

  facts released{empty_job(3), empty_request(job, 0, std::size(numbers::release_reason))};
  for (auto const& [why, number] : numbers::release_reason) {
    auto f = empty_closure(job, number);
    f.state = closure_state::succeeded;
    f.dropped = why;
    released.push_back(f);
  }
  add(all, "reasons of releases", "", released);

  auto tried = empty_closure(job, 0);
  for (auto const& [how, number] : numbers::attempt_end)
    for (auto const& [whom, of_it] : numbers::blame) {
      auto& a = tried.lost.emplace_back();
      a.outcome.how = how;
      a.blamed = whom;
    }
  auto& earlier = tried.lost.emplace_back();
  earlier.outcome = {attempt_end::earlier, "the text of an earlier version", {}};
  add(all, "ends of attempts of a closure", "",
      facts{empty_job(3), empty_request(job, 0, 1), tried});
}

}  // namespace job_scenes

void add_job_scenes(std::vector<scene>& all) {
  using namespace job_scenes;
  auto const job = full_job();
  auto exclusive = empty_closure(job.id, 1);
  exclusive.exclusive = true;
  exclusive.released = true;
  add(all, "full job", "train",
      facts{job, full_request(job.id), empty_request(job.id, 4, 2), full_closure(job.id, 0),
            exclusive, failed_closure(job.id, 2, full_failure("99")), closure_removed{job.id, 3}});
  per_worker_fact value;
  value.job = session_id{2};
  value.id = per_worker_id{0xf000'0000'0000'0001};
  value.name = "weights 46";
  value.function = "python:3.11";
  value.args = blob("\xfd 47", encoding::bytes);
  value.token = 0xf000'0000'0000'0048;
  value.released = true;
  value.created = at + 49s;
  value.submitted_by = "token-50";
  auto sessionless_values = value;
  sessionless_values.job = {};
  sessionless_values.released = false;
  auto empty = per_worker_fact{.job = session_id{2}, .id = per_worker_id{2}, .function = "f"};
  empty.args = blob("");
  add(all, "full session", "train", facts{full_session(), value, empty});
  add(all, "value of no session", "train", facts{sessionless_values});
  add(all, "empty job", "", facts{empty_job(3), empty_request(session_id{3}, 0, 1)});
  add_flags(all);
  add_enumerators(all);
  add(all, "job that is forgotten", "train",
      facts{request_removed{job.id, 4'000'000'001, 2}, per_worker_removed{job.id, value.id},
            job_removed{job.id}});
}

}  // namespace muster::server::journal::goldens
