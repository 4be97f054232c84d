#include "tests/journal/format_4_world.hpp"

#include <utility>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/fact_encoding.hpp"

namespace muster::server::journal {
namespace {

using namespace std::chrono_literals;

core::config durable() {
  core::config c;
  c.durable = true;
  return c;
}

core::session_spec named(std::string name, core::session_spec s = {}) {
  s.name = std::move(name);
  return s;
}

std::shared_ptr<core::closure_extras> with(core::closure_options options) {
  auto x = std::make_shared<core::closure_extras>();
  x->options = std::move(options);
  return x;
}

}  // namespace

format_4_world::format_4_world() : c_(durable()) {
  muster::journal::v1::Format f;
  f.set_version(4);
  f.set_written_by("0.4.0");
  f.set_epoch(1);
  f.set_sessions(1'000);
  f.set_identity(0x1234'5678'9abc'def0);
  (void)store_.write({{change::kind::put, "format", f.SerializeAsString()}});
  w_ = c_.attach({.functions = {"f", "python:3.11"},
                  .slots = 8,
                  .credits = 8,
                  .index = 0,
                  .incarnation = 77,
                  .host = "node-a"});
  note();
  jobs_that_end();
  jobs_that_wait();
  sessions();
  values_of_nobody();
  losses();
  agents();
  tokens();
}

void format_4_world::note() {
  std::vector<change> batch;
  encode("train", c_.fx().facts, batch);
  (void)store_.write(batch);
}

// Makes timestamps differ.
void format_4_world::advance(core::duration d) {
  for (; d > 0ms; d -= 1ms) {
    c_.advance(1ms);
    note();
  }
}

core::opened format_4_world::submit(std::string name, std::vector<core::closure_spec> work,
                                    core::session_spec spec) {
  auto const made = c_.open_with(std::move(work), named(std::move(name), std::move(spec)));
  note();
  advance(1ms);
  return made;
}

core::session_id format_4_world::session(core::session_spec spec) {
  core::open_session e{{}, std::move(spec), {}, "ipv4:10.0.0.7:51234"};
  auto const r = c_.reply_to_event(std::move(e));
  note();
  return std::get<core::session_reply>(r.body).session;
}

core::closures format_4_world::schedule(core::session_id s, std::vector<core::closure_spec> work) {
  std::vector<std::uint64_t> tokens;
  for (auto const& c : work) tokens.push_back(c.token);
  c_.step(core::schedule{{}, s, std::move(work)});
  note();
  core::closures ids;
  for (auto const t : tokens) ids.push_back(c_.core.closure_of(s, t));
  return ids;
}

void format_4_world::answer(core::worker_result r) {
  c_.answer(w_, {std::move(r)});
  note();
  advance(1ms);
}

void format_4_world::jobs_that_end() {
  auto const good = submit("succeeded", c_.specs({"f", "f"}));
  answer(c_.good(w_, good[0], "[1,2]"));
  auto bytes = c_.good(w_, good[1]);
  bytes.value = core::blob("\x80\x05 bytes", core::encoding::bytes);
  answer(bytes);

  auto spec = core::continue_all();
  spec.metadata = R"({"team":"a"})";
  spec.submitted_by = "ci-0a1b";
  spec.idempotency_key = "once";
  spec.weight = 3;
  auto const bad = submit("failed", c_.specs({"f", "f"}), spec);
  auto broken = c_.bad(w_, bad[0], "division by zero");
  broken.failure->type = "ZeroDivisionError";
  broken.failure->traceback = "line 1\nline 2";
  broken.failure->exception = std::string("\x80\x05\0", 3);
  answer(broken);
  answer(c_.good(w_, bad[1]));
  core::retry_job again;
  again.session = bad.id;
  again.name = "retried";
  tell(again);

  auto const cancelled = submit("cancelled", c_.specs({"nobody"}));
  core::cancel_session cancel;
  cancel.session = cancelled.id;
  tell(cancel);

  auto const gone = submit("deleted", c_.specs({"f"}));
  answer(c_.good(w_, c_.held(w_).back()));
  core::cancel_session end;
  end.session = gone.id;
  tell(end);
  core::delete_session away;
  away.session = gone.id;
  tell(away);
}

void format_4_world::jobs_that_wait() {
  auto work = c_.specs({"f", "absent", "absent", "absent"});
  core::closure_options retried;
  retried.max_retries = 3;
  retried.retry_initial = retried.retry_max = 1h;
  work[0].extras = with(retried);
  core::closure_options choosy;
  choosy.priority = -4;
  choosy.deadline = 24h;
  choosy.task_job = "ps";
  choosy.task_index = 6;
  choosy.labels = {{"zone", "a"}, {"disk", "ssd"}};
  choosy.resources = {{"gpu", 2}};
  auto const asked = with(choosy);
  work[1].extras = asked;
  work[2].extras = asked;
  auto after = with({});
  after->inputs = {{{}, 0, 1}};
  work[3].extras = after;
  work[3].args = core::blob("[null]");
  auto spec = core::left_open(core::continue_all());
  spec.deadline = 48h;
  spec.queue_capacity = 50;
  spec.max_worker_failures = 6;
  auto const job = submit("waits", std::move(work), spec);
  answer(c_.bad(w_, job[0], "not yet"));
  c_.append(job.id, {"absent"});
  note();

  core::closure_options together;
  together.gang = "ring";
  auto gang = c_.specs({"absent", "absent"});
  for (auto& g : gang) g.extras = with(together);
  submit("gang", std::move(gang));
}

void format_4_world::sessions() {
  auto spec = core::resumable_values(core::continue_all());
  spec.name = "stream";
  spec.grace = 5s;
  auto const held = session(spec);
  core::create_per_worker make;
  make.name = "weights";
  make.function = c_.function("python:3.11");
  make.args = core::blob("\xfd", core::encoding::bytes);
  make.owner = held;
  make.token = 9;
  auto const value = std::get<core::per_worker_reply>(c_.reply_to_event(make).body).id;
  note();
  make.token = 10;
  auto const released = std::get<core::per_worker_reply>(c_.reply_to_event(make).body).id;
  note();
  for (auto const id : c_.held(w_))
    if (c_.core.session_of(id) == core::session_id{}) answer(c_.good(w_, id));
  auto work = c_.specs({"f", "f", "f", "absent"});
  auto needs = with({});
  needs->per_worker = {released};
  work[3].extras = needs;
  auto const first = schedule(held, std::move(work));
  core::delete_per_worker away;
  away.id = released;
  away.owner = held;
  tell(away);
  (void)value;
  for (std::size_t i = 0; i < 3; ++i)
    answer(c_.good(w_, first[i], "{\"n\":" + std::to_string(i) + "}"));
  c_.step(core::release_values{{}, held, {}, {first[1]}});  // other closures of its request remain
  note();
  c_.step(core::release_values{{}, held, {}, {first[3]}});  // released before it has ended
  note();
  auto const second = schedule(held, c_.specs({"f"}));
  answer(c_.good(w_, second[0]));
  c_.step(core::release_values{{}, held, {}, second});  // all closures of the request
  note();
  auto called = c_.specs({"python:3.11", "f"});
  called[0].callable = 1;
  called[1].own_error = true;
  core::schedule e{{}, held, std::move(called)};
  e.callables = {{"train.step", std::string(core::callable_hash_bytes, '\xfc')}};
  c_.step(std::move(e));
  note();
  c_.step(core::suspend_session{held});
  note();

  auto calls = core::by_call();
  calls.name = "calls";
  calls.detached = true;
  auto const by = session(calls);
  auto const ids = schedule(by, c_.specs({"f", "absent"}));
  answer(c_.bad(w_, ids[0], "of a call"));
}

void format_4_world::values_of_nobody() {
  core::create_per_worker make;
  make.name = "shared";
  make.function = c_.function("absent");
  make.args = core::blob("[7]");
  make.submitted_by = "ci-0a1b";
  tell(make);
}

void format_4_world::losses() {
  auto const other =
      c_.attach({.functions = {"lost"}, .index = 1, .incarnation = 78, .host = "node-b"});
  note();
  auto const job = submit("lost", c_.specs({"lost"}));
  c_.lose(other, "connection reset");
  note();
  auto const last =
      c_.attach({.functions = {"long"}, .index = 2, .incarnation = 79, .host = "node-c"});
  note();
  submit("runs", c_.specs({"long"}));
  c_.wait(1500ms);
  c_.alive(last);  // long enough that the next process waits for its worker
  note();
}

void format_4_world::agents() {
  using namespace core::coordination;
  limits l;
  l.journalled = true;
  clusters all(l, 42);
  auto const take = [&](effects& fx) {
    std::vector<change> batch;
    encode(fx.facts, batch);
    (void)store_.write(batch);
    return fx.cluster;
  };
  cluster_spec spec;
  spec.name = "train";
  spec.jobs = {{"worker", 2, false}, {"ps", 1, true}};
  spec.heartbeat_timeout = 20s;
  auto const id = take(all.step(core::start, create_cluster{spec}));
  std::uint64_t call = 0;
  auto const ask = [&](auto request) {
    request.from.call = core::call_id{++call};
    cluster_call any{id, std::move(request)};
    take(all.step(core::start + core::duration(call), any));
  };
  auto const ref = [&](task_index t) {
    task_ref r;
    r.index = t;
    return r;
  };
  for (task_index t = 0; t < 3; ++t)
    ask(register_task{.from = {},
                      .task = ref(t),
                      .incarnation = core::incarnation{100 + t},
                      .peer = "10.0.0." + std::to_string(t) + ":4711"});
  ask(insert_key_value{{}, "a/b", core::blob("{}", core::encoding::json), false});
  ask(insert_key_value{
      {}, "a/c", core::blob(std::string("\0\xff", 2), core::encoding::bytes), false});
  ask(insert_key_value{{}, "gone", core::blob("x", core::encoding::bytes), false});
  ask(delete_key_value{{}, "gone"});
  for (task_index t = 0; t < 3; ++t) ask(enter_barrier{{}, "step/1", 0, 60s, ref(t), {}});
  for (task_index t = 0; t < 2; ++t)
    ask(enter_barrier{{}, "some", 0, 60s, ref(t), {ref(0), ref(1)}});
  ask(report_error{{}, ref(1), muster::code::internal, "out of memory"});
  spec.jobs[0].tasks = 4;  // takes effect with the next generation
  take(all.step(core::start + 1s, redeclare_cluster{id, spec}));
}

void format_4_world::tokens() {
  core::token t;
  t.id = "ci-0a1b";
  t.role = core::role::submitter;
  t.clusters = {"train"};
  t.expires = core::start + 24h;
  t.salt = "\x01salt";
  t.digest = "\xff digest";
  t.created = core::start;
  t.created_by = "root-1";
  t.queued_max = 10;
  std::vector<change> batch;
  encode({t.id, std::make_shared<core::token const>(t)}, batch);
  (void)store_.write(batch);
}

}  // namespace muster::server::journal
