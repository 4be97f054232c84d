// XLA's protocol, xla.coordination, in which tasks are numbered across the whole cluster.
#include "server/rpc/coordination/dialect_table.hpp"
#include "xla/coordination/coordination_service.pb.h"

namespace muster::server {

namespace coordination = core::coordination;

namespace wire = xla::coordination;

// Declared outside the anonymous namespace, so that dialect_table.hpp finds it.
template <class Request>
static coordination::task_ref source_task(coordination_call const& c, Request const& m) {
  return c.task({}, m.source_task_id());
}
template <class Request>
static std::vector<coordination::task_ref> participants(coordination_call const& c,
                                                        Request const& m) {
  std::vector<coordination::task_ref> all;
  all.reserve(static_cast<std::size_t>(m.task_ids().size()));
  for (auto const id : m.task_ids()) all.push_back(c.task({}, id));
  return all;
}

static void fill(coordination_call&, wire::WatchTasksRequest& m, coordination::watch_tasks& q) {
  q.version = m.version_number();
  q.at_once = m.version_number() < 0;
}
static void fill(coordination_call& c, wire::GetAliveTasksRequest& m,
                 coordination::get_alive_tasks& q) {
  q.task = c.task({}, m.requesting_task_id());
  q.tasks = participants(c, m);
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
  auto const variant = static_cast<std::uint64_t>(dialect::xla);
  return encode_once<wire::WatchTasksResponse>(scope, states, variant, out, [&](auto& m) {
    m.set_version_number(states->version);
    for (auto const& s : states->tasks) describe(s, *m.add_task_state());
  });
}

bool encode_alive(answer_scope const&, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& alive = *std::get<std::shared_ptr<coordination::alive_tasks const>>(r.body);
  wire::GetAliveTasksResponse m;
  for (auto const t : alive.tasks) m.add_alive_task_ids(static_cast<std::int32_t>(t));
  for (auto const i : alive.incarnations) m.add_incarnations(core::raw(i));
  return proto::encode(m, out);
}

}  // namespace

std::span<coordination_method const> methods_of_xla() {
  using namespace core::coordination;
  static coordination_method const table[] = {
      row<register_task, wire::RegisterTaskRequest>(true, slots_hot, encode_registration),
      row<heartbeat, wire::HeartbeatRequest>(false, slots_hot, encode_incarnation),
      row<shutdown_task, wire::ShutdownTaskRequest>(true, slots_hot, encode_nothing),
      row<watch_tasks, wire::WatchTasksRequest>(true, slots_hot, encode_states),
      row<insert_key_value, wire::InsertKeyValueRequest>(false, slots_hot, encode_nothing),
      row<get_key_value, wire::GetKeyValueRequest>(true, slots_hot, encode_key_value),
      row<get_key_value, wire::TryGetKeyValueRequest>(false, slots_hot, encode_key_value),
      row<increment_key_value, wire::IncrementKeyValueRequest>(false, slots_hot, encode_key_value),
      row<get_key_value_dir, wire::GetKeyValueDirRequest>(false, slots_rare, encode_key_values),
      row<delete_key_value, wire::DeleteKeyValueRequest>(false, slots_rare, encode_nothing),
      row<enter_barrier, wire::BarrierRequest>(true, slots_hot, encode_counter),
      row<cancel_barrier, wire::CancelBarrierRequest>(false, slots_rare, encode_nothing),
      row<get_alive_tasks, wire::GetAliveTasksRequest>(true, slots_hot, encode_alive),
      row<poll_for_error, wire::PollForErrorRequest>(true, slots_hot, encode_nothing),
      row<report_error, wire::ReportErrorToServiceRequest>(false, slots_rare, encode_nothing),
  };
  return table;
}

}  // namespace muster::server
