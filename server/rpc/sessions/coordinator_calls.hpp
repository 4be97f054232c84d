// Unary methods of muster.v1.CoordinatorService, which offer the functions of a resumable session's
// stream as single calls. Methods that can wait are coroutines and detect when the caller
// disconnects. Owned by the coordinator_service; used only on the engine thread.
#pragma once

#include <memory>
#include <string>

#include "coro/accept.hpp"
#include "coro/task_group.hpp"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/hub/access/use.hpp"
#include "server/hub/id_parsing.hpp"
#include "server/hub/pools.hpp"
#include "server/hub/submission.hpp"
#include "server/rpc/call_access.hpp"
#include "server/rpc/sessions/hub_calls.hpp"
#include "server/rpc/status_convert.hpp"
#include "server/rpc/stream_service.hpp"

namespace muster::server {

class coordinator_calls {
 public:
  coordinator_calls(pools& all, coro::engine_context& engine, stream_options const& options);
  coordinator_calls(coordinator_calls const&) = delete;

  /// Serves the unary methods of `service`. REQUIRES: server.start() has not been called.
  template <class Service>
  void accept(coro::grpc_server& server, Service& service) {
    add(server, service, &Service::RequestOpenSession, "OpenSession", &coordinator_calls::open);
    add(server, service, &Service::RequestSchedule, "Schedule", &coordinator_calls::schedule);
    add(server, service, &Service::RequestJoin, "Join", &coordinator_calls::join);
    add(server, service, &Service::RequestDone, "Done", &coordinator_calls::done);
    add(server, service, &Service::RequestFetch, "Fetch", &coordinator_calls::fetch);
    add(server, service, &Service::RequestCancel, "Cancel", &coordinator_calls::cancel);
    add(server, service, &Service::RequestCancelQueued, "CancelQueued",
        &coordinator_calls::cancel_queued);
    add(server, service, &Service::RequestGetCapacity, "GetCapacity",
        &coordinator_calls::get_capacity);
    add(server, service, &Service::RequestRelease, "Release", &coordinator_calls::release);
    add(server, service, &Service::RequestCreatePerWorkerValue, "CreatePerWorkerValue",
        &coordinator_calls::create_per_worker);
    add(server, service, &Service::RequestGetPerWorkerValue, "GetPerWorkerValue",
        &coordinator_calls::get_per_worker);
    add(server, service, &Service::RequestReleasePerWorkerValue, "ReleasePerWorkerValue",
        &coordinator_calls::release_per_worker);
    add(server, service, &Service::RequestGetLogs, "GetLogs", &coordinator_calls::get_logs);
    add(server, service, &Service::RequestCloseSession, "CloseSession", &coordinator_calls::close);
    add(server, service, &Service::RequestExplain, "Explain", &coordinator_calls::explain);
  }

  /// Answers waiting calls with UNAVAILABLE. Completes when all calls have ended.
  [[nodiscard]] coro::task<void> stop();

 private:
  template <class Request, class Response>
  using call = coro::server_unary<Request, Response>;
  template <class Response>
  using answered = coro::task<muster::result<Response>>;

  template <class Service, class Owner, class Request, class Response, class Method>
  void add(coro::grpc_server& server, Service& service,
           coro::unary_method<Owner, Request, Response> method, char const* name, Method serve) {
    auto handler = [this, serve](std::unique_ptr<call<Request, Response>> c) {
      return finish(std::move(c), serve);
    };
    coro::accept_unary(server, service, method, {name, 16, needs(core::permission::submit)}, tasks_,
                       handler);
  }

