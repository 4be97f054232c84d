// One outcome is one row of the message's columns.
#include "server/rpc/sessions/outcome_convert.hpp"

#include "proto/columns.hpp"
#include "server/rpc/failure_convert.hpp"

namespace muster::server {

void to_wire(core::outcome const& o, bool holding, proto::outbox<v1::SessionResponse>& out) {
  auto const value = o.value.view();
  auto const bytes = o.ok ? value.size() : o.failure->message.size() + o.failure->traceback.size();
  auto& m = out.add_entry(bytes + 16);
  int const position = m.token_size();
  m.add_token(o.token);
  m.add_value(value.data(), value.size());
  proto::add_encoding(*m.mutable_encoding(), position, o.value.encoding() == core::encoding::bytes);
  if (holding) m.add_closure(core::raw(o.closure));
  if (o.ok) return;
  auto& f = *m.add_failure();
  f.set_position(static_cast<std::uint32_t>(position));
  to_wire(*o.failure, f);
}

void to_wire(core::session_notice const& from, v1::Notice& to) {
  bool const failed = from.kind == core::notice_kind::failed;
  to.set_kind(failed ? v1::Notice::FAILED : v1::Notice::DRAINED);
  to.set_generation(from.generation);
  if (failed) to_wire(from.failure, *to.mutable_failure());
}

}  // namespace muster::server
