#include "tests/support/coordination_agent.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tensorflow/distributed_runtime_payloads.pb.h"

namespace muster::test {
namespace {

namespace x = xla::coordination;
namespace t = tensorflow;
using std::chrono::milliseconds;

void read_payloads(grpc::Status const& s, wire_dialect d, answer& a) {
  a.code = s.error_code();
  a.message = s.error_message();
  t::distributed_runtime::GrpcPayloadContainer all;
  EXPECT_TRUE(all.ParseFromString(s.error_details()));
  for (auto const& [url, bytes] : all.payloads()) {
    auto const key = url.substr(url.rfind('.') + 1);
    EXPECT_EQ(url, "type.googleapis.com/tensorflow." + key);
    if (key == "CoordinationServiceError") {
      a.coordination = true;
      if (bytes.empty()) continue;
      x::CoordinationServiceError ex;
      t::CoordinationServiceError et;
      EXPECT_TRUE(d == wire_dialect::xla ? ex.ParseFromString(bytes) : et.ParseFromString(bytes));
      a.source = d == wire_dialect::xla ? ex.source_task_id() : et.source_task().task_id();
      a.reported = ex.is_reported_error() || et.is_reported_error();
    } else if (key == "BarrierError") {
      x::BarrierError e;
      EXPECT_TRUE(e.ParseFromString(bytes));
      a.barrier_id = e.barrier_id();
      a.barrier_counter = e.counter();
    } else if (key == "ServiceMismatchError") {
      x::ServiceMismatchError e;
      EXPECT_TRUE(e.ParseFromString(bytes));
      a.mismatch = e.service_incarnation();
    } else {
      ADD_FAILURE() << "unknown payload " << url;
    }
  }
}

template <class Response, class Read>
struct call_tag final : call_runner::tag {
  call_tag(std::shared_ptr<pending::shared> s, wire_dialect d, Read r)
      : shared(std::move(s)), dialect(d), read(std::move(r)) {}
  void complete() override {
    answer a;
    if (status.ok())
      read(response, a);
    else
      read_payloads(status, dialect, a);
    std::lock_guard const lock(shared->mutex);
    shared->result = std::move(a);
    shared->changed.notify_all();
  }
  std::shared_ptr<pending::shared> shared;
  wire_dialect dialect;
  Read read;
  Response response;
  grpc::Status status;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
};

constexpr auto nothing = [](auto const&, answer&) {};
constexpr auto no_more = [](auto&) {};
constexpr auto one_entry = [](auto const& r, answer& a) {
  a.key = r.kv().key();
  a.value = r.kv().value();
};
constexpr auto states = [](auto const& r, answer& a) {
  if constexpr (requires { r.version_number(); }) a.version = r.version_number();
  for (auto const& s : r.task_state()) {
    task_row row{{}, 0, s.state(), s.incarnation(), s.error_code(), s.error_message()};
    if constexpr (requires { s.task(); }) {
      row.job = s.task().job_name();
      row.id = s.task().task_id();
    } else {
      row.id = s.task_id();
    }
    a.tasks.push_back(row);
  }
  std::sort(a.tasks.begin(), a.tasks.end(), [](auto& l, auto& r2) { return l.id < r2.id; });
};

}  // namespace

void coordination_agent::name(t::CoordinatedTask& task, int id) const {
  task.set_job_name(options_.job);
  task.set_task_id(id);
  task.set_recoverable(options_.recoverable);
}

// Sets the caller in every field that the request has for it.
template <class Request>
void coordination_agent::sign(Request& q) const {
  if constexpr (requires { q.mutable_incarnations(); }) {
    q.mutable_incarnations()->set_task_incarnation(incarnation_);
    q.mutable_incarnations()->set_service_incarnation(service_);
  }
  if constexpr (requires { q.set_source_task_id(0); }) q.set_source_task_id(options_.task);
  if constexpr (requires { q.set_requesting_task_id(0); }) q.set_requesting_task_id(options_.task);
  if constexpr (requires { q.mutable_source_task()->set_job_name(""); })
    name(*q.mutable_source_task(), options_.task);
  if constexpr (requires { q.mutable_requesting_task(); })
    name(*q.mutable_requesting_task(), options_.task);
  if constexpr (requires { q.mutable_error_origin(); })
    name(*q.mutable_error_origin(), options_.task);
}

template <class Stub, class Request, class Response, class Fill, class Read>
pending coordination_agent::start(Stub& stub,
                                  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (
                                      Stub::*method)(grpc::ClientContext*, Request const&,
                                                     grpc::CompletionQueue*),
                                  Fill& fill, Read& read, milliseconds deadline) {
  Request q;
  sign(q);
  fill(q);
  auto shared = std::make_shared<pending::shared>();
  if (deadline != no_deadline)
    shared->context.set_deadline(std::chrono::system_clock::now() + deadline);
  if (options_.gzip) shared->context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  auto* call = new call_tag<Response, Read>(shared, options_.dialect, read);
  pending handle(shared);
  {
    std::lock_guard const lock(mutex_);
    if (calls_.size() > 256) std::erase_if(calls_, [](pending& p) { return p.done(); });
    calls_.push_back(handle);
  }
  call->reader = (stub.*method)(&shared->context, q, &runner_.queue());
  call->reader->Finish(&call->response, &call->status, static_cast<call_runner::tag*>(call));
  return handle;
}

template <class MethodX, class MethodT, class Fill, class Read>
pending coordination_agent::both(MethodX on_x, MethodT on_t, Fill fill, Read read,
                                 milliseconds deadline) {
  if (options_.dialect == wire_dialect::xla) return start(*x_, on_x, fill, read, deadline);
  return start(*t_, on_t, fill, read, deadline);
}

#define BOTH(method) \
  &x::CoordinationService::Stub::Async##method, &t::CoordinationService::Stub::Async##method

pending coordination_agent::register_task(milliseconds deadline) {
  auto const read = [](auto const& r, answer& a) {
    if constexpr (requires { r.service_incarnation(); })
      a.incarnation = r.service_incarnation();
    else
      a.incarnation = r.leader_incarnation();
  };
  return both(
      BOTH(RegisterTask), [&](auto& q) { q.set_incarnation(incarnation_); }, read, deadline);
}

pending coordination_agent::heartbeat() {
  auto const read = [](auto const& r, answer& a) {
    if constexpr (requires { r.service_incarnation(); })
      a.incarnation = r.service_incarnation();
    else
      a.incarnation = r.leader_incarnation();
  };
  return both(
      BOTH(Heartbeat), [&](auto& q) { q.set_incarnation(incarnation_); }, read);
}

pending coordination_agent::shutdown() {
  return both(BOTH(ShutdownTask), no_more, nothing);
}

pending coordination_agent::reset() {
  return start(*t_, &t::CoordinationService::Stub::AsyncResetTask, no_more, nothing, no_deadline);
}

pending coordination_agent::wait_for_all(std::vector<std::string> const& devices,
                                         std::string const& type_url) {
  auto const fill = [&](t::WaitForAllTasksRequest& q) {
    for (auto const& d : devices) {
      auto& device = *q.mutable_device_info()->add_device();
      device.set_type_url(type_url);
      device.set_value(d);
    }
  };
  auto const read = [](t::WaitForAllTasksResponse const& r, answer& a) {
    for (auto const& d : r.device_info().device()) a.devices.push_back(d.value());
  };
  return start(*t_, &t::CoordinationService::Stub::AsyncWaitForAllTasks, fill, read, no_deadline);
}

pending coordination_agent::report_error(int code, std::string const& message) {
  auto const fill = [&](auto& q) {
    q.set_error_code(code);
    q.set_error_message(message);
  };
  return both(BOTH(ReportErrorToService), fill, nothing);
}

pending coordination_agent::poll_for_error(milliseconds deadline) {
  return both(BOTH(PollForError), no_more, nothing, deadline);
}

pending coordination_agent::watch(std::int64_t version) {
  auto const fill = [&](auto& q) {
    q.set_version_number(version);
    if constexpr (requires { q.set_job_name(""); }) q.set_job_name(options_.job);
  };
  return both(&x::CoordinationService::Stub::AsyncWatchTasks,
              &t::CoordinationService::Stub::AsyncWatchJobState, fill, states);
}

pending coordination_agent::get_task_state(std::vector<int> const& tasks) {
  auto const fill = [&](t::GetTaskStateRequest& q) {
    q.clear_source_task();
    for (auto const id : tasks) name(*q.add_source_task(), id);
  };
  return start(*t_, &t::CoordinationService::Stub::AsyncGetTaskState, fill, states, no_deadline);
}

pending coordination_agent::get_job_state() {
  auto const fill = [&](t::GetJobStateRequest& q) { q.set_job_name(options_.job); };
  return start(*t_, &t::CoordinationService::Stub::AsyncGetJobState, fill, states, no_deadline);
}

pending coordination_agent::insert(std::string const& key, std::string const& value,
                                   bool overwrite) {
  auto const fill = [&](auto& q) {
    q.mutable_kv()->set_key(key);
    q.mutable_kv()->set_value(value);
    q.set_allow_overwrite(overwrite);
  };
  return both(BOTH(InsertKeyValue), fill, nothing);
}

pending coordination_agent::get(std::string const& key, milliseconds deadline) {
  return both(
      BOTH(GetKeyValue), [&](auto& q) { q.set_key(key); }, one_entry, deadline);
}

pending coordination_agent::try_get(std::string const& key) {
  return both(
      BOTH(TryGetKeyValue), [&](auto& q) { q.set_key(key); }, one_entry);
}

pending coordination_agent::increment(std::string const& key, std::int64_t by) {
  auto const fill = [&](auto& q) {
    q.set_key(key);
    q.set_increment(by);
  };
  return both(BOTH(IncrementKeyValue), fill, one_entry);
}

pending coordination_agent::dir(std::string const& key) {
  auto const read = [](auto const& r, answer& a) {
    for (auto const& kv : r.kv()) a.entries.emplace_back(kv.key(), kv.value());
  };
  return both(
      BOTH(GetKeyValueDir), [&](auto& q) { q.set_directory_key(key); }, read);
}

pending coordination_agent::erase(std::string const& key) {
  auto const fill = [&](auto& q) {
    q.set_key(key);
    q.set_is_directory(true);
  };
  return both(BOTH(DeleteKeyValue), fill, nothing);
}

pending coordination_agent::barrier(std::string const& id, milliseconds timeout,
                                    std::vector<int> const& tasks, std::int64_t counter,
                                    milliseconds deadline) {
  auto const fill = [&](auto& q) {
    q.set_barrier_id(id);
    q.set_barrier_timeout_in_ms(timeout.count());
    q.set_counter(counter);
    for (auto const task : tasks)
      if constexpr (requires { q.add_task_ids(0); })
        q.add_task_ids(task);
      else
        name(*q.add_tasks(), task);
  };
  auto const read = [](auto const& r, answer& a) { a.counter = r.counter(); };
  return both(BOTH(Barrier), fill, read, deadline);
}

pending coordination_agent::cancel_barrier(std::string const& id, std::int64_t counter) {
  auto const fill = [&](auto& q) {
    q.set_barrier_id(id);
    q.set_counter(counter);
  };
  return both(BOTH(CancelBarrier), fill, nothing);
}

pending coordination_agent::alive(std::vector<int> const& tasks) {
  auto const fill = [&](auto& q) {
    for (auto const task : tasks)
      if constexpr (requires { q.add_task_ids(0); })
        q.add_task_ids(task);
      else
        name(*q.add_tasks(), task);
  };
  auto const read = [](auto const& r, answer& a) {
    for (int i = 0; i < r.incarnations_size(); ++i)
      if constexpr (requires { r.alive_task_ids(0); })
        a.alive.emplace_back(r.alive_task_ids(i), r.incarnations(i));
      else
        a.alive.emplace_back(r.alive_tasks(i).task_id(), r.incarnations(i));
  };
  return both(BOTH(GetAliveTasks), fill, read);
}

#undef BOTH

}  // namespace muster::test
