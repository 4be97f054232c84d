// What a cluster_coordinator and its handles share: every closure that is not finished, with what
// it takes to schedule it again, and every output that somebody holds.
//
// Users fill it and wait on it from any thread; the coordinator_link empties and feeds it from the
// engine thread. The mutex protects everything. It owns nothing of the engine, so handles may keep
// it for as long as they like.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/coordinator/waiting.hpp"
#include "muster/detail/value_handle.hpp"
#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"

namespace muster::detail {

class coordinator_session : public std::enable_shared_from_this<coordinator_session> {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// `wake` makes the link look at next_message(); called from any thread, with the mutex held, so
  /// never after ended(). It must not call back.
  coordinator_session(coordinator_options options, std::function<void()> wake);

  // ---- users, any thread; see cluster_coordinator.hpp ----
  std::uint64_t put(request r);
  boost::asio::awaitable<std::uint64_t> async_put(request r);
  /// Token of the first; the others follow. REQUIRES: at least one.
  std::uint64_t put_gang(std::vector<request> all);
  std::uint64_t create(request builder);
  /// No deadline: connect_timeout or the grace ends it. Errors: input_error, unavailable_error.
  void wait_created(std::uint64_t token);
  boost::asio::awaitable<void> async_wait_created(std::uint64_t token);
  bool join(milliseconds timeout);
  boost::asio::awaitable<bool> async_join(milliseconds timeout);
  bool done();
  void cancel();
  void wait_open();
  std::string id() const;
  std::vector<failure> failures() const;
  /// Nothing is taken any more; the link is to end the stream, and with it the session unless it is
  /// detached.
  void close();
  void wait_ended();

  // ---- handles, any thread ----
  void drop(std::uint64_t token);
  value_status status(std::uint64_t token) const;
  value get(std::uint64_t token, milliseconds timeout);
  boost::asio::awaitable<void> async_wait(std::uint64_t token, milliseconds timeout);
  std::string value_id(std::uint64_t token) const;
  void cancel(std::uint64_t token);
  void drop_per_worker(std::uint64_t token);
  std::uint64_t per_worker_value(std::uint64_t token) const;

  // ---- the link, engine thread ----
  coordinator_options const& options() const { return options_; }
  /// A new stream: what is to be sent begins anew, with open or resume.
  void connected();
  enum class next { message, nothing, half_close };
  /// Takes the oldest pending message.
  next next_message(grpc::ByteBuffer& to);
  /// Empty, or what the server did wrong.
  std::string take(v1::SessionResponse const& m);
  bool opened() const;
  bool closing() const;
  milliseconds grace() const;
  /// The last call: no stream will come any more. `reason` is empty after close().
  void ended(std::string const& reason);

 private:
  using lock = std::unique_lock<std::mutex>;
  using clock = std::chrono::steady_clock;

  /// A PerWorkerValue that a closure names. Token 0: it is another coordinator's.
  struct built_use {
    std::uint64_t token = 0;
    std::uint64_t value = 0;
  };

  struct built_record {
    std::uint32_t function = 0;
    std::string args;
    std::uint64_t value = 0;         // at the server, once it has answered
    std::unique_ptr<failure> error;  // it refused
    std::uint32_t references = 1;    // a handle, and closures that have not ended
    bool answered() const { return value != 0 || error; }
  };

  struct record {
    // to schedule it (again); empty once it has ended
    std::uint32_t function = 0;
    std::string args;
    muster::encoding encoding = muster::encoding::json;
    std::vector<std::pair<std::uint32_t, std::uint64_t>> inputs;   // offset, token
    std::vector<std::pair<std::uint32_t, std::uint64_t>> foreign;  // offset, closure id
    std::vector<built_use> per_worker;
    std::shared_ptr<closure_options const> options;
    std::uint64_t gang = 0;  // the first member's token
    std::uint32_t generation = 0;
    // its output
    bool ended = false;
    value output;
    std::unique_ptr<failure> error;
    std::uint64_t closure = 0;
    // who needs it: a handle, and closures that have not ended and use it
    std::uint32_t references = 0;
    bool watched = false;  // a thread waits for it
    std::vector<std::shared_ptr<waiting>> waiters;
  };

  // All REQUIRE the mutex.
  bool full() const;
  void wait_for_room(lock& held);
  bool may_schedule() const { return ended_ || closing_ || (settled() && (error_ || !full())); }
  record converted(request const& r) const;  // does not need the mutex
  std::uint64_t add(record added, request r, std::uint64_t gang);
  std::uint32_t number_of(std::string const& function);
  /// Does not need the mutex: a value of another coordinator has a place at the server once it is
  /// ready.
  void add_inputs(record& r, std::vector<input> const& inputs) const;
  void add_per_worker(record& r, request const& from) const;
  void append(std::uint64_t token, record const& r);
  void append_options(v1::SessionRequest& m, record const& r, int position);
  void append_release(std::uint64_t token);
  void append_built(std::uint64_t token, built_record const& b);
  void append_open();
  void append_cancel();
  void unreference(std::uint64_t token);
  void forget(std::uint64_t token);
  void end_one(std::uint64_t token, record& r);
  void take_outcomes(v1::SessionResponse const& m);
  void take_created(v1::SessionResponse const& m);
  bool created(std::uint64_t token);
  void unreference_built(std::uint64_t token);
  void take_opened(v1::Opened const& o);
  void take_notice(v1::Notice const& n);
  void note_failure(failure const& f);
  void throw_pending_error();
  void throw_if_lost() const;
  bool settled() const { return !draining_; }
  bool joined() const { return settled() && (error_ || unfinished_ == 0); }
  record const& known(std::uint64_t token) const;

  void wake();
  void changed(lock& held);  // wakes the threads and coroutines that wait, and releases the mutex

  coordinator_options const options_;
  std::function<void()> wake_;  // none once it has ended

  mutable std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  /// Those that have not ended: what the server queues and runs, and pending_max here. Ended ones:
  /// as many as the user has handles.
  std::unordered_map<std::uint64_t, record> records_;
  std::uint64_t last_token_ = 0;
  /// By token. As many as the user has handles and unfinished closures, at most what the server
  /// takes.
  std::unordered_map<std::uint64_t, built_record> built_;
  std::size_t unfinished_ = 0;
  std::vector<std::shared_ptr<waiting>> ready_;  // to be resumed when the mutex is free
  std::vector<std::shared_ptr<waiting>> session_waiting_;

  proto::outbox<v1::SessionRequest> out_;
  std::uint32_t out_generation_ = 0;                // of the message that is filled
  v1::SessionRequest const* options_in_ = nullptr;  // the message that last_options_ went into
  closure_options last_options_;
  std::uint64_t last_gang_ = 0;
  bool streaming_ = false;  // a stream takes messages
  bool signalled_ = false;

  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<std::string> names_;  // by number

  std::string id_;  // once opened
  std::uint64_t incarnation_ = 0;
  milliseconds grace_{0};
  std::uint32_t generation_ = 1;
  bool draining_ = false;               // an error or a cancel of this generation
  bool cancelling_ = false;             // asked for by the user
  bool cancel_sent_ = false;            // on this stream
  std::optional<failure> first_error_;  // of this generation, until it has drained
  std::optional<failure> error_;        // to be raised once
  std::vector<failure> failures_;
  std::uint32_t failures_generation_ = 1;

  bool closing_ = false;
  bool ended_ = false;
  std::string lost_;  // why; empty: not, or closed
};

}  // namespace muster::detail
