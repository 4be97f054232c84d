// The unary half of muster.v1.CoordinatorService: the same as a holding session's stream, a call at
// a time. Each call is a short coroutine that asks the hub and may park there. Owned by the
// coordinator_service; engine thread only.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "coro/accept.hpp"
#include "coro/event.hpp"
#include "coro/task_group.hpp"
#include "muster/v1/coordinator.grpc.pb.h"
#include "server/hub/hub.hpp"
#include "server/rpc/sessions/coordinator_service.hpp"

namespace muster::server {

class coordinator_calls {
 public:
  coordinator_calls(server::hub& h, coro::engine_context& engine,
                    coordinator_service_options const& options);
  coordinator_calls(coordinator_calls const&) = delete;

  /// Serves the unary methods of `service`. REQUIRES: before server.start().
  template <class Service>
  void accept(coro::grpc_server& server, Service& service) {
    add(server, service, &Service::RequestOpenSession, "OpenSession", &coordinator_calls::open);
    add(server, service, &Service::RequestSchedule, "Schedule", &coordinator_calls::schedule);
    add(server, service, &Service::RequestJoin, "Join", &coordinator_calls::join);
    add(server, service, &Service::RequestDone, "Done", &coordinator_calls::done);
    add(server, service, &Service::RequestFetch, "Fetch", &coordinator_calls::fetch);
    add(server, service, &Service::RequestCancel, "Cancel", &coordinator_calls::cancel);
    add(server, service, &Service::RequestRelease, "Release", &coordinator_calls::release);
    add(server, service, &Service::RequestCreatePerWorkerValue, "CreatePerWorkerValue",
        &coordinator_calls::create_per_worker);
    add(server, service, &Service::RequestGetPerWorkerValue, "GetPerWorkerValue",
        &coordinator_calls::get_per_worker);
    add(server, service, &Service::RequestReleasePerWorkerValue, "ReleasePerWorkerValue",
        &coordinator_calls::release_per_worker);
    add(server, service, &Service::RequestCloseSession, "CloseSession", &coordinator_calls::close);
  }

  /// Answers what is parked with UNAVAILABLE; completes when no call is left.
  [[nodiscard]] coro::task<void> stop();

 private:
  template <class Request, class Response>
  using call = coro::server_unary<Request, Response>;

  /// A call that waits for the hub's reply.
  struct parked {
    explicit parked(coro::engine_context& engine) : answered(engine) {}
    core::reply answer;
    bool there = false;
    coro::event answered;
    core::call_id id{};
  };

  template <class Service, class Owner, class Request, class Response>
  void add(coro::grpc_server& server, Service& service,
           coro::unary_method<Owner, Request, Response> method, char const* name,
           coro::task<void> (coordinator_calls::*serve)(std::unique_ptr<call<Request, Response>>)) {
    auto handler = [this, serve](std::unique_ptr<call<Request, Response>> c) {
      return (this->*serve)(std::move(c));
    };
    coro::accept_unary(server, service, method, {name, 16}, tasks_, handler);
  }

  [[nodiscard]] coro::task<void> open(std::unique_ptr<call<v1::OpenSessionRequest, v1::Opened>> c);
  [[nodiscard]] coro::task<void> schedule(
      std::unique_ptr<call<v1::ScheduleRequest, v1::ScheduleResponse>> c);
  [[nodiscard]] coro::task<void> join(std::unique_ptr<call<v1::JoinRequest, v1::JoinResponse>> c);
  [[nodiscard]] coro::task<void> done(std::unique_ptr<call<v1::DoneRequest, v1::JoinResponse>> c);
  [[nodiscard]] coro::task<void> fetch(
      std::unique_ptr<call<v1::FetchRequest, v1::FetchResponse>> c);
  [[nodiscard]] coro::task<void> cancel(
      std::unique_ptr<call<v1::CancelRequest, v1::CancelResponse>> c);
  [[nodiscard]] coro::task<void> release(
      std::unique_ptr<call<v1::ReleaseRequest, v1::ReleaseResponse>> c);
  [[nodiscard]] coro::task<void> create_per_worker(
      std::unique_ptr<call<v1::CreatePerWorkerValueRequest, v1::PerWorkerValue>> c);
  [[nodiscard]] coro::task<void> get_per_worker(
      std::unique_ptr<call<v1::GetPerWorkerValueRequest, v1::PerWorkerValue>> c);
  [[nodiscard]] coro::task<void> release_per_worker(
      std::unique_ptr<call<v1::ReleasePerWorkerValueRequest, v1::ReleaseResponse>> c);
  [[nodiscard]] coro::task<void> close(
      std::unique_ptr<call<v1::CloseSessionRequest, v1::CloseSessionResponse>> c);

  muster::result<core::per_worker_view> create(v1::CreatePerWorkerValueRequest const& r);

  /// Asks the hub and waits for its reply; CANCELLED when the caller is gone.
  template <class Call, class Event>
  [[nodiscard]] coro::task<core::reply> ask(Call& of, Event event);
  template <class Call>
  [[nodiscard]] coro::task<core::reply> settle(Call& of, core::session_id s,
                                               std::uint64_t timeout_ms, core::join_mode mode);
  core::time_point until(std::uint64_t timeout_ms) const;
  muster::result<core::session_id> session_of(std::string const& text) const;

  server::hub& hub_;
  coro::engine_context& engine_;
  coordinator_service_options const& options_;
  coro::task_group tasks_;
  std::unordered_set<parked*> parked_;
  bool stopping_ = false;
};

}  // namespace muster::server
