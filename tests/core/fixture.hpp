// One coordinator with simulated time, and short functions for the actions of workers and clients.
//
//   cluster c;
//   auto const w = c.attach({.functions = {"f"}});
//   auto const job = c.open({"f", "f"});
//   c.succeed(w, job[0], "1");
//   EXPECT_EQ(c.sent(w), closures({job[1]}));
//
// Every step checks the core's invariants and the witness's rules. No worker may be idle while a
// closure that it can run is queued.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "server/core/api/explanation.hpp"
#include "server/core/api/objects.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/core/coordinator.hpp"
#include "server/core/queries/closure_queries.hpp"
#include "server/core/queries/function_queries.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"
#include "server/history/activity/activity_pages.hpp"
#include "tests/core/changes_model.hpp"
#include "tests/core/printers.hpp"
#include "tests/core/witness.hpp"

namespace muster::core {

using namespace std::chrono_literals;

inline constexpr time_point start{std::chrono::seconds(1'700'000'000)};

using history::log_event;
using history::log_event_kind;
using names = std::vector<std::string>;
using closures = std::vector<closure_id>;
using notices = std::vector<notice_kind>;

struct joining {
  names functions = {"f"};
  std::uint32_t slots = 1;
  std::uint32_t credits = 1;
  std::int64_t index = -1;
  std::uint64_t incarnation = 0;  // 0: a new incarnation
  std::string job = "worker";
  std::string host = "host";
  std::vector<std::pair<std::string, std::string>> labels{};
  std::vector<std::pair<std::string, std::uint32_t>> resources{};
  std::vector<per_worker_id> per_worker{};
  std::uint64_t replaces = 0;
  std::uint64_t group = 0;
  std::uint32_t group_size = 0;
  std::uint32_t group_position = 0;
  std::int64_t last_index = -1;
};

struct opened {
  session_id id{};
  core::closures closures;

  closure_id operator[](std::size_t i) const { return closures.at(i); }
};

session_spec fail_fast();
session_spec continue_all();
/// Allows more closures to be appended.
session_spec left_open(session_spec s = {});
/// Outcomes are delivered and forgotten.
session_spec streaming(session_spec s = {});

/// Keeps values until they are released.
session_spec resumable_values(session_spec s = {});
/// Keeps values as well; the client uses unary calls instead of a stream.
session_spec by_call(session_spec s = {});

class cluster {
 public:
  /// Pauses of closures that lost their worker.
  enum class loss_pauses { none, as_configured };

  explicit cluster(config c = {}, loss_pauses pauses = loss_pauses::none)
      : core(pausing(std::move(c), pauses), start, wide),
        past(core.configuration(), wide, start),
        choosy_(pauses == loss_pauses::as_configured) {}

  server_wide wide{start};
  coordinator core;
  history::history past;

  time_point now() const { return now_; }
  /// Advances time without ticks.
  void wait(duration d) { now_ += d; }
  /// Advances time with ticks.
  void advance(duration d);
  effects const& tick() { return step(core::tick{}); }

  effects const& step(event e);
  /// Reports lost objects that a session relied on.
  effects const& step(task_state_lost const& e);
  /// Restores jobs; must be the first event.
  effects const& restore(restore_jobs e);
  effects const& fx() const { return fx_; }

  /// Sends a call and returns its reply, unless it is parked.
  template <class Event>
  std::optional<reply> ask(Event e) {
    e.call = call_id{++last_call_};
    step(std::move(e));
    return reply_to(last_call());
  }
  /// Sends a call and returns its immediate reply.
  template <class Event>
  reply reply_to_event(Event e) {
    return ask(std::move(e)).value_or(reply{});
  }
  template <class Event>
  status status_of(Event e) {
    return reply_to_event(std::move(e)).status;
  }
  /// Sends a call that must be parked.
  template <class Event>
  call_id park(Event e) {
    EXPECT_FALSE(ask(std::move(e)).has_value()) << "answered at once";
    return last_call();
  }
  call_id last_call() const { return call_id{last_call_}; }
  std::optional<reply> reply_to(call_id call) const;

  // Workers.
  stream_id attach(joining const& w = {});
  /// Creates the event without sending it.
  worker_attached arrival(joining const& w);
  effects const& answer(stream_id w, std::vector<worker_result> results);
  effects const& succeed(stream_id w, closure_id c, std::string_view value = "1");
  effects const& fail(stream_id w, closure_id c, std::string message = "broken",
                      failure_kind kind = failure_kind::user);
  effects const& lose(stream_id w, std::string reason = "connection lost");
  /// Breaks the connection; the worker can return.
  effects const& cut(stream_id w, std::string reason = "connection lost");
  /// Attaches with the same incarnation.
  stream_id come_back(joining const& w, closures const& held);
  effects const& leave(stream_id w, std::string reason = "left");
  effects const& end_process(stream_id w, closure_id executed, std::string how);
  effects const& alive(stream_id w) { return step(worker_alive{w}); }
  /// Returns a result for the attempt that the stream holds, or for attempt 1.
  worker_result good(stream_id w, closure_id c, std::string_view value = "1") const;
  worker_result bad(stream_id w, closure_id c, std::string message = "broken",
                    failure_kind kind = failure_kind::user) const;

  // Clients.
  result<function_id> learn(std::string_view name);
  function_id function(std::string_view name) { return *learn(name); }
  std::vector<closure_spec> specs(names const& functions);
  opened open(names const& functions, session_spec spec = {});
  opened open_with(std::vector<closure_spec> work, session_spec spec = {});
  session_id stream(session_spec spec = {}) { return open({}, streaming(std::move(spec))).id; }
  /// Returns the tokens.
  std::vector<std::uint64_t> schedule(session_id s, names const& functions);
  core::closures append(session_id s, names const& functions);

  core::closures held(stream_id w) const;
  core::closures sent(stream_id w) const;          // in the last step
  notices noticed(session_id s) const;             // in the last step
  std::vector<std::uint64_t> tokens_sent() const;  // in the last step, oldest first
  closure_state state(closure_id c) const { return core.closures().find(c)->state; }
  task_state state(std::string_view job, std::int64_t index) const {
    return core.workers().find(job, index)->state;
  }
  task_view task(std::int64_t index) const { return core.workers().find("worker", index).value(); }
  job_view job(session_id s) const { return core.sessions().find(s).value(); }
  explanation why(closure_id c) const { return core.closures().explain(c, now_).value(); }
  /// Returns the log events of the last step.
  std::vector<log_event> const& said() const { return past.log().pending_events(); }
  core::witness const& watch() const { return witness_; }

 private:
  static config pausing(config c, loss_pauses pauses);
  std::string idle_beside_work() const;
  void listen(effects const& fx);

  time_point now_ = start;
  effects fx_;
  core::witness witness_;
  changes_model told_;
  std::uint64_t restored_ = 0;  // closures that ended in an earlier process
  bool stopped_ = false;
  bool choosy_ = false;  // some closure has requirements
  std::uint64_t last_call_ = 0;
  std::uint64_t last_stream_ = 0;
  std::uint64_t last_incarnation_ = 1'000;
  std::uint64_t last_token_ = 0;
};

}  // namespace muster::core
