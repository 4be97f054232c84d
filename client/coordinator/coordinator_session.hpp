// What a cluster_coordinator and its handles share: a client_session that holds values. It keeps
// every closure that is not finished, with what it takes to schedule it again after a broken
// stream, and every output that somebody holds. Its users' half is the members of
// cluster_coordinator and of the handles.
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

/// Errors: std::invalid_argument, which names the field.
void set_task(std::string const& field, std::string const& task, v1::NewObject& to);

class coordinator_session final : public client_session {
 public:
  explicit coordinator_session(coordinator_options options);

  /// Any thread. At the server; 0 until it has finished, or if it never came there. REQUIRES: the
  /// token is that of a handle.
  std::uint64_t closure_id(std::uint64_t token) const;
  /// Before start().
  void begin_objects(std::weak_ptr<client_engine> engine);

  // Checkpoints, any thread.
  /// While it lives, who schedules waits.
  class quiet {
   public:
    explicit quiet(coordinator_session& of);
    ~quiet();
    quiet(quiet const&) = delete;
    /// Until nothing that was scheduled runs. False: an error is to be raised, nothing is scheduled
    /// any more, or it is `given_up`. Errors: wait_timeout.
    bool wait(milliseconds timeout, std::atomic<bool> const& given_up);

   private:
    coordinator_session& of_;
  };
  known_state& known() { return known_; }
  /// Whether nothing is scheduled any more, or `stopped`, which notify() tells; within this time.
  bool over_within(milliseconds timeout, std::atomic<bool> const& stopped);
  void notify();
  /// The next schedule, join or done raises it.
  void tell(std::exception_ptr error);
  /// Who asks raises it instead. False: it has been raised.
  bool untell(std::exception_ptr const& error);
  /// Throws what is to be raised, if there is anything.
  void raise_what_is_told();

 private:
  // The users' half: any thread, under the mutex.
  friend class muster::cluster_coordinator;
  friend class value_handle;
  friend class per_worker_handle;

  // The link, engine thread.
  void connected() override;
  next next_message(grpc::ByteBuffer& to) override;
  std::string take(v1::SessionResponse const& m) override;
  void ended(std::string const& reason) override;

  // All below REQUIRE the mutex, but for those that say so.
  bool has_room() const;
  bool may_schedule() const;
  /// Submitted closures wait for no drain except that of cancel(), which would end them, too.
  bool may_submit() const;
  bool may_put(bool own_error) const { return own_error ? may_submit() : may_schedule(); }
  /// Raises what keeps a closure from being put. REQUIRES: may_put.
  void check_put(bool own_error);
  /// For how long schedule waits for room; no mutex.
  milliseconds room_limit() const;
  wait_timeout no_room() const;  // no mutex
  void wait_for_room(lock& held, bool own_error);
  void cancel_one(std::uint64_t token, closure_record& r);
  /// Checks the request; needs no mutex: a value of another coordinator has a place at the server
  /// once it is ready.
  closure_record converted(request const& r) const;
  std::uint64_t add(closure_record added, request r, std::uint64_t gang);
  /// Checks the requests of a gang as converted() does, and its size. Needs no mutex.
  std::vector<closure_record> converted_gang(std::vector<request> const& all) const;
  /// Returns the token of the first member; the others follow it. Moves from `all`.
  std::uint64_t add_gang(std::vector<closure_record> added, std::vector<request>& all);
  std::uint64_t put_builder(request r);  // takes the mutex
  /// Nothing is taken any more; the link is to end the stream, and with it the session unless it is
  /// detached. Takes the mutex.
  void close();
  /// What a join waits for: what was scheduled before it, whatever others schedule meanwhile.
  struct cut {
    std::uint64_t last_token = 0;
    std::size_t left = 0;  // of those up to it
  };
  std::shared_ptr<cut const> cut_here();
  bool joined(cut const& c) const {
    return ended_ || (generation_.settled() && (generation_.failed() || c.left == 0));
  }
  /// The server has answered to a PerWorkerValue, or will not any more.
  bool answered(std::uint64_t token) const {
    return ended_ || closing_ || built_.at(token).answered();
  }
  /// Raises what kept it from being made. REQUIRES: answered.
  void check_created(std::uint64_t token) const;
  void throw_if_over() const override;
  void raise_pending();

  void append_open();
  void append_all();
  void append(std::uint64_t token, closure_record const& r);
  void append_built(std::uint64_t token, built_record const& b);
  void append_release(std::uint64_t token);

  void take_notices(v1::SessionResponse const& m, v1::Notice::Kind kind);
  void take_created(v1::SessionResponse const& m);
  void take_outcomes(v1::SessionResponse const& m);
  void end_one(std::uint64_t token, closure_record& r);
  void unreference(std::uint64_t token);
  void unreference_built(std::uint64_t token);
  void forget(std::uint64_t token);

  // No mutex.
  void begin_objects_on_stream(v1::Opened const& o);
  bool objects_message(grpc::ByteBuffer& to);

  coordinator_options const options_;
  std::shared_ptr<object_calls> const objects_;
  known_state known_;
  bool objects_turn_ = false;  // engine thread: else closures go first

  // The mutex protects all below.
  /// Those that have not ended: what the server queues and runs, and pending_max here. Ended ones:
  /// as many as the user has handles.
  std::unordered_map<std::uint64_t, closure_record> records_;
  /// By token. As many as the user has handles and unfinished closures, at most what the server
  /// takes.
  std::unordered_map<std::uint64_t, built_record> built_;
  std::uint64_t last_token_ = 0;
  std::size_t unfinished_ = 0;
  std::vector<std::weak_ptr<cut>> cuts_;  // of the joins that wait, one a call

  queue_bound queue_;
  closure_writer writer_;
  std::uint32_t out_generation_ = 0;  // of the message that is filled
  bool cancel_sent_ = false;          // on this stream
  std::size_t held_ = 0;              // how many want nothing more to be scheduled
  std::exception_ptr told_;           // by another thread, for whoever comes next
  std::set<std::string> lost_with_;   // tasks whose loss was told on this stream
  generation generation_;
  std::uint64_t incarnation_ = 0;  // of the server, once opened
  bool own_errors_ = true;         // the server knows them, as far as it has said
  bool takes_objects_ = false;     // the server, on this stream
};

}  // namespace muster::detail
