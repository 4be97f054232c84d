// The state shared by a cluster_coordinator and its handles. Stores unfinished calls, to reschedule
// them after a broken stream, and outputs that have a handle. Some members are implemented with
// cluster_coordinator and the handles.
#pragma once

#include <atomic>
#include <exception>
#include <set>

#include "client/coordinator/closure_record.hpp"
#include "client/coordinator/generation.hpp"
#include "client/coordinator/queue_bound.hpp"
#include "client/objects/object_calls.hpp"
#include "client/session/client_session.hpp"
#include "client/variables/known_state.hpp"
#include "muster/cluster_coordinator.hpp"

namespace muster::detail {

/// Sets the task of an object. Throws std::invalid_argument, whose message names the field.
void set_task(std::string const& field, std::string const& task, v1::NewObject& to);

class coordinator_session final : public client_session {
 public:
  explicit coordinator_session(coordinator_options options);

  /// Returns the ID that the server assigned to the call, or 0 if the call is unfinished or never
  /// reached the server. Thread-safe. Precondition: a handle has this token.
  std::uint64_t closure_id(std::uint64_t token) const;
  /// Must be called before start().
  void begin_objects(std::weak_ptr<client_engine> engine);

  // For checkpoints; thread-safe.
  /// Makes schedule and submit wait while this object exists.
  class quiet {
   public:
    explicit quiet(coordinator_session& of);
    ~quiet();
    quiet(quiet const&) = delete;
    /// Waits until no scheduled call is running. Returns false if an error is pending, the session
    /// has ended, or `given_up` is set. Throws wait_timeout.
    bool wait(milliseconds timeout, std::atomic<bool> const& given_up);

   private:
    coordinator_session& of_;
  };
  known_state& known() { return known_; }
  /// Waits until the session ends or `stopped` is set, followed by notify(). Returns false on
  /// timeout.
  bool wait_until_ended_or_stopped(milliseconds timeout, std::atomic<bool> const& stopped);
  void notify();
  /// Stores an error that the next schedule, join or done throws.
  void tell(std::exception_ptr error);
  /// Removes the pending error if it is `error`. Returns false if the error has already been
  /// thrown.
  bool withdraw_pending_error(std::exception_ptr const& error);
  void throw_pending_error();

 private:
  // Users call these members on any thread, with the mutex locked.
  friend class muster::cluster_coordinator;
  friend class value_handle;
  friend class per_worker_handle;

  // The link calls these members on the engine thread.
  void connected() override;
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(v1::SessionResponse const& m) override;
  void ended(std::string const& reason) override;

  // The following members require the mutex unless documented otherwise.
  bool has_room() const;
  bool may_schedule() const;
  /// Returns false while cancel() drains the session, because the drain would cancel a newly
  /// submitted call.
  bool may_submit() const;
  bool may_put(bool own_error) const { return own_error ? may_submit() : may_schedule(); }
  /// Throws the error that prevents scheduling. Precondition: may_put().
  void check_put(bool own_error);
  /// Does not require the mutex.
  milliseconds room_limit() const;
  wait_timeout no_room() const;  // does not require the mutex
  void wait_for_room(lock& held, bool own_error);
  void cancel_one(std::uint64_t token, closure_record& r);
  /// Checks a request. Does not require the mutex, because the ID of another coordinator's ready
  /// value does not change.
  closure_record converted(request const& r) const;
  std::uint64_t add(closure_record added, request r, std::uint64_t gang);
  /// Checks the requests and the size of a gang. Does not require the mutex.
  std::vector<closure_record> converted_gang(std::vector<request> const& all) const;
  /// Adds a gang and moves the requests from `all`. Returns the first of the consecutive tokens.
  std::uint64_t add_gang(std::vector<closure_record> added, std::vector<request>& all);
  std::uint64_t put_builder(request r);  // locks the mutex
  /// Rejects further calls and ends the stream, which ends the session unless it is detached. Locks
  /// the mutex.
  void close();
  struct cut {
    std::uint64_t last_token = 0;
    std::size_t left = 0;
  };
  std::shared_ptr<cut const> make_join_target();
  bool joined(cut const& c) const {
    return ended_ || (generation_.settled() && (generation_.failed() || c.left == 0));
  }
  /// Returns true if the server has answered, or will not answer, the request for a per-worker
  /// value.
  bool answered(std::uint64_t token) const {
    return ended_ || closing_ || per_worker_values_.at(token).answered();
  }
  /// Throws the error that prevented the value from being created. Precondition: answered().
  void check_created(std::uint64_t token) const;
  void throw_if_over() const override;
  void raise_pending();

  void append_open();
  void append_all();
  void append(std::uint64_t token, closure_record const& r);
  void append_built(std::uint64_t token, per_worker_record const& b);
  void append_release(std::uint64_t token);

  void process_notices(v1::SessionResponse const& m, v1::Notice::Kind kind);
  void process_created(v1::SessionResponse const& m);
  void process_outcomes(v1::SessionResponse const& m);
  void end_one(std::uint64_t token, closure_record& r);
  void unreference(std::uint64_t token);
  void unreference_built(std::uint64_t token);
  void forget(std::uint64_t token);

  // The following members do not require the mutex.
  void begin_objects_on_stream(v1::Opened const& o);
  bool objects_message(grpc::ByteBuffer& to);

  coordinator_options const options_;
  std::shared_ptr<object_calls> const objects_;
  known_state known_;
  /// Whether object messages are sent first; used only on the engine thread.
  bool objects_turn_ = false;

  // The mutex protects the following members.
  /// Unfinished calls, limited by the server's queue and pending_max, and finished calls that have
  /// a handle.
  std::unordered_map<std::uint64_t, closure_record> records_;
  /// Per-worker values by token; limited by the server, and by the user's handles and unfinished
  /// calls.
  std::unordered_map<std::uint64_t, per_worker_record> per_worker_values_;
  std::uint64_t last_token_ = 0;
  std::size_t unfinished_ = 0;
  std::vector<std::weak_ptr<cut>> join_targets_;

  queue_bound queue_;
  closure_writer writer_;
  std::uint32_t out_generation_ = 0;
  bool cancel_sent_ = false;  // whether cancel was sent on this stream
  std::size_t held_ = 0;      // number of `quiet` objects
  /// Error from another thread that the next schedule, join or done throws.
  std::exception_ptr pending_error_;
  std::set<std::string> tasks_reported_lost_;  // tasks whose loss has been reported on this stream
  generation generation_;
  std::uint64_t incarnation_ = 0;       // server incarnation; 0 before the session is open
  bool server_supports_submit_ = true;  // assumed to be true until the server answers
  bool takes_objects_ = false;          // whether the server supports objects on this stream
};

}  // namespace muster::detail
