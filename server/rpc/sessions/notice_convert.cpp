#include "server/rpc/sessions/notice_convert.hpp"

#include "server/rpc/failure_convert.hpp"

namespace muster::server {

void to_wire(core::session_notice const& from, v1::Notice& to) {
  bool const failed = from.kind == core::notice_kind::failed;
  to.set_kind(failed ? v1::Notice::FAILED : v1::Notice::DRAINED);
  to.set_generation(from.generation);
  if (failed) to_wire(from.failure, *to.mutable_failure());
}

}  // namespace muster::server
