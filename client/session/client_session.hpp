// Common base of muster::session and muster::cluster_coordinator: unsent messages, function
// numbers, and the start and end of a session. Any thread can add messages, which the link sends.
//
// Users call members on any thread; the session_link calls members on the engine thread. The mutex
// protects all members that are not const. The users own the session, and so does the link until it
// has ended. The session owns no part of the engine, so handles can keep the session indefinitely.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/link/server_stream.hpp"
#include "client/session/waiting.hpp"
#include "muster/tls_options.hpp"
#include "muster/v1/coordinator.pb.h"
#include "proto/outbox.hpp"

namespace muster::detail {

class session_link;

struct session_settings {
  std::string server, token;
  tls_options tls;
  std::chrono::milliseconds connect_timeout;
  std::size_t pending_max;  // maximum number of unsent messages
  std::size_t pending_bytes_max;
  bool resumable;  // whether the server keeps the session after a broken stream, for a grace period
};

class client_session : public std::enable_shared_from_this<client_session> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using next = stream_side::next;

  virtual ~client_session() = default;
  client_session(client_session const&) = delete;

  // Thread-safe.
  /// Must be called once. The engine must outlive ended().
  void start(client_engine& engine);
  /// Waits for at most connect_timeout. Throws the same errors as throw_if_over().
  void wait_open();
  std::string id() const;
  /// Waits until the link has ended. No deadline is needed here, because the link has a
  /// deadline or was cancelled.
  void wait_ended();

  // The link calls the following members on the engine thread.
  session_settings const& settings() const { return settings_; }
  virtual void connected() {}
  /// Encodes and removes the oldest message.
  virtual next next_message(grpc::ByteBuffer& to);
  /// Returns an empty string, or a description of the server's protocol violation.
  virtual std::string take(v1::SessionResponse const& m) = 0;
  struct standing {
    bool opened, closing;
    milliseconds grace;  // how long the server keeps the session after a broken stream
  };
  standing now() const;
  /// Called once, as the last callback, when no further stream will be opened. `reason` is empty
  /// after a normal end.
  virtual void ended(std::string const& reason) = 0;

 protected:
  using lock = std::unique_lock<std::mutex>;
  using clock = std::chrono::steady_clock;

  template <class Options>
  client_session(Options const& o, bool resumable)
      : settings_{o.server,          o.token,       checked_tls(o.tls),
                  o.connect_timeout, o.pending_max, o.pending_bytes_max,
                  resumable} {}

  /// Does not require the mutex.
  template <class Options>
  static void fill_open(v1::Open& open, Options const& o) {
    open.set_cluster(to_utf8(o.cluster));
    open.set_name(to_utf8(o.name));
    open.set_continue_on_error(o.continue_on_error);
    open.set_queue_capacity(o.queue_capacity);
    open.set_max_worker_failures(o.max_worker_failures.value_or(0));
    open.set_unlimited_worker_failures(o.unlimited_worker_failures || o.max_worker_failures == 0u);
    open.set_require_function(o.require_function);
    open.set_num_workers(o.num_workers);
  }

  // The following members require the mutex, except async_when, which locks the mutex.
  /// If no more calls can be scheduled, throws an error with the reason.
  virtual void throw_if_over() const = 0;
  bool full() const;
  /// Returns the number of a function name. The name is sent before the next message.
  std::uint32_t number_of(std::string_view function);
  void append_cancel();
  void take_opened(v1::Opened const& o);
  void wake();
  /// Wakes waiting threads and coroutines, and releases the mutex.
  void changed(lock& held);
  /// Suspends a coroutine on any executor until `over()` returns true, then calls `then()` under
  /// the same lock. Returns false after `limit`. Cancellation of any type throws operation_aborted.
  /// The caller must keep the session alive.
  template <class Over, class Then>
  boost::asio::awaitable<bool> async_when(Over over, milliseconds limit, Then then) {
    auto const end = clock::now() + limit;
    auto enter = [this, &over](std::shared_ptr<waiting> const& w) {
      lock held(mutex_);
      if (!over()) return waiting_.push_back(w);
      held.unlock();
      w->resume(true);
    };
    for (;;) {
      {
        lock held(mutex_);
        if (over()) {
          then();
          co_return true;
        }
      }
      auto const left = std::chrono::ceil<milliseconds>(end - clock::now());
      if (left.count() <= 0) co_return false;
      co_await waiting::wait(left, enter);
    }
  }

  session_settings const settings_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;                // notification of any change
  std::vector<std::shared_ptr<waiting>> waiting_;  // coroutines that recheck after any change
  std::vector<std::shared_ptr<waiting>> ready_;  // coroutines to resume after the mutex is released

  /// Unsent messages, limited to pending_max entries and pending_bytes_max bytes, plus messages
  /// that do not wait for room. At the limit, scheduling waits.
  proto::outbox<v1::SessionRequest> out_;
  bool streaming_ = false;  // whether new calls are added to out_ immediately
  bool writing_ = false;
  bool half_close_ = false;  // whether to half-close the stream once out_ is empty
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<std::string_view> names_;

  std::string id_;
  milliseconds grace_{0};
  /// Whether the user has closed the session and no further calls are accepted.
  bool closing_ = false;
  bool ended_ = false;
  std::string reason_;  // reason for the end; empty after a normal end
  bool signalled_ = false;
  std::shared_ptr<session_link> link_;  // null after the link has ended
};

}  // namespace muster::detail
