// Translates bytes into valid and invalid events. At the end a healthy worker attaches and
// everything must end.
//
// Call byte() at most once in the arguments of a call or the operands of an operator. C++ does not
// define their order, and a seed must give the same events with every compiler.
#pragma once

#include <span>

#include "server/core/api/waiting_views.hpp"
#include "tests/core/fixture.hpp"
#include "tests/support/simulation/random.hpp"

namespace muster::core {

/// Limits that are small enough to be reached.
inline config tight() {
  config c;
  c.tasks_max = 4;
  c.functions_per_worker_max = 4;
  c.credits_max = 6;
  c.queue_capacity = 8;
  c.queue_capacity_max = 12;
  c.closures_max = 60;
  c.sessions_max = 8;
  c.finished_jobs_max = 3;
  c.value_bytes_max = 40;
  c.retry_bytes_max = 12;
  c.parked_calls_max = 4;
  c.task_retention = 40s;
  return c;
}

inline std::vector<std::uint8_t> fuzz_bytes(std::uint64_t seed) {
  simulation::random dice(seed);
  std::vector<std::uint8_t> bytes(32'000);
  for (auto& b : bytes) b = static_cast<std::uint8_t>(dice.next());
  return bytes;
}

class fuzz_player {
 public:
  explicit fuzz_player(std::span<std::uint8_t const> bytes) : bytes_(bytes), c_(tight()) {
    for (auto const* name : {"a", "b", "c"}) c_.function(name);
  }

  void play() {
    while (!bytes_.empty() && !testing::Test::HasFailure()) {
      if (one_in(3)) pass_time();
      if (one_in(2) && c_.core.next_deadline() <= c_.now()) c_.tick();
      step(byte());
      ++steps;
      learn();
      auto const closure = anything(seen_closures_, closure_id{byte()});
      look(closure, session_id{byte() % 20u});
    }
    finish();
  }

  overview_view reached;
  std::uint64_t steps = 0;

 private:
  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    auto const b = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return b;
  }
  bool one_in(int n) { return byte() % n == 0; }
  void pass_time() {
    int const most = one_in(8) ? 25 : 17;
    c_.wait(core::duration(1 << (byte() % most)));
  }
  template <class T>
  T anything(std::vector<T> const& known, T nonsense) {
    auto const b = byte();
    return known.empty() || b % 16 == 0 ? nonsense : known[b % known.size()];
  }
  stream_id some_stream() { return anything(c_.watch().streams(), stream_id{byte()}); }
  session_id some_session() {
    auto const newest = c_.core.sessions().list({}, 6).items;
    std::vector<session_id> ids;
    for (auto const& v : newest) ids.push_back(v.id);
    return anything(ids, session_id{byte()});
  }
  time_point some_deadline() {
    return one_in(3) ? never : c_.now() + core::duration(byte() * 99'000);
  }
  names some_functions() {
    names out;
    for (auto n = byte() % 5; n > 0; --n) out.push_back(std::string(1, "abc"[byte() % 3]));
    return out;
  }
  std::vector<closure_spec> some_closures() {
    auto out = c_.specs(some_functions());
    if (!out.empty() && one_in(20)) out.back().function = function_id{byte()};
    return out;
  }

  void operate() {
    auto const* const job = one_in(5) ? "ps" : "worker";
    auto const index = byte() % 4;
    switch (byte() % 4) {
      case 0:
        c_.ask(cordon_task{{}, job, index, true});
        break;
      case 1:
        c_.ask(cordon_task{{}, job, index, false});
        break;
      default:
        c_.ask(drain_task{{}, job, index});
    }
  }

  void step(std::uint8_t kind) {
    switch (kind % 16) {
      case 0: {
        auto e = c_.arrival({.functions = some_functions(),
                             .slots = byte() % 4u,
                             .credits = byte() % 8u,
                             .index = byte() % 6 - 2,
                             .incarnation = 1u + byte() % 6u,
                             .job = one_in(5) ? "ps" : "worker"});
        for (auto n = byte() % 4; n > 0; --n) {
          auto const id = anything(seen_closures_, closure_id{byte()});
          e.held.push_back({id, one_in(10) ? byte() : c_.watch().attempt(id)});
          e.held.back().waits = one_in(3);
        }
        if (one_in(30)) e.spec.functions.push_back("\n");
        c_.step(std::move(e));
        break;
      }
      case 1:
      case 2:
      case 3:
      case 4:
        c_.step(some_results());
        break;
      case 5:
        c_.step(worker_alive{some_stream()});
        break;
      case 6:
        c_.step(worker_disconnected{some_stream(), one_in(3), "bytes said so", one_in(2)});
        break;
      case 7:
        if (one_in(2))
          c_.step(worker_drain{some_stream(), one_in(2)});
        else
          operate();
        break;
      case 8:
        open();
        break;
      case 9:
      case 10:
        schedule_some();
        break;
      case 11:
        one_in(2) ? c_.ask(seal_session{{}, some_session()})
                  : c_.ask(cancel_session{{}, some_session()});
        break;
      case 12:
        end_session();
        break;
      case 13:
        c_.ask(cancel_closure{{}, anything(seen_closures_, closure_id{byte()})});
        break;
      case 14:
        if (one_in(2))
          c_.ask(join_session{{}, some_session(), some_deadline()});
        else
          c_.ask(await_value{{}, anything(seen_closures_, closure_id{byte()}), some_deadline()});
        break;
      default:
        one_in(2) ? c_.step(call_abandoned{call_id{byte()}}) : c_.tick();
    }
  }

  worker_results some_results() {
    worker_results e{some_stream(), {}, {}, {}};
    auto const held = c_.held(e.stream);
    if (one_in(8)) {
      auto const id = anything(held, closure_id{byte()});
      auto const ran = core::duration(byte() * 1'000);
      e.started.push_back({id, c_.watch().attempt(id), ran});
    }
    if (one_in(16)) {
      auto const id = anything(held, closure_id{byte()});
      e.returned.push_back({id, c_.watch().attempt(id)});
      if (one_in(40)) ++e.returned.back().attempt;
    }
    if (one_in(4)) {
      auto const id = anything(held, closure_id{byte()});
      e.waits.push_back({id, c_.watch().attempt(id), !one_in(3)});
    }
    for (auto n = byte() % 3; n >= 0; --n) {
      auto const id = anything(held, closure_id{byte()});
      auto r = one_in(4) ? c_.bad(e.stream, id, "broken", static_cast<failure_kind>(byte() % 7))
                         : c_.good(e.stream, id, std::string(byte() % 12, 'v'));
      if (one_in(40)) ++r.attempt;
      if (one_in(3)) r.execution = core::duration(byte() * 500);
      e.results.push_back(std::move(r));
    }
    return e;
  }

  void open() {
    session_spec s;
    if (!one_in(2)) {
      s.delivery = delivery::stream;
      if (one_in(2)) s.delivery = one_in(2) ? delivery::unary : delivery::resumable;
    }
    s.open = s.delivery != delivery::job || one_in(2);
    s.detached = traits_of(s.delivery).resumable && one_in(4);
    if (one_in(2)) s.grace = std::chrono::seconds(byte());
    s.on_error = one_in(2) ? on_error::fail_fast : on_error::continue_all;
    s.queue_capacity = byte() % 14u;
    s.max_worker_failures = byte() % 6u;
    s.require_function = one_in(6);
    if (one_in(6)) s.idempotency_key = std::string(1, "xyz"[byte() % 3]);
    c_.ask(open_session{{}, std::move(s), some_closures()});
  }

  void schedule_some() {
    core::schedule e{{}, some_session(), some_closures()};
    auto const v = c_.core.sessions().find(e.session);
    if (one_in(4)) e.generation = byte() % 4u;
    if (v && v->resumable && !e.closures.empty() && one_in(2))
      e.closures[0].token = std::min(e.closures[0].token, some_token());
    if (v && v->streaming && (v->attached || !v->resumable) && !one_in(10))
      c_.step(std::move(e));
    else
      c_.ask(std::move(e));
  }

  // Ends a session; only streams can be closed, jobs cannot.
  void end_session() {
    auto const id = some_session();
    auto const v = c_.core.sessions().find(id);
    if (!v || !v->streaming)
      one_in(3) ? c_.ask(retry_job{{}, id, {}}) : c_.ask(delete_session{{}, id});
    else if (v->resumable && !one_in(4))
      disturb(*v);
    else if (one_in(2))
      c_.step(close_session{id});
  }

  std::uint64_t some_token() { return std::max<std::uint64_t>(1, byte() % 64u); }
  std::vector<std::uint64_t> some_tokens() {
    std::vector<std::uint64_t> out;
    for (auto n = byte() % 8; n > 0; --n) out.push_back(some_token());
    return out;
  }

  // Sends events for resumable sessions.
  void disturb(job_view const& v) {
    if (one_in(3)) {
      c_.ask(release_values{{}, v.id, some_tokens(), {anything(seen_closures_, closure_id{1})}});
    } else if (v.attached && one_in(2)) {
      c_.step(suspend_session{v.id});
    } else if (one_in(2)) {
      c_.ask(resume_session{{}, v.id, some_tokens()});
    } else if (one_in(6)) {
      c_.ask(delete_session{{}, v.id});
    } else {
      c_.ask(join_session{
          {}, v.id, some_deadline(), one_in(2) ? join_mode::drain : join_mode::settle});
    }
  }

  void learn() {
    for (auto const& a : c_.fx().assignments) seen_closures_.push_back(a.closure);
    for (auto const& r : c_.fx().replies)
      if (auto const* s = std::get_if<session_reply>(&r.body))
        seen_closures_.insert(seen_closures_.end(), s->closures.begin(), s->closures.end());
    if (seen_closures_.size() > 40)
      seen_closures_.erase(seen_closures_.begin(), seen_closures_.end() - 40);
  }

  /// Checks that reading does not change the state.
  void look(closure_id closure, session_id session) const {
    auto const before = c_.core.overview(c_.now()).closures;
    EXPECT_EQ(c_.core.closures().find(closure).has_value(),
              c_.core.closures().explain(closure, c_.now()).has_value());
    EXPECT_EQ(c_.core.sessions().find(session).has_value(),
              c_.core.closures().list(session, 1, 2).has_value());
    EXPECT_LE(c_.core.closures().gangs().items.size(), gangs_view::max);
    EXPECT_TRUE(c_.core.closures().unmet_demand().complete);
    EXPECT_EQ(c_.core.overview(c_.now()).closures, before);
  }

  void finish() {
    for (auto const s : c_.watch().streams()) c_.leave(s);
    c_.advance(c_.core.configuration().reconnect_grace);
    for (auto const& t : c_.core.workers().list(0, 100, {}).items)
      c_.ask(cordon_task{{}, t.job, t.index, false});
    auto const w = c_.attach({.functions = {"a", "b", "c"}, .slots = 4, .credits = 4});
    while (!c_.held(w).empty() && !testing::Test::HasFailure()) c_.succeed(w, c_.held(w).front());
    auto const v = c_.core.overview(c_.now());
    EXPECT_EQ(v.closures.queued + v.closures.running, 0u);
    for (auto const& job : c_.core.sessions().list({}, 100).items) {
      bool const is_open = !ended(job.state);  // ended sessions stay listed
      EXPECT_TRUE(!is_open || c_.watch().unanswered_tokens(job.id) == 0);
      EXPECT_FALSE(job.stopping);
    }
    forget_results();
    for (auto const& job : c_.core.sessions().list({}, 100).items)
      EXPECT_TRUE(!job.streaming || c_.core.has_room(job.id)) << "held back forever";
    reached = v;
    c_.step(stop{});
    EXPECT_TRUE(c_.watch().open_calls().empty());
  }

  /// Deletes stored results, because a server full of them rightly holds streams back.
  void forget_results() {
    for (auto const& job : c_.core.sessions().list({}, 100).items) {
      if (job.resumable && job.attached) {
        c_.step(close_session{job.id});
      } else if (job.resumable || !job.streaming) {
        c_.ask(cancel_session{{}, job.id});
        c_.ask(delete_session{{}, job.id});
      }
    }
  }

  std::span<std::uint8_t const> bytes_;
  cluster c_;
  closures seen_closures_;
};

}  // namespace muster::core
