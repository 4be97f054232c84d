// PerWorkerValues by call. None of these waits: a value is answered before it is built.
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/sessions/coordinator_calls.hpp"
#include "server/rpc/sessions/session_text.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

v1::FetchResponse::State state_of(core::value_state s) {
  switch (s) {
    case core::value_state::ready:
      return v1::FetchResponse::READY;
    case core::value_state::aborted:
      return v1::FetchResponse::ABORTED;
    default:
      return v1::FetchResponse::NOT_READY;
  }
}

void describe(core::per_worker_view const& v, v1::PerWorkerValue& to) {
  to.set_value(core::raw(v.id));
  to.set_name(v.name);
  to.set_function(v.function);
  for (auto const& part : v.components) {
    auto& c = *to.add_component();
    c.set_task(part.job + ":" + std::to_string(part.index));
    c.set_state(state_of(part.state));
    if (part.error) to_wire(*part.error, *c.mutable_failure());
  }
}

template <class Event>
core::reply answered(hub& h, Event event) {
  core::reply answer;
  h.ask(std::move(event), [&answer](core::reply const& r) { answer = r; });
  return answer;
}

}  // namespace

muster::result<core::per_worker_view> coordinator_calls::create(
    v1::CreatePerWorkerValueRequest const& r) {
  auto const session = session_of(r.session());
  if (!session) return session.error();
  if (!v1::Encoding_IsValid(r.encoding()))
    return muster::status{
        muster::code::invalid_argument,
        "encoding: unknown number " + std::to_string(static_cast<int>(r.encoding()))};
  auto const [wrong, functions] = hub_.learn({r.function()});
  if (!wrong.ok()) return muster::status{wrong.code, "function: " + wrong.message};
  core::create_per_worker e;
  e.name = r.name();
  e.function = functions.front();
  e.args = core::blob(r.args().empty() ? "[]" : r.args(),
                      r.encoding() == v1::BYTES ? core::encoding::bytes : core::encoding::json);
  e.owner = *session;
  e.token = r.token();
  auto const answer = answered(hub_, std::move(e));
  if (!answer.status.ok()) return answer.status;
  return hub_.state().per_worker(std::get<core::per_worker_reply>(answer.body).id);
}

coro::task<void> coordinator_calls::create_per_worker(
    std::unique_ptr<call<v1::CreatePerWorkerValueRequest, v1::PerWorkerValue>> c) {
  v1::PerWorkerValue response;
  auto const created = create(c->request());
  if (created) describe(*created, response);
  auto const status = created ? grpc::Status::OK : to_grpc(created.error());
  co_await c->finish(response, status);
}

coro::task<void> coordinator_calls::get_per_worker(
    std::unique_ptr<call<v1::GetPerWorkerValueRequest, v1::PerWorkerValue>> c) {
  v1::PerWorkerValue response;
  auto const found = hub_.state().per_worker(core::per_worker_id{c->request().value()});
  if (found) describe(*found, response);
  auto const status = found ? grpc::Status::OK : to_grpc(found.error());
  co_await c->finish(response, status);
}

coro::task<void> coordinator_calls::release_per_worker(
    std::unique_ptr<call<v1::ReleasePerWorkerValueRequest, v1::ReleaseResponse>> c) {
  auto const& r = c->request();
  auto const session = session_of(r.session());
  auto status = session ? muster::status{} : session.error();
  if (session) {
    core::delete_per_worker e{{}, core::per_worker_id{r.value()}, *session};
    status = answered(hub_, std::move(e)).status;
  }
  v1::ReleaseResponse const response;
  co_await c->finish(response, to_grpc(status));
}

}  // namespace muster::server
