// PerWorkerValues that a session asks for on its stream.
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/sessions/session_stream.hpp"

namespace muster::server {
namespace {

constexpr std::size_t created_bytes = 64;  // of one answer, about

std::string wrong_in(v1::NewPerWorkerValue const& p, std::size_t named) {
  if (p.token() == 0) return "token: 0 is none";
  if (p.function() >= named)
    return "function: number " + std::to_string(p.function()) + ", the stream has named " +
           std::to_string(named);
  if (!v1::Encoding_IsValid(p.encoding()))
    return "encoding: unknown number " + std::to_string(static_cast<int>(p.encoding()));
  return {};
}

core::failure refusal(muster::status const& s) {
  auto const kind = s.code == muster::code::unavailable ? core::failure_kind::dependency_lost
                                                        : core::failure_kind::input;
  return {kind, "", s.message, "", "", 0};
}

}  // namespace

muster::status session_stream::take_per_worker(v1::SessionRequest const& m) {
  for (int i = 0; i < m.per_worker_size(); ++i) {
    auto const& p = m.per_worker(i);
    if (auto const wrong = wrong_in(p, functions_.size()); !wrong.empty())
      return {muster::code::invalid_argument, "per_worker[" + std::to_string(i) + "]." + wrong};
    core::create_per_worker e;
    e.name = p.name();
    e.function = functions_[p.function()];
    e.args = core::blob(p.args(),
                        p.encoding() == v1::BYTES ? core::encoding::bytes : core::encoding::json);
    e.owner = session_;
    e.token = p.token();
    core::reply answer;
    hub_.ask(std::move(e), [&answer](core::reply const& r) { answer = r; });  // answers at once
    auto& created = *out_.add_entry(created_bytes).add_per_worker();
    created.set_token(p.token());
    if (answer.status.ok())
      created.set_value(core::raw(std::get<core::per_worker_reply>(answer.body).id));
    else
      to_wire(refusal(answer.status), *created.mutable_failure());
    pending_.set();
  }
  return {};
}

}  // namespace muster::server
