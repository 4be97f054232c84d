// TensorFlow's protocol, in which a job and an index identify a task. JAX before 0.10.0 uses one
// job for the whole cluster, with the name "jax_worker" or an empty name, regardless of the
// cluster's job names.
#include <google/protobuf/wrappers.pb.h>

#include "base/utf8.hpp"
#include "server/rpc/coordination/dialect_table.hpp"
#include "tensorflow/coordination_service.pb.h"

namespace muster::server {

namespace coordination = core::coordination;

namespace wire = tensorflow;

namespace {

constexpr std::string_view jax_job = "jax_worker";

bool has_job(coordination::cluster_spec const& spec, std::string_view name) {
  return std::any_of(spec.jobs.begin(), spec.jobs.end(),
                     [&](auto const& j) { return j.name == name; });
}

task_naming naming_of(coordination::cluster_spec const& spec, std::string_view job) {
  if (job.empty()) return task_naming::counted;
  return job == jax_job && !has_job(spec, job) ? task_naming::counted_jax : task_naming::by_job;
}

coordination::task_ref task(coordination_call const& c, wire::CoordinatedTask const& t) {
  return c.task(t.job_name(), t.task_id());
}
template <class Tasks>
std::vector<coordination::task_ref> tasks(coordination_call const& c, Tasks const& named) {
  std::vector<coordination::task_ref> all;
  all.reserve(static_cast<std::size_t>(named.size()));
  for (auto const& t : named) all.push_back(task(c, t));
  return all;
}

// An unknown job has no tasks.
void watch_job(coordination_call& c, std::string const& job, coordination::watch_tasks& q) {
  c.style.naming = naming_of(c.spec(), job);
  if (c.style.naming != task_naming::by_job) return;
  std::size_t at = 0;
  while (at < c.spec().jobs.size() && c.spec().jobs[at].name != job) ++at;
  c.style.job = static_cast<std::uint32_t>(at);
  if (at < c.spec().jobs.size()) q.job = at;
}

// TensorFlow describes a device by DeviceAttributes, whose first field is the name, as in
// StringValue. Agents that use the C++ library send plain bytes.
std::string name_of(google::protobuf::Any const& device) {
  if (device.type_url().empty()) return is_utf8(device.value()) ? device.value() : std::string();
  google::protobuf::StringValue described;
  bool const known =
      device.type_url().ends_with(".DeviceAttributes") && described.ParseFromString(device.value());
  return known ? described.value() : std::string();
}

}  // namespace

// Declared outside the anonymous namespace, so that dialect_table.hpp finds it.
template <class Request>
static coordination::task_ref source_task(coordination_call const& c, Request const& m) {
  return task(c, m.source_task());
}
static coordination::task_ref source_task(coordination_call const& c,
                                          wire::ReportErrorToServiceRequest const& m) {
  return task(c, m.error_origin());
}
template <class Request>
static std::vector<coordination::task_ref> participants(coordination_call const& c,
                                                        Request const& m) {
  return tasks(c, m.tasks());
}

static void fill(coordination_call& c, wire::WaitForAllTasksRequest& m,
                 coordination::wait_for_all_tasks& q) {
  q.task = task(c, m.source_task());
  for (auto const& d : m.device_info().device()) {
    q.devices.push_back(bytes_of(d.SerializeAsString()));
    if (auto name = name_of(d); !name.empty()) q.names.push_back(std::move(name));
  }
}
static void fill(coordination_call& c, wire::GetTaskStateRequest& m,
                 coordination::get_task_state& q) {
  if (!m.source_task().empty()) c.style.naming = naming_of(c.spec(), m.source_task(0).job_name());
  q.tasks = tasks(c, m.source_task());
}
static void fill(coordination_call& c, wire::WatchJobStateRequest& m,
                 coordination::watch_tasks& q) {
  watch_job(c, m.job_name(), q);
  q.version = m.version_number();
  q.at_once = m.version_number() < 0;
}
static void fill(coordination_call& c, wire::GetJobStateRequest& m, coordination::watch_tasks& q) {
  watch_job(c, m.job_name(), q);
  q.at_once = true;
}

static void fill(coordination_call& c, wire::GetAliveTasksRequest& m,
                 coordination::get_alive_tasks& q) {
  c.style.naming = naming_of(c.spec(), m.requesting_task().job_name());
  q.task = task(c, m.requesting_task());
  q.tasks = tasks(c, m.tasks());
}

namespace {

// REQUIRES: the cluster exists.
void name_task(answer_scope const& scope, coordination::task_index t, wire::CoordinatedTask& m) {
  if (scope.style.naming == task_naming::by_job) {
    auto const [job, id] = scope.spec->place(t);
    m.set_job_name(scope.spec->jobs[job].name);
    m.set_task_id(static_cast<std::int32_t>(id));
    return;
  }
  if (scope.style.naming == task_naming::counted_jax) m.set_job_name(std::string(jax_job));
  m.set_task_id(static_cast<std::int32_t>(t));
}

void describe(answer_scope const& scope, coordination::task_status const& s,
              wire::CoordinatedTaskStateInfo& m) {
  name_task(scope, s.task, *m.mutable_task());
  m.set_state(static_cast<wire::CoordinatedTaskState>(s.state));
  m.set_incarnation(core::raw(s.incarnation));
  if (!s.error) return;
  m.set_error_code(static_cast<std::int32_t>(s.error->code));
  m.set_error_message(s.error->message);
  name_task(scope, s.task, *m.mutable_error_payload()->mutable_source_task());
}

template <class Response>
void add_states(answer_scope const& scope, coordination::task_states const& states, Response& m) {
  if (scope.spec == nullptr) return;
  auto const all = scope.style.job == answer_style::all_jobs;
  for (auto const& s : states.tasks)
    if (all || scope.spec->place(s.task).first == scope.style.job)
      describe(scope, s, *m.add_task_state());
}

template <class Response>
bool encode_states(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& states = std::get<std::shared_ptr<coordination::task_states const>>(r.body);
  constexpr bool versioned = requires(Response m) {
    m.set_version_number(0);
  };
  auto const variant = std::uint64_t{scope.style.job} << 8 |
                       static_cast<std::uint64_t>(scope.style.naming) << 2 | versioned << 1 |
                       static_cast<std::uint64_t>(dialect::tensorflow);
  return encode_once<Response>(scope, states, variant, out, [&](Response& m) {
    if constexpr (versioned) m.set_version_number(states->version);
    add_states(scope, *states, m);
  });
}

bool encode_devices(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& devices = std::get<std::shared_ptr<std::vector<core::blob> const>>(r.body);
  auto const variant = static_cast<std::uint64_t>(dialect::tensorflow);
  return encode_once<wire::WaitForAllTasksResponse>(scope, devices, variant, out, [&](auto& m) {
    auto& info = *m.mutable_device_info();
    for (auto const& d : *devices)
      info.add_device()->ParseFromArray(d.view().data(), static_cast<int>(d.size()));
  });
}

bool encode_alive(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& alive = *std::get<std::shared_ptr<coordination::alive_tasks const>>(r.body);
  wire::GetAliveTasksResponse m;
  if (scope.spec != nullptr) {
    for (auto const t : alive.tasks) name_task(scope, t, *m.add_alive_tasks());
    for (auto const i : alive.incarnations) m.add_incarnations(core::raw(i));
  }
  return proto::encode(m, out);
}

}  // namespace

std::span<coordination_method const> methods_of_tensorflow() {
  using namespace core::coordination;
  static coordination_method const table[] = {
      row<register_task, wire::RegisterTaskRequest>(true, slots_hot, encode_registration),
      row<heartbeat, wire::HeartbeatRequest>(false, slots_hot, encode_incarnation),
      row<wait_for_all_tasks, wire::WaitForAllTasksRequest>(true, slots_hot, encode_devices),
      row<shutdown_task, wire::ShutdownTaskRequest>(true, slots_hot, encode_nothing),
      row<reset_task, wire::ResetTaskRequest>(false, slots_rare, encode_nothing),
      row<report_error, wire::ReportErrorToServiceRequest>(false, slots_rare, encode_nothing),
      row<get_task_state, wire::GetTaskStateRequest>(false, slots_rare,
                                                     encode_states<wire::GetTaskStateResponse>),
      row<watch_tasks, wire::WatchJobStateRequest>(true, slots_hot,
                                                   encode_states<wire::WatchJobStateResponse>),
      row<watch_tasks, wire::GetJobStateRequest>(false, slots_rare,
                                                 encode_states<wire::GetJobStateResponse>),
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
  };
  return table;
}

}  // namespace muster::server
