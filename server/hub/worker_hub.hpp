// A hub's connected workers: their streams, task names and pending queries. Owned by a hub; used
// only on the engine thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "server/core/api/objects.hpp"
#include "server/core/coordinator.hpp"
#include "server/doctor/step_stops.hpp"
#include "server/hub/programs/last_lines.hpp"
#include "server/hub/programs/program_doctor.hpp"
#include "server/hub/programs/rank_logs.hpp"
#include "server/hub/programs/rank_stacks.hpp"
#include "server/hub/task_stack.hpp"

namespace muster::server {

/// Receives orders for one attached worker. Called within a step, so that an implementation must
/// only queue and signal, and never call the hub.
class closure_sink {
 public:
  virtual ~closure_sink() = default;
  virtual void on_welcome(core::welcome const& w) = 0;
  virtual void on_dispatch(std::span<core::assignment const> batch) = 0;
  virtual void on_stop(core::stop_request const& s) = 0;
  virtual void on_retract(core::retract_request const& r) = 0;
  virtual void on_drop(core::per_worker_id value) = 0;
  virtual void on_drain() = 0;
  /// Requests the stack of the worker's process. Older workers do not answer.
  virtual void on_stack_query(std::uint64_t /*number*/) {}
  /// Reports that the worker is disconnected. No further calls follow.
  virtual void on_disconnect(muster::status const& why, bool final) = 0;
};

/// Receives orders for workers that can run ranks. The rules of closure_sink apply.
class rank_sink {
 public:
  virtual ~rank_sink() = default;
  virtual void on_rank_orders(core::rank_orders const&) {}
  virtual void on_log_query(rank_log_query const&) {}
  virtual void on_lines_query(last_lines_query const&) {}
  virtual void on_stacks_query(stacks_query const&) {}
  virtual void on_vitals_query(vitals_query const&) {}
  virtual void on_hold_steps(doctor::hold_steps const&) {}
  virtual void on_stop_after(doctor::stop_after const&) {}
};

/// Receives orders for workers that store or call objects. The rules of closure_sink apply.
class object_sink {
 public:
  virtual ~object_sink() = default;
  virtual void on_objects_begin(core::objects::begin_order const&) {}
  virtual void on_build(core::object_id, core::objects::object_spec const&) {}
  virtual void on_call(core::objects::call_order const&, std::string const& /*method*/,
                       core::blob const& /*args*/) {}
  virtual void on_drop_object(core::object_id) {}
  virtual void on_object_answer(core::objects::call_answer const&) {}
  /// Returns the number of bytes that the worker has not read yet.
  virtual std::size_t bytes_to_send() const { return 0; }
};

class worker_sink : public closure_sink, public rank_sink, public object_sink {};

class worker_hub {
 public:
  explicit worker_hub(core::coordinator const& core) : core_(core) {}

  core::stream_id attach(worker_sink& sink);
  /// Removes the sink, and ends its pending queries.
  void detach(core::stream_id stream);
  /// Returns null if the worker is disconnected.
  worker_sink* sink(core::stream_id stream) const;
  /// Returns false if the worker is disconnected.
  template <class Sink, class Message>
  bool send(core::stream_id stream, void (Sink::*on)(Message const&), Message const& m) const {
    auto* const worker = sink(stream);
    if (worker) (worker->*on)(m);
    return worker != nullptr;
  }
  /// Returns no stream if the rank's worker is disconnected.
  core::stream_id stream_of(core::rank_name const& rank) const;
  void disconnect_all(muster::status const& why);
  void deliver(core::effects const& fx) const;

  /// Sets the name of the worker's task, such as "worker:3", once the core has accepted the worker.
  std::string const& set_name(core::stream_id stream, std::string task) {
    return names_.insert_or_assign(stream, std::move(task)).first->second;
  }
  std::string const* name(core::stream_id stream) const;
  /// Removes and returns the name of the stream's task; empty if it had no name.
  std::string remove_name(core::stream_id stream);

  /// Calls `done` once. Fails with NOT_FOUND if the rank is unknown, UNAVAILABLE if its worker is
  /// disconnected, or RESOURCE_EXHAUSTED at a limit.
  void read_log(rank_log_query query, rank_logs::handler done);
  void refresh_lines(core::time_point now, last_lines::attempt const& of,
                     std::function<void()> done = {});
  std::uint64_t begin_stacks(stacks_query const& of);
  /// Reads the stack of a task's process. Calls `done` once, unless the worker does not answer.
  /// Returns the number for worker_questions::forget. Fails with NOT_FOUND if the task is not
  /// connected, UNAVAILABLE if it disconnects, or RESOURCE_EXHAUSTED at a limit.
  std::uint64_t read_stack(std::string_view task, worker_questions<task_stack>::handler done);
  rank_logs& logs() { return logs_; }
  last_lines& lines() { return lines_; }
  rank_stacks& stacks() { return stacks_; }
  worker_questions<task_stack>& task_stacks() { return task_stacks_; }

 private:
  core::coordinator const& core_;
  std::unordered_map<core::stream_id, worker_sink*> sinks_;
  std::unordered_map<core::stream_id, std::string> names_;
  std::uint64_t last_stream_ = 0;
  rank_logs logs_{"logs"};
  last_lines lines_;
  rank_stacks stacks_;
  worker_questions<task_stack> task_stacks_{"stacks"};
};

}  // namespace muster::server