  template <class Request, class Response>
  coro::task<void> finish(std::unique_ptr<call<Request, Response>> c,
                          muster::result<Response> (coordinator_calls::*serve)(Request const&)) {
    if (auto const wrong = check_caller(*c); !wrong.ok()) {
      co_await c->finish(to_grpc(wrong));
      co_return;
    }
    auto const got = (this->*serve)(c->request());
    co_await finish(*c, got);
  }
  template <class Request, class Response>
  coro::task<void> finish(
      std::unique_ptr<call<Request, Response>> c,
      answered<Response> (coordinator_calls::*serve)(call<Request, Response>&)) {
    if (auto const wrong = check_caller(*c); !wrong.ok()) {
      co_await c->finish(to_grpc(wrong));
      co_return;
    }
    auto serving = (this->*serve)(*c);
    auto const got = co_await std::move(serving);
    co_await finish(*c, got);
  }
  template <class Request, class Response>
  static coro::task<bool> finish(call<Request, Response>& c, muster::result<Response> const& got) {
    return got ? c.finish(*got) : c.finish(to_grpc(got.error()));
  }

  /// Checks whether the caller may use the session and the functions, and create another per-worker
  /// value.
  template <class Request, class Response>
  muster::status check_caller(call<Request, Response>& c) {
    if constexpr (requires { c.request().session(); }) {
      auto const who = caller_of(options_.gate, c.context());
      if (!who) return {};
      if (auto const session = parse_job(c.request().session()))
        if (auto wrong = check_owner(who, pools_.of(*session), *session); !wrong.ok()) return wrong;
      if constexpr (std::is_same_v<Request, v1::ScheduleRequest>) {
        for (auto const& name : c.request().function())
          if (auto wrong = check_function(who, name); !wrong.ok())
            return {wrong.code, "function: " + wrong.message};
      }
      if constexpr (std::is_same_v<Request, v1::CreatePerWorkerValueRequest>) {
        if (auto wrong = check_function(who, c.request().function()); !wrong.ok())
          return {wrong.code, "function: " + wrong.message};
        return room_of(*who, pools_, 0, 1);
      }
    }
    return {};
  }

  answered<v1::Opened> open(call<v1::OpenSessionRequest, v1::Opened>& c);
  answered<v1::ScheduleResponse> schedule(call<v1::ScheduleRequest, v1::ScheduleResponse>& c);
  answered<v1::JoinResponse> join(call<v1::JoinRequest, v1::JoinResponse>& c);
  answered<v1::JoinResponse> done(call<v1::DoneRequest, v1::JoinResponse>& c);
  answered<v1::FetchResponse> fetch(call<v1::FetchRequest, v1::FetchResponse>& c);
  muster::result<v1::CancelResponse> cancel(v1::CancelRequest const& r);
  muster::result<v1::CancelQueuedResponse> cancel_queued(v1::CancelQueuedRequest const& r);
  muster::result<v1::GetCapacityResponse> get_capacity(v1::GetCapacityRequest const& r);
  muster::result<v1::ExplainResponse> explain(v1::ExplainRequest const& r);
  muster::result<v1::ReleaseResponse> release(v1::ReleaseRequest const& r);
  muster::result<v1::PerWorkerValue> create_per_worker(v1::CreatePerWorkerValueRequest const& r);
  muster::result<v1::PerWorkerValue> get_per_worker(v1::GetPerWorkerValueRequest const& r);
  muster::result<v1::ReleaseResponse> release_per_worker(v1::ReleasePerWorkerValueRequest const& r);
  muster::result<v1::GetLogsResponse> get_logs(v1::GetLogsRequest const& r);
  muster::result<v1::CloseSessionResponse> close(v1::CloseSessionRequest const& r);

  /// Reads the closures of the request. Error messages contain the field name.
  static muster::status read(v1::ScheduleRequest const& r, hub& h, core::session_id session,
                             submission& into);
  template <class Call>
  [[nodiscard]] coro::task<core::reply> settle(Call& of, core::session_id s,
                                               std::uint64_t timeout_ms, core::join_mode mode);
  core::time_point until(std::uint64_t timeout_ms) const;

  pools& pools_;
  stream_options const& options_;
  hub_calls waiting_;
  coro::task_group tasks_;
};

}  // namespace muster::server
