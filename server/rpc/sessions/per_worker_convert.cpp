// The two requests for a PerWorkerValue differ in how they name its builder.
#include "server/rpc/sessions/per_worker_convert.hpp"

#include "server/hub/submission.hpp"
#include "server/rpc/column_check.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/status_convert.hpp"

namespace muster::server {
namespace {

template <class Message>
muster::result<core::create_per_worker> common_part(Message const& asked) {
  if (auto wrong = wrong_encoding("encoding", asked.encoding()); !wrong.empty())
    return invalid(std::move(wrong));
  core::create_per_worker e;
  e.name = asked.name();
  e.args = arguments(asked.args(), encoding_of(asked.encoding() == v1::BYTES));
  e.token = asked.token();
  return e;
}

// The two enumerations have the same numbers, by their order.
static_assert(static_cast<int>(core::value_state::not_ready) == v1::FetchResponse::NOT_READY);
static_assert(static_cast<int>(core::value_state::ready) == v1::FetchResponse::READY);
static_assert(static_cast<int>(core::value_state::aborted) == v1::FetchResponse::ABORTED);

core::failure refusal(muster::status const& s) {
  auto const kind = s.code == muster::code::unavailable ? core::failure_kind::dependency_lost
                                                        : core::failure_kind::input;
  return {kind, "", s.message, "", "", 0};
}

}  // namespace

muster::result<core::create_per_worker> from_wire(v1::NewPerWorkerValue const& asked,
                                                  std::vector<core::function_id> const& functions) {
  if (asked.token() == 0) return invalid("token: 0 is none");
  if (asked.function() >= functions.size())
    return invalid("function: number " + std::to_string(asked.function()) +
                   ", the stream has named " + std::to_string(functions.size()));
  auto e = common_part(asked);
  if (e) e->function = functions[asked.function()];
  return e;
}

muster::result<core::create_per_worker> from_wire(v1::CreatePerWorkerValueRequest const& asked) {
  auto e = common_part(asked);
  if (e && asked.args().empty()) e->args = arguments("[]", e->args.encoding());
  return e;
}

void to_wire(core::reply const& answer, v1::PerWorkerCreated& to) {
  if (answer.status.ok())
    to.set_value(core::raw(std::get<core::per_worker_reply>(answer.body).id));
  else
    to_wire(refusal(answer.status), *to.mutable_failure());
}

v1::PerWorkerValue to_wire(core::per_worker_view const& v) {
  v1::PerWorkerValue to;
  to.set_value(core::raw(v.id));
  to.set_name(v.name);
  to.set_function(v.function);
  for (auto const& component : v.components) {
    auto& c = *to.add_component();
    c.set_task(component.job + ":" + std::to_string(component.index));
    c.set_state(static_cast<v1::FetchResponse::State>(component.state));
    if (component.error) to_wire(*component.error, *c.mutable_failure());
  }
  return to;
}

}  // namespace muster::server
