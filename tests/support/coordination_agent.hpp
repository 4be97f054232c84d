// Agents of the coordination service that send what jaxlib (XLA's dialect) and TensorFlow
// (TensorFlow's dialect) send. Calls run on the thread of a call_runner; everything else runs on
// the test's thread.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tensorflow/coordination_service.grpc.pb.h"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::test {

enum class wire_dialect { xla, tensorflow };

struct task_row {
  std::string job;
  int id = 0;
  int state = 0;
  std::uint64_t incarnation = 0;
  int error_code = 0;
  std::string error_message;
  bool operator==(task_row const&) const = default;
};

struct answer {
  grpc::StatusCode code = grpc::StatusCode::OK;
  std::string message;
  // payloads of an error
  bool coordination = false;
  std::optional<int> source;
  bool reported = false;
  std::optional<std::int64_t> barrier_counter;
  std::string barrier_id;
  std::optional<std::uint64_t> mismatch;
  // bodies
  std::uint64_t incarnation = 0;
  std::int64_t counter = 0;
  std::string key, value;
  std::vector<std::pair<std::string, std::string>> entries;
  std::int64_t version = 0;
  std::vector<task_row> tasks;                       // sorted by id
  std::vector<std::pair<int, std::uint64_t>> alive;  // id, incarnation
  std::vector<std::string> devices;

  bool ok() const { return code == grpc::StatusCode::OK; }
};

/// Copies refer to the same call.
class pending {
 public:
  struct shared {
    std::mutex mutex;  // protects `changed` and `result`
    std::condition_variable changed;
    std::optional<answer> result;
    grpc::ClientContext context;
  };
  explicit pending(std::shared_ptr<shared> s) : shared_(std::move(s)) {}

  /// Waits for the reply. After 20 s the test fails and the result is UNKNOWN.
  answer get();
  bool done();
  /// Returns true if no reply arrives within `span`.
  bool parked_for(std::chrono::milliseconds span);
  void cancel() { shared_->context.TryCancel(); }

 private:
  std::shared_ptr<shared> shared_;
};

/// Shared by any number of agents. Must outlive them.
class call_runner {
 public:
  call_runner();
  /// @pre Every call was answered or cancelled.
  ~call_runner();
  call_runner(call_runner const&) = delete;

  struct tag {
    virtual ~tag() = default;
    virtual void complete() = 0;
  };
  grpc::CompletionQueue& queue() { return queue_; }

 private:
  grpc::CompletionQueue queue_;
  std::thread thread_;
};

struct agent_options {
  wire_dialect dialect = wire_dialect::xla;
  int task = 0;
  std::string job = "worker";     ///< TensorFlow's dialect
  bool recoverable = false;       ///< TensorFlow's dialect
  std::uint64_t incarnation = 0;  ///< 0: the next number
  bool gzip = false;
};

class coordination_agent {
 public:
  using milliseconds = std::chrono::milliseconds;
  static constexpr milliseconds no_deadline{0};

  coordination_agent(call_runner& runner, std::shared_ptr<grpc::Channel> channel, agent_options o);
  /// Cancels the calls that are still open.
  ~coordination_agent();

  // Calls of an agent. `deadline` is the gRPC deadline of the call.
  pending register_task(milliseconds deadline = no_deadline);
  pending heartbeat();
  pending shutdown();
  pending reset();
  pending wait_for_all(std::vector<std::string> const& devices, std::string const& type_url = {});
  pending report_error(int code, std::string const& message);
  pending poll_for_error(milliseconds deadline = no_deadline);
  pending watch(std::int64_t version);
  pending get_task_state(std::vector<int> const& tasks);
  pending get_job_state();
  pending insert(std::string const& key, std::string const& value, bool overwrite = false);
  pending get(std::string const& key, milliseconds deadline = no_deadline);
  pending try_get(std::string const& key);
  pending increment(std::string const& key, std::int64_t by);
  pending dir(std::string const& key);
  pending erase(std::string const& key);
  pending barrier(std::string const& id, milliseconds timeout, std::vector<int> const& tasks,
                  std::int64_t counter, milliseconds deadline = no_deadline);
  pending cancel_barrier(std::string const& id, std::int64_t counter = 0);
  pending alive(std::vector<int> const& tasks);

  /// Retries after transient errors and stores the service's incarnation.
  answer connect(milliseconds limit = std::chrono::seconds(20));
  /// Handles the reply to a register_task that the test sent.
  answer connected(answer a);
  /// Waits at a barrier; the agent counts its instances.
  answer wait_at(std::string const& id, milliseconds timeout = std::chrono::seconds(20),
                 std::vector<int> const& tasks = {});
  /// Sends heartbeats on a separate thread until destruction or `stop_heartbeats`.
  void beat_every(milliseconds period);
  void stop_heartbeats();
  /// Simulates a crash: a new incarnation without state.
  void restart();
  void cancel_all();

  int task() const { return options_.task; }
  std::uint64_t incarnation() const { return incarnation_; }
  std::uint64_t service_incarnation() const { return service_; }
  void believe_in(std::uint64_t service) { service_ = service; }

 private:
  template <class MethodX, class MethodT, class Fill, class Read>
  pending both(MethodX x, MethodT t, Fill fill, Read read, milliseconds deadline = no_deadline);
  template <class Stub, class Request, class Response, class Fill, class Read>
  pending start(Stub& stub,
                std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*method)(
                    grpc::ClientContext*, Request const&, grpc::CompletionQueue*),
                Fill& fill, Read& read, milliseconds deadline);
  template <class Request>
  void sign(Request& q) const;
  void name(tensorflow::CoordinatedTask& t, int task) const;

  call_runner& runner_;
  agent_options const options_;
  std::uint64_t incarnation_;
  std::atomic<std::uint64_t> service_ = 0;
  std::unique_ptr<xla::coordination::CoordinationService::Stub> x_;
  std::unique_ptr<tensorflow::CoordinationService::Stub> t_;
  std::map<std::string, std::int64_t> counters_;
  std::mutex mutex_;  // protects `calls_` and `stop_beating_`
  std::vector<pending> calls_;
  std::condition_variable stop_beating_;
  bool beating_ = false;
  std::thread heart_;
};

std::shared_ptr<grpc::Channel> connection_to(std::string const& address,
                                             std::string const& authority = {});

}  // namespace muster::test
