// TensorFlow's dialect: tasks are a job and a number. JAX before 0.10.0 uses one job for the whole
// cluster, named "jax_worker" or not at all, whatever the cluster's jobs are called.
#include "server/rpc/coordination/dialect_table.hpp"
#include "tensorflow/coordination_service.pb.h"

namespace muster::server {

namespace coordination = core::coordination;

namespace wire = tensorflow;

namespace {

constexpr std::string_view jax_job = "jax_worker";

constexpr auto bytes_of = [](std::string const& s) { return core::blob(s, core::encoding::bytes); };

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

}  // namespace

coordination::register_task to_core(coordination_call& c, wire::RegisterTaskRequest& m) {
  return {.from = {},
          .task = task(c, m.source_task()),
          .incarnation = core::incarnation{m.incarnation()},
          .recoverable = m.source_task().recoverable(),
          .peer = c.peer()};
}
coordination::heartbeat to_core(coordination_call& c, wire::HeartbeatRequest& m) {
  return {{}, task(c, m.source_task()), core::incarnation{m.incarnation()}};
}
coordination::wait_for_all_tasks to_core(coordination_call& c, wire::WaitForAllTasksRequest& m) {
  coordination::wait_for_all_tasks r{{}, task(c, m.source_task()), {}};
  for (auto const& d : m.device_info().device())
    r.devices.push_back(bytes_of(d.SerializeAsString()));
  return r;
}
coordination::shutdown_task to_core(coordination_call& c, wire::ShutdownTaskRequest& m) {
  return {{}, task(c, m.source_task())};
}
coordination::reset_task to_core(coordination_call& c, wire::ResetTaskRequest& m) {
  return {{}, task(c, m.source_task())};
}
coordination::report_error to_core(coordination_call& c, wire::ReportErrorToServiceRequest& m) {
  return {{}, task(c, m.error_origin()), reported_code(m.error_code()), m.error_message()};
}
coordination::poll_for_error to_core(coordination_call& c, wire::PollForErrorRequest& m) {
  return {{}, task(c, m.source_task())};
}
coordination::get_task_state to_core(coordination_call& c, wire::GetTaskStateRequest& m) {
  if (!m.source_task().empty()) c.style.naming = naming_of(c.spec(), m.source_task(0).job_name());
  return {{}, tasks(c, m.source_task())};
}

// A job that the cluster does not have is one without tasks.
static coordination::watch_tasks watch(coordination_call& c, std::string const& job) {
  coordination::watch_tasks r;
  c.style.naming = naming_of(c.spec(), job);
  if (c.style.naming != task_naming::by_job) return r;
  std::size_t at = 0;
  while (at < c.spec().jobs.size() && c.spec().jobs[at].name != job) ++at;
  c.style.job = static_cast<std::uint32_t>(at);
  if (at < c.spec().jobs.size()) r.job = at;
  return r;
}
coordination::watch_tasks to_core(coordination_call& c, wire::WatchJobStateRequest& m) {
  auto r = watch(c, m.job_name());
  r.version = m.version_number();
  r.at_once = m.version_number() < 0;
  return r;
}
coordination::watch_tasks to_core(coordination_call& c, wire::GetJobStateRequest& m) {
  auto r = watch(c, m.job_name());
  r.at_once = true;
  return r;
}

coordination::insert_key_value to_core(coordination_call&, wire::InsertKeyValueRequest& m) {
  auto& kv = *m.mutable_kv();
  return {{}, std::move(*kv.mutable_key()), bytes_of(kv.value()), m.allow_overwrite()};
}
coordination::get_key_value to_core(coordination_call& c, wire::GetKeyValueRequest& m) {
  return {.from = {},
          .key = std::move(*m.mutable_key()),
          .wait = true,
          .incarnation = {},
          .peer = c.peer()};
}
coordination::get_key_value to_core(coordination_call&, wire::TryGetKeyValueRequest& m) {
  return {
      .from = {}, .key = std::move(*m.mutable_key()), .wait = false, .incarnation = {}, .peer = {}};
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
          .task = task(c, m.source_task()),
          .participants = tasks(c, m.tasks())};
}
coordination::cancel_barrier to_core(coordination_call&, wire::CancelBarrierRequest& m) {
  return {{}, std::move(*m.mutable_barrier_id()), m.counter()};
}
coordination::get_alive_tasks to_core(coordination_call& c, wire::GetAliveTasksRequest& m) {
  c.style.naming = naming_of(c.spec(), m.requesting_task().job_name());
  return {{}, task(c, m.requesting_task()), tasks(c, m.tasks())};
}

