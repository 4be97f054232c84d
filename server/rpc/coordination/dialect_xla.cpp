// XLA's dialect, xla.coordination: tasks are numbers counted through the whole cluster.
#include "server/rpc/coordination/dialect_table.hpp"
#include "xla/coordination/coordination_service.pb.h"

namespace muster::server {

namespace coordination = core::coordination;

namespace wire = xla::coordination;

namespace {

constexpr auto bytes_of = [](std::string const& s) { return core::blob(s, core::encoding::bytes); };

template <class Ids>
std::vector<coordination::task_ref> tasks(coordination_call const& c, Ids const& ids) {
  std::vector<coordination::task_ref> all;
  all.reserve(static_cast<std::size_t>(ids.size()));
  for (auto const id : ids) all.push_back(c.task({}, id));
  return all;
}

}  // namespace

coordination::register_task to_core(coordination_call& c, wire::RegisterTaskRequest& m) {
  return {.from = {},
          .task = c.task({}, m.source_task_id()),
          .incarnation = core::incarnation{m.incarnation()},
          .recoverable = false,
          .peer = c.peer()};
}
coordination::heartbeat to_core(coordination_call& c, wire::HeartbeatRequest& m) {
  return {{}, c.task({}, m.source_task_id()), core::incarnation{m.incarnation()}};
}
coordination::shutdown_task to_core(coordination_call& c, wire::ShutdownTaskRequest& m) {
  return {{}, c.task({}, m.source_task_id())};
}
coordination::poll_for_error to_core(coordination_call& c, wire::PollForErrorRequest& m) {
  return {{}, c.task({}, m.source_task_id())};
}
coordination::report_error to_core(coordination_call& c, wire::ReportErrorToServiceRequest& m) {
  return {{}, c.task({}, m.source_task_id()), reported_code(m.error_code()), m.error_message()};
}
coordination::watch_tasks to_core(coordination_call&, wire::WatchTasksRequest& m) {
  return {{}, std::nullopt, m.version_number(), m.version_number() < 0};
}
coordination::insert_key_value to_core(coordination_call&, wire::InsertKeyValueRequest& m) {
  auto& kv = *m.mutable_kv();
  return {{}, std::move(*kv.mutable_key()), bytes_of(kv.value()), m.allow_overwrite()};
}
coordination::get_key_value to_core(coordination_call& c, wire::GetKeyValueRequest& m) {
  auto const who = m.incarnations().task_incarnation();
  return {.from = {},
          .key = std::move(*m.mutable_key()),
          .wait = true,
          .incarnation = core::incarnation{who},
          .peer = who == 0 ? c.peer() : std::string()};
}
coordination::get_key_value to_core(coordination_call&, wire::TryGetKeyValueRequest& m) {
  return {.from = {},
          .key = std::move(*m.mutable_key()),
          .wait = false,
          .incarnation = core::incarnation{m.incarnations().task_incarnation()},
          .peer = {}};
}
coordination::increment_key_value to_core(coordination_call&, wire::IncrementKeyValueRequest& m) {
  return {{}, std::move(*m.mutable_key()), m.increment()};
}
coordination::get_key_value_dir to_core(coordination_call&, wire::GetKeyValueDirRequest& m) {
  return {{}, std::move(*m.mutable_directory_key())};
}
coordination::delete_key_value to_core(coordination_call&, wire::DeleteKeyValueRequest& m) {
  return {{}, std::move(*m.mutable_key())};
}
coordination::enter_barrier to_core(coordination_call& c, wire::BarrierRequest& m) {
  return {.from = {},
          .id = std::move(*m.mutable_barrier_id()),
          .counter = m.counter(),
          .timeout = wait_time(m.barrier_timeout_in_ms()),
          .task = c.task({}, m.source_task_id()),
          .participants = tasks(c, m.task_ids())};
}
coordination::cancel_barrier to_core(coordination_call&, wire::CancelBarrierRequest& m) {
  return {{}, std::move(*m.mutable_barrier_id()), m.counter()};
}
coordination::get_alive_tasks to_core(coordination_call& c, wire::GetAliveTasksRequest& m) {
  return {{}, c.task({}, m.requesting_task_id()), tasks(c, m.task_ids())};
}

void to_wire(answer_scope const&, coordination::reply& r, wire::GetAliveTasksResponse& m) {
  auto const& alive = *std::get<std::shared_ptr<coordination::alive_tasks const>>(r.body);
  for (auto const t : alive.tasks) m.add_alive_task_ids(static_cast<std::int32_t>(t));
  for (auto const i : alive.incarnations) m.add_incarnations(core::raw(i));
}

namespace {

void describe(coordination::task_status const& s, wire::TaskInfo& m) {
  m.set_task_id(static_cast<std::int32_t>(s.task));
  m.set_state(static_cast<wire::TaskState>(s.state));
  m.set_incarnation(core::raw(s.incarnation));
  if (!s.error) return;
  m.set_error_code(static_cast<std::int32_t>(s.error->code));
  m.set_error_message(s.error->message);
  m.mutable_error_payload()->set_source_task_id(static_cast<std::int32_t>(s.task));
}

bool encode_states(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& states = std::get<std::shared_ptr<coordination::task_states const>>(r.body);
  auto const encode = [&] {
    google::protobuf::Arena arena;
    auto& m = *google::protobuf::Arena::CreateMessage<wire::WatchTasksResponse>(&arena);
    m.set_version_number(states->version);
    for (auto const& s : states->tasks) describe(s, *m.add_task_state());
    grpc::ByteBuffer bytes;
    return proto::encode(m, bytes) ? bytes : grpc::ByteBuffer();
  };
  out = scope.encoded->get(states, static_cast<std::uint64_t>(dialect::xla), encode);
  return out.Valid();
}

#define MUSTER_PATH(method) "/xla.coordination.CoordinationService/" method

coordination_method const table[] = {
    encoded_by<wire::RegisterTaskRequest>(MUSTER_PATH("RegisterTask"), true, slots_hot,
                                          encode_incarnation),
    encoded_by<wire::HeartbeatRequest>(MUSTER_PATH("Heartbeat"), false, slots_hot,
                                       encode_incarnation),
    encoded_by<wire::ShutdownTaskRequest>(MUSTER_PATH("ShutdownTask"), true, slots_hot,
                                          encode_nothing),
    encoded_by<wire::WatchTasksRequest>(MUSTER_PATH("WatchTasks"), true, slots_hot, encode_states),
    encoded_by<wire::InsertKeyValueRequest>(MUSTER_PATH("InsertKeyValue"), false, slots_hot,
                                            encode_nothing),
    encoded_by<wire::GetKeyValueRequest>(MUSTER_PATH("GetKeyValue"), true, slots_hot,
                                         encode_key_value),
    encoded_by<wire::TryGetKeyValueRequest>(MUSTER_PATH("TryGetKeyValue"), false, slots_hot,
                                            encode_key_value),
    encoded_by<wire::IncrementKeyValueRequest>(MUSTER_PATH("IncrementKeyValue"), false, slots_hot,
                                               encode_key_value),
    encoded_by<wire::GetKeyValueDirRequest>(MUSTER_PATH("GetKeyValueDir"), false, slots_rare,
                                            encode_key_values),
    encoded_by<wire::DeleteKeyValueRequest>(MUSTER_PATH("DeleteKeyValue"), false, slots_rare,
                                            encode_nothing),
    encoded_by<wire::BarrierRequest>(MUSTER_PATH("Barrier"), true, slots_hot, encode_counter),
    encoded_by<wire::CancelBarrierRequest>(MUSTER_PATH("CancelBarrier"), false, slots_rare,
                                           encode_nothing),
    answered_by<wire::GetAliveTasksRequest, wire::GetAliveTasksResponse>(
        MUSTER_PATH("GetAliveTasks"), true, slots_hot),
    encoded_by<wire::PollForErrorRequest>(MUSTER_PATH("PollForError"), true, slots_hot,
                                          encode_nothing),
    encoded_by<wire::ReportErrorToServiceRequest>(MUSTER_PATH("ReportErrorToService"), false,
                                                  slots_rare, encode_nothing),
};

#undef MUSTER_PATH

}  // namespace

std::span<coordination_method const> methods_of_xla() {
  return table;
}

}  // namespace muster::server
