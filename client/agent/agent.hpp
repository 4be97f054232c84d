// Implementation of a coordination_agent. The agent uses XLA's version of the coordination
// protocol, which numbers tasks across the whole cluster. Only wait_for_all uses TensorFlow's
// version.
//
// States:
//
//     idle --connect--> connecting --> connected --> failed --connect--> …
//                           \--> idle      \--shutdown--> shut_down --connect--> …
//
// The coordination_agent and unfinished questions own this object. All state is used only on the
// engine thread; other threads read copies under the mutex. Operations are coroutines on the engine
// thread. Each operation has a deadline, and a ticket that can cancel it.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/backoff.hpp"
#include "client/agent/barrier_uses.hpp"
#include "client/agent/service_error.hpp"
#include "client/link/client_engine.hpp"
#include "client/session/ticket.hpp"
#include "coro/client_unary.hpp"
#include "muster/coordination_agent.hpp"
#include "tensorflow/coordination_service.grpc.pb.h"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::detail {

class key_watching;

class agent : public std::enable_shared_from_this<agent> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using clock = std::chrono::steady_clock;

  /// The engine must outlive close().
  agent(client_engine& engine, coordination_options options);

  // Thread-safe.
  coro::engine_context& context() { return engine_.context(); }
  /// Cancels all operations and waits until they have ended. Must not be called on the engine
  /// thread.
  void close();

  // The following members are used only on the engine thread.
  std::set<ticket*>& tickets() { return tickets_; }
  /// Starts an operation. Throws coordination_error (resource_exhausted) if 65,536 operations are
  /// running.
  void spawn(char const* name, coro::task<void> body);

  coro::task<void> connect(ticket& t);
  coro::task<void> shutdown(ticket& t);
  coro::task<std::vector<std::string>> wait_for_all(ticket& t, std::vector<std::string> devices,
                                                    milliseconds timeout);
  coro::task<bool> set(ticket& t, std::string key, std::string value, bool overwrite);
  coro::task<std::string> get(ticket& t, std::string key, milliseconds timeout);
  coro::task<std::optional<std::string>> try_get(ticket& t, std::string key);
  coro::task<std::vector<key_value>> list(ticket& t, std::string folder);
  coro::task<std::int64_t> increment(ticket& t, std::string key, std::int64_t by);
  coro::task<void> erase(ticket& t, std::string key);
  coro::task<void> watch(ticket& t, std::shared_ptr<key_watching> w);
  coro::task<std::int64_t> barrier(ticket& t, std::string id, milliseconds timeout,
                                   std::vector<std::uint32_t> participants);
  coro::task<void> cancel_barrier(ticket& t, std::string id);
  coro::task<bool> leave_barrier(ticket& t, std::string id);
  coro::task<void> report_error(ticket& t, coordination_code code, std::string message);
  coro::task<std::optional<agent_error>> wait_for_error(ticket& t, milliseconds timeout);
  coro::task<task_list> tasks(ticket& t, std::int64_t version, milliseconds timeout);
  coro::task<std::vector<live_task>> live_tasks(ticket& t, std::vector<std::uint32_t> among,
                                                milliseconds timeout);

 private:
  friend class muster::coordination_agent;  // uses these members on any thread, under the mutex

  using xla_stub = xla::coordination::CoordinationService::Stub;
  using tensorflow_stub = tensorflow::CoordinationService::Stub;
  enum class again : bool { no, yes };  // whether an interrupted call can be repeated

  coro::task<void> register_task(ticket& t);
  /// Sets the heartbeat interval to half of the agent's or the cluster's timeout, whichever is
  /// shorter. 0 means that the cluster's timeout is unknown.
  void adopt_timeout(std::chrono::milliseconds of_cluster);
  coro::task<void> beat();
  coro::task<void> poll();
  coro::task<void> end(std::shared_ptr<std::promise<void>> ended);
  coro::task<void> watch_keys(std::shared_ptr<key_watching> w);
  void fail(service_error const& e);
  void set_state(agent_state s);
  void cut_all(ticket::cut why, ticket const* but = nullptr);
  void check_connected() const;
  void check_cut(ticket const& t) const;
  service_error no_answer(milliseconds after) const;

  template <class Request>
  void sign(Request& q) const {
    auto const task = static_cast<std::int32_t>(options_.task);
    if constexpr (requires { q.mutable_incarnations(); }) {
      q.mutable_incarnations()->set_task_incarnation(incarnation_);
      q.mutable_incarnations()->set_service_incarnation(service_);
    }
    if constexpr (requires { q.set_source_task_id(0); }) q.set_source_task_id(task);
    if constexpr (requires { q.set_requesting_task_id(0); }) q.set_requesting_task_id(task);
    // As in XLA's version, a task without a job name is numbered across the cluster.
    if constexpr (requires { q.mutable_source_task(); }) q.mutable_source_task()->set_task_id(task);
  }

  template <class Stub, class Request, class Response>
  using method = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*)(
      grpc::ClientContext*, Request const&, grpc::CompletionQueue*);

  /// Makes one attempt; waits for a connection if necessary. clock::time_point::max() means no
  /// deadline.
  template <class Stub, class Request, class Response>
  coro::task<grpc::Status> once(ticket& t, method<Stub, Request, Response> m, Request const& q,
                                Response& r, clock::time_point deadline) {
    check_cut(t);
    grpc::ClientContext context;
    add_token(context, options_.token);
    context.set_wait_for_ready(true);
    if (deadline != clock::time_point::max())
      context.set_deadline(std::chrono::system_clock::now() +
                           std::max<clock::duration>(deadline - clock::now(), milliseconds(1)));
    t.calls(&context);
    auto calling = coro::unary_call(engine_.context(), *std::get<std::unique_ptr<Stub>>(stubs_), m,
                                    context, q, r);
    auto const status = co_await std::move(calling);
    t.calls(nullptr);
    co_return status;
  }

  /// Returns nothing if `r` contains the response, otherwise the service's error. For a cancelled
  /// ticket, throws the error that matches the reason. Throws agent_error if the service belongs to
  /// another run. Also throws wait_timeout.
  template <class Stub, class Request, class Response>
  coro::task<std::optional<service_error>> ask(ticket& t, method<Stub, Request, Response> m,
                                               Request& q, Response& r, milliseconds timeout,
                                               again a) {
    check_cut(t);
    check_connected();
    sign(q);
    auto const end = clock::now() + timeout;
    backoff pauses(milliseconds(50), milliseconds(1'000), incarnation_);
    for (;;) {
      auto calling = once(t, m, q, r, end);
      auto const status = co_await std::move(calling);
      check_cut(t);
      if (status.ok()) co_return std::nullopt;
      auto e = read_error(status);
      if (e.other_service) {
        fail(e);
        throw *error_;
      }
      auto const pause = pauses.next();
      if (!e.answered && e.code == coordination_code::deadline_exceeded) no_answer(timeout).raise();
      if (!e.passes() || a == again::no || clock::now() + pause >= end) co_return e;
      auto waiting = t.pause().wait_for(pause);
      co_await std::move(waiting);
      check_cut(t);
    }
  }

  /// Throws the same errors as ask(), and the service's error.
  template <class Stub, class Request, class Response>
  coro::task<Response> answer(ticket& t, method<Stub, Request, Response> m, Request& q,
                              milliseconds timeout, again a = again::yes) {
    Response r;
    auto asking = ask(t, m, q, r, timeout, a);
    auto const refused = co_await std::move(asking);
    if (refused) refused->raise();
    co_return r;
  }

  client_engine& engine_;
  coordination_options const options_;
  std::shared_ptr<grpc::Channel> channel_;
  std::tuple<std::unique_ptr<xla_stub>, std::unique_ptr<tensorflow_stub>> stubs_;
  coro::task_group tasks_;
  std::set<ticket*> tickets_;
  std::map<std::string, ticket*> waits_at_;  // waiting barriers by ID
  barrier_uses uses_;
  clock::time_point last_answer_{};
  std::chrono::milliseconds heartbeat_interval_{};
  bool registered_before_ = false;

  /// Protects the following members. Only the engine thread writes these members, and it reads them
  /// without locking.
  mutable std::mutex mutex_;
  agent_state state_ = agent_state::idle;
  std::uint64_t incarnation_ = 0;
  std::uint64_t service_ = 0;
  std::optional<agent_error> error_;
};

}  // namespace muster::detail