// REQUIRES: the cluster exists, since there is a task.
static void name_task(answer_scope const& scope, coordination::task_index t,
                      wire::CoordinatedTask& m) {
  if (scope.style.naming == task_naming::by_job) {
    auto const [job, id] = scope.spec->place(t);
    m.set_job_name(scope.spec->jobs[job].name);
    m.set_task_id(static_cast<std::int32_t>(id));
    return;
  }
  if (scope.style.naming == task_naming::counted_jax) m.set_job_name(std::string(jax_job));
  m.set_task_id(static_cast<std::int32_t>(t));
}

void to_wire(answer_scope const& scope, coordination::reply& r, wire::GetAliveTasksResponse& m) {
  auto const& alive = *std::get<std::shared_ptr<coordination::alive_tasks const>>(r.body);
  if (scope.spec == nullptr) return;
  for (auto const t : alive.tasks) name_task(scope, t, *m.add_alive_tasks());
  for (auto const i : alive.incarnations) m.add_incarnations(core::raw(i));
}

namespace {

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
  auto const encode = [&] {
    google::protobuf::Arena arena;
    auto& m = *google::protobuf::Arena::CreateMessage<Response>(&arena);
    if constexpr (versioned) m.set_version_number(states->version);
    add_states(scope, *states, m);
    grpc::ByteBuffer bytes;
    return proto::encode(m, bytes) ? bytes : grpc::ByteBuffer();
  };
  auto const variant = std::uint64_t{scope.style.job} << 8 |
                       static_cast<std::uint64_t>(scope.style.naming) << 2 | versioned << 1 |
                       static_cast<std::uint64_t>(dialect::tensorflow);
  out = scope.encoded->get(states, variant, encode);
  return out.Valid();
}

bool encode_devices(answer_scope const& scope, coordination::reply& r, grpc::ByteBuffer& out) {
  auto const& devices = std::get<std::shared_ptr<std::vector<core::blob> const>>(r.body);
  auto const encode = [&] {
    wire::WaitForAllTasksResponse m;
    auto& info = *m.mutable_device_info();
    for (auto const& d : *devices)
      info.add_device()->ParseFromArray(d.view().data(), static_cast<int>(d.size()));
    grpc::ByteBuffer bytes;
    return proto::encode(m, bytes) ? bytes : grpc::ByteBuffer();
  };
  out = scope.encoded->get(devices, static_cast<std::uint64_t>(dialect::tensorflow), encode);
  return out.Valid();
}

#define MUSTER_PATH(method) "/tensorflow.CoordinationService/" method

coordination_method const table[] = {
    encoded_by<wire::RegisterTaskRequest>(MUSTER_PATH("RegisterTask"), true, slots_hot,
                                          encode_incarnation),
    encoded_by<wire::HeartbeatRequest>(MUSTER_PATH("Heartbeat"), false, slots_hot,
                                       encode_incarnation),
    encoded_by<wire::WaitForAllTasksRequest>(MUSTER_PATH("WaitForAllTasks"), true, slots_hot,
                                             encode_devices),
    encoded_by<wire::ShutdownTaskRequest>(MUSTER_PATH("ShutdownTask"), true, slots_hot,
                                          encode_nothing),
    encoded_by<wire::ResetTaskRequest>(MUSTER_PATH("ResetTask"), false, slots_rare, encode_nothing),
    encoded_by<wire::ReportErrorToServiceRequest>(MUSTER_PATH("ReportErrorToService"), false,
                                                  slots_rare, encode_nothing),
    encoded_by<wire::GetTaskStateRequest>(MUSTER_PATH("GetTaskState"), false, slots_rare,
                                          encode_states<wire::GetTaskStateResponse>),
    encoded_by<wire::WatchJobStateRequest>(MUSTER_PATH("WatchJobState"), true, slots_hot,
                                           encode_states<wire::WatchJobStateResponse>),
    encoded_by<wire::GetJobStateRequest>(MUSTER_PATH("GetJobState"), false, slots_rare,
                                         encode_states<wire::GetJobStateResponse>),
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
};

#undef MUSTER_PATH

}  // namespace

std::span<coordination_method const> methods_of_tensorflow() {
  return table;
}

}  // namespace muster::server
