#include "client/coordinator/explain_call.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "client/coordinator/ask_server.hpp"
#include "client/session/question.hpp"

namespace muster::detail {
namespace {

using std::chrono::milliseconds;
using shared_session = std::shared_ptr<client_session const>;

constexpr milliseconds worth_asking{500}, patience{1'000};

coro::task<std::string> ask_why(ticket& t, client_engine& engine, shared_session session,
                                std::uint64_t number) {
  v1::ExplainRequest request;
  request.set_session(session->id());
  request.add_token(number);
  v1::ExplainResponse response;
  auto asking = ask_server(t, engine, session->settings(), patience,
                           &v1::CoordinatorService::Stub::PrepareAsyncExplain, request, response);
  auto const status = co_await std::move(asking);
  auto why = status.ok() ? std::move(*response.mutable_why()) : std::string();
  while (why.ends_with('.')) why.pop_back();
  co_return why.empty() ? why : ": " + why;
}

std::shared_ptr<question<std::string>> about(client_engine& engine, shared_session session,
                                             std::uint64_t number) {
  auto const spawn = [&engine](coro::task<void> body) {
    if (!engine.tasks().spawn("explanation", std::move(body)))
      throw std::runtime_error("too many requests are in progress in this process");
  };
  auto const asking = [&engine, session = std::move(session), number](ticket& t) {
    return ask_why(t, engine, session, number);
  };
  return std::make_shared<question<std::string>>(engine.context(), spawn, asking);
}

}  // namespace

std::string explanation(shared_session session, std::uint64_t number, milliseconds waited) {
  if (!session || waited < worth_asking) return {};
  try {
    auto const engine = client_engine::shared();
    return ask(about(*engine, std::move(session), number));
  } catch (std::exception const&) {  // the wait has failed in any case
    return {};
  }
}

boost::asio::awaitable<std::string> async_explanation(shared_session session, std::uint64_t number,
                                                      milliseconds waited) {
  if (!session || waited < worth_asking) co_return std::string();
  auto const engine = client_engine::shared();  // the engine must outlive the call
  auto asking = run_async(about(*engine, std::move(session), number));
  co_return co_await std::move(asking);
}

}  // namespace muster::detail
