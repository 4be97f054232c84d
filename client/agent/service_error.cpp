#include "client/agent/service_error.hpp"

#include "base/status.hpp"
#include "tensorflow/distributed_runtime_payloads.pb.h"
#include "xla/coordination/coordination_service.pb.h"

namespace muster {

std::string_view name(coordination_code c) noexcept {
  return c == coordination_code::data_loss ? "DATA_LOSS" : name(static_cast<muster::code>(c));
}

namespace detail {
namespace {

// Both versions of the protocol use these keys.
constexpr auto error_key = "type.googleapis.com/tensorflow.CoordinationServiceError";
constexpr auto barrier_key = "type.googleapis.com/tensorflow.BarrierError";
constexpr auto mismatch_key = "type.googleapis.com/tensorflow.ServiceMismatchError";

}  // namespace

bool service_error::passes() const {
  using enum coordination_code;
  return !answered &&
         (code == unavailable || code == cancelled || code == internal || code == unknown);
}

void service_error::raise() const {
  if (barrier) throw coordination_barrier_error(code, message, barrier->first, barrier->second);
  if (code == coordination_code::deadline_exceeded) throw wait_timeout(message);
  throw coordination_error(code, message);
}

service_error read_error(grpc::Status const& s) {
  service_error e;
  auto const code = static_cast<int>(s.error_code());
  if (code >= 1 && code <= 16) e.code = static_cast<coordination_code>(code);
  e.message = s.error_message();
  tensorflow::distributed_runtime::GrpcPayloadContainer all;
  if (!all.ParseFromString(s.error_details())) return e;
  auto const& payloads = all.payloads();
  if (auto const it = payloads.find(error_key); it != payloads.end()) {
    e.answered = true;
    xla::coordination::CoordinationServiceError m;
    if (!it->second.empty() && m.ParseFromString(it->second)) {
      e.task = static_cast<std::uint32_t>(m.source_task_id());
      e.reported = m.is_reported_error();
    }
  }
  if (auto const it = payloads.find(barrier_key); it != payloads.end()) {
    xla::coordination::BarrierError m;
    if (m.ParseFromString(it->second)) e.barrier = {m.barrier_id(), m.counter()};
  }
  e.other_service = payloads.contains(mismatch_key);
  return e;
}

}  // namespace detail
}  // namespace muster
