// Asks the server what became of a PerWorkerValue on each worker: one call, on the engine thread.
#include <functional>
#include <future>

#include "client/checks.hpp"
#include "client/link/client_engine.hpp"
#include "client/session/waiting.hpp"
#include "client/wire.hpp"
#include "coro/client_unary.hpp"
#include "muster/per_worker_value.hpp"
#include "muster/v1/coordinator.grpc.pb.h"

namespace muster {
namespace detail {
namespace {

using std::chrono::milliseconds;

value_status status_of(v1::FetchResponse::State s) {
  switch (s) {
    case v1::FetchResponse::READY:
      return value_status::ready;
    case v1::FetchResponse::ABORTED:
      return value_status::aborted;
    default:
      return value_status::not_ready;
  }
}

/// Shared by whoever waits and by the coroutine that asks, so that either may end first.
class question : public std::enable_shared_from_this<question> {
 public:
  question(std::shared_ptr<per_worker_handle const> of, milliseconds timeout)
      : of_(std::move(of)), timeout_(timeout) {}

  /// Any thread, once. `done` is called on the engine thread.
  void ask(client_engine& engine, std::function<void()> done) {
    auto const end = std::chrono::system_clock::now() + timeout_;
    context_.set_deadline(end);
    context_.set_wait_for_ready(true);
    done_ = std::move(done);
    engine.context().post([self = shared_from_this(), &engine] {
      if (engine.tasks().spawn("per-worker value", self->run(engine, self))) return;
      self->finish({grpc::StatusCode::RESOURCE_EXHAUSTED, "the library has too many tasks"});
    });
  }
  /// Any thread: nobody waits for it any more.
  void cancel() { context_.TryCancel(); }

  /// REQUIRES: it is done.
  std::vector<per_worker_component> take() const {
    if (status_.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
      throw wait_timeout(of_->server() + " has not answered within " + in_ms(timeout_));
    if (!status_.ok())
      raise({failure_kind::dependency_lost, "muster::per_worker_value", status_.error_message()});
    std::vector<per_worker_component> all;
    for (auto const& c : response_.component()) {
      auto& one = all.emplace_back();
      one.task = c.task();
      one.status = status_of(c.state());
      if (c.has_failure()) one.failure = from_wire(c.failure());
    }
    return all;
  }

 private:
  coro::task<void> run(client_engine& engine, std::shared_ptr<question> /*self*/) {
    using stub = v1::CoordinatorService::Stub;
    auto const service = v1::CoordinatorService::NewStub(make_channel(of_->server(), of_->tls()));
    v1::GetPerWorkerValueRequest request;
    request.set_value(of_->value());
    add_token(context_, of_->credential());
    auto calling =
        coro::unary_call(engine.context(), *service, &stub::PrepareAsyncGetPerWorkerValue, context_,
                         request, response_);
    finish(co_await std::move(calling));
  }

  void finish(grpc::Status status) {
    status_ = std::move(status);
    auto const done = std::move(done_);
    done();
  }

  std::shared_ptr<per_worker_handle const> const of_;
  milliseconds const timeout_;
  grpc::ClientContext context_;
  v1::PerWorkerValue response_;
  grpc::Status status_;
  std::function<void()> done_;
};

std::shared_ptr<per_worker_handle const> of_something(
    std::shared_ptr<per_worker_handle const> handle) {
  if (!handle) throw std::logic_error("a per_worker_value of nothing, or it was released");
  return handle;
}

}  // namespace
}  // namespace detail

std::vector<per_worker_component> per_worker_value::components(
    std::chrono::milliseconds timeout) const {
  auto const engine = client_engine::shared();
  if (engine->context().running_in_this_thread())
    throw std::logic_error("the library's own thread does not wait for itself");
  auto const asked = std::make_shared<detail::question>(detail::of_something(handle_), timeout);
  auto const done = std::make_shared<std::promise<void>>();
  asked->ask(*engine, [done] { done->set_value(); });
  done->get_future().wait();  // no deadline here: the call has one
  return asked->take();
}

boost::asio::awaitable<std::vector<per_worker_component>> per_worker_value::async_components(
    std::chrono::milliseconds timeout) const {
  auto const engine = client_engine::shared();  // outlives the call
  auto const asked = std::make_shared<detail::question>(detail::of_something(handle_), timeout);
  auto enter = [asked, engine](std::shared_ptr<detail::waiting> const& w) {
    asked->ask(*engine, [w] { w->resume(true); });
  };
  auto waited = detail::waiting::wait(detail::for_ever, enter);
  try {
    co_await std::move(waited);
  } catch (boost::system::system_error const&) {
    asked->cancel();
    throw;
  }
  co_return asked->take();
}

}  // namespace muster
