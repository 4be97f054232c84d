#include "client/coordinator/ask_server.hpp"
#include "client/coordinator/coordinator_session.hpp"
#include "client/session/question.hpp"

namespace muster {
namespace detail {
namespace {

using std::chrono::milliseconds;
using components = std::vector<per_worker_component>;

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

/// Queries the state on each worker. The timeout is the call's deadline.
coro::task<components> components_of(ticket& t, client_engine& engine,
                                     std::shared_ptr<per_worker_handle const> of,
                                     milliseconds timeout) {
  auto const& settings = of->session()->settings();
  v1::GetPerWorkerValueRequest request;
  request.set_value(of->value());
  v1::PerWorkerValue response;
  auto asking =
      ask_server(t, engine, settings, timeout,
                 &v1::CoordinatorService::Stub::PrepareAsyncGetPerWorkerValue, request, response);
  auto const status = co_await std::move(asking);
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    throw wait_timeout(settings.server + " did not answer within " + in_ms(timeout));
  if (!status.ok())
    raise({failure_kind::dependency_lost, "muster::per_worker_value", status.error_message()});
  components all;
  for (auto const& c : response.component()) {
    auto& one = all.emplace_back();
    one.task = c.task();
    one.status = status_of(c.state());
    if (c.has_failure()) one.failure = from_wire(c.failure());
  }
  co_return all;
}

std::shared_ptr<question<components>> about(client_engine& engine,
                                            std::shared_ptr<per_worker_handle const> const& of,
                                            milliseconds timeout) {
  if (!of) throw std::logic_error("the per_worker_value is empty or was released");
  auto const spawn = [&engine](coro::task<void> body) {
    if (!engine.tasks().spawn("per-worker value", std::move(body)))
      raise({failure_kind::dependency_lost, "muster::per_worker_value",
             "too many requests are in progress in this process"});
  };
  auto const asking = [&engine, of, timeout](ticket& t) {
    return components_of(t, engine, of, timeout);
  };
  return std::make_shared<question<components>>(engine.context(), spawn, asking);
}

}  // namespace
}  // namespace detail

std::vector<per_worker_component> per_worker_value::components(
    std::chrono::milliseconds timeout) const {
  auto const engine = client_engine::shared();
  return detail::ask(detail::about(*engine, handle_, timeout));
}

boost::asio::awaitable<std::vector<per_worker_component>> per_worker_value::async_components(
    std::chrono::milliseconds timeout) const {
  auto const engine = client_engine::shared();  // the engine must outlive the call
  auto asking = detail::run_async(detail::about(*engine, handle_, timeout));
  co_return co_await std::move(asking);
}

}  // namespace muster
