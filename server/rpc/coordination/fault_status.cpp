#include "server/rpc/coordination/fault_status.hpp"

#include "base/utf8.hpp"
#include "tensorflow/coordination_service.pb.h"
#include "tensorflow/distributed_runtime_payloads.pb.h"
#include "xla/coordination/coordination_service.pb.h"

namespace muster::server {

namespace coordination = core::coordination;

namespace {

constexpr auto error_key = "type.googleapis.com/tensorflow.CoordinationServiceError";
constexpr auto barrier_key = "type.googleapis.com/tensorflow.BarrierError";
constexpr auto mismatch_key = "type.googleapis.com/tensorflow.ServiceMismatchError";

// CoordinationServiceError.source_task_id (field 4) with an explicit 0.
constexpr std::string_view explicit_zero{"\x20\0", 2};

using payloads = tensorflow::distributed_runtime::GrpcPayloadContainer;

std::string source_bytes(coordination::fault const& f, dialect d,
                         coordination::cluster_spec const* spec) {
  if (f.source == coordination::no_task) return {};
  if (d == dialect::xla) {
    xla::coordination::CoordinationServiceError e;
    e.set_is_reported_error(f.reported);
    e.set_source_task_id(static_cast<std::int32_t>(f.source));
    // Protobuf omits zeros, so task 0 would look like no task. An explicit zero is valid.
    if (f.source == 0 && !f.reported) return {explicit_zero.begin(), explicit_zero.end()};
    return e.SerializeAsString();
  }
  tensorflow::CoordinationServiceError e;
  e.set_is_reported_error(f.reported);
  auto& task = *e.mutable_source_task();
  task.set_task_id(static_cast<std::int32_t>(f.source));
  if (spec != nullptr && f.source < spec->size()) {
    auto const [job, id] = spec->place(f.source);
    task.set_job_name(spec->jobs[job].name);
    task.set_task_id(static_cast<std::int32_t>(id));
  }
  return e.SerializeAsString();
}

std::string cut(std::string const& text, std::size_t details_bytes) {
  constexpr std::string_view mark = " ... [truncated]";
  auto const base64_bytes = (details_bytes + 2) / 3 * 4;
  auto const room =
      coordination::trailer_bytes_max - std::min(base64_bytes, coordination::trailer_bytes_max);
  if (coordination::fitting(text, room) == text.size()) return text;
  auto const most = coordination::fitting(text, room - std::min(mark.size(), room));
  return text.substr(0, utf8_boundary(text, most)).append(mark);
}

}  // namespace

grpc::Status to_grpc(coordination::fault const& f, dialect d,
                     coordination::cluster_spec const* spec) {
  if (!f.coordination)
    return {static_cast<grpc::StatusCode>(f.code), cut(f.message, 0), std::string()};
  payloads all;
  auto& map = *all.mutable_payloads();
  map[error_key] = source_bytes(f, d, spec);
  if (f.barrier) {
    tensorflow::BarrierError e;
    e.set_barrier_id(f.barrier->id);
    e.set_counter(f.barrier->counter);
    map[barrier_key] = e.SerializeAsString();
  }
  if (f.mismatch) {
    xla::coordination::ServiceMismatchError e;
    e.set_service_incarnation(core::raw(*f.mismatch));
    map[mismatch_key] = e.SerializeAsString();
  }
  auto details = all.SerializeAsString();
  auto text = cut(f.message, details.size());
  return {static_cast<grpc::StatusCode>(f.code), std::move(text), std::move(details)};
}

grpc::Status coordination_error(muster::status const& why, dialect d) {
  return to_grpc({.code = why.code, .message = why.message}, d, nullptr);
}

}  // namespace muster::server
