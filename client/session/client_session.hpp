// What both kinds of session are made of, muster::session and muster::cluster_coordinator: messages
// that wait to be sent, filled by any thread and emptied by the link; numbers of function names;
// how a session opens and ends, and who waits for that.
//
// Users call from any thread, the session_link from the engine thread; the mutex protects
// everything that is not const. Kept alive by its users and, until it has ended, by the link. Owns
// nothing of the engine, so handles may keep it for as long as they like.
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
  std::size_t pending_max;  // entries and bytes that may wait to be sent
  std::size_t pending_bytes_max;
  bool resumable;  // the server keeps it for a grace after its stream broke
};

class client_session : public std::enable_shared_from_this<client_session> {
 public:
  using milliseconds = std::chrono::milliseconds;
  using next = stream_side::next;

  virtual ~client_session() = default;
  client_session(client_session const&) = delete;

  // Any thread.
  /// Makes the link and puts it to work. Once. REQUIRES: the engine outlives ended().
  void start(client_engine& engine);
  /// Waits until the server has opened it; connect_timeout ends that. Errors: those of
  /// throw_if_over().
  void wait_open();
  /// Empty until it was opened.
  std::string id() const;
  /// Until the link has ended. No deadline of its own: the link has one, or was cancelled.
  void wait_ended();

  // The link, engine thread.
  session_settings const& settings() const { return settings_; }
  /// A new stream takes messages from now on.
  virtual void connected() {}
  /// Takes the oldest message that waits.
  virtual next next_message(grpc::ByteBuffer& to);
  /// Empty, or what the server did wrong.
  virtual std::string take(v1::SessionResponse const& m) = 0;
  struct standing {
    bool opened, closing;
    milliseconds grace;  // how long the server keeps it after a broken stream, once opened
  };
  standing now() const;
  /// The last call: no stream will come any more. `reason` is empty after an orderly end.
  virtual void ended(std::string const& reason) = 0;

 protected:
  using lock = std::unique_lock<std::mutex>;
  using clock = std::chrono::steady_clock;

  template <class Options>
  client_session(Options const& o, bool resumable)
      : settings_{o.server,          o.token,       checked_tls(o.tls),
                  o.connect_timeout, o.pending_max, o.pending_bytes_max,
                  resumable} {}

  /// What both kinds say of themselves. No mutex needed.
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

  // All below REQUIRE the mutex, except that async_when takes it.
  /// Throws if nothing can be scheduled any more, and says why.
  virtual void throw_if_over() const = 0;
  /// No room for what users schedule.
  bool full() const;
  /// The number of a name, which is sent before what comes next.
  std::uint32_t number_of(std::string_view function);
  void append_cancel();
  void take_opened(v1::Opened const& o);
  /// Lets the link look at the messages that wait.
  void wake();
  /// Wakes the threads and coroutines that wait, and releases the mutex.
  void changed(lock& held);
  /// A wait of a coroutine on any executor until `over()`; then calls `then()`, under the same
  /// lock. False: not within `limit`. Cancellation (any type) ends it with operation_aborted.
  /// REQUIRES: the caller keeps the session.
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
  std::condition_variable changed_;                // whatever somebody may wait for
  std::vector<std::shared_ptr<waiting>> waiting_;  // coroutines that look again after any change
  std::vector<std::shared_ptr<waiting>> ready_;    // to be resumed when the mutex is free

  /// At most pending_max entries and pending_bytes_max bytes, and what does not wait for room.
  /// Full: see the users' functions.
  proto::outbox<v1::SessionRequest> out_;
  bool streaming_ = false;   // what is scheduled goes into out_ at once
  bool writing_ = false;     // the link has taken a message and not come back yet
  bool half_close_ = false;  // once out_ is empty
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::vector<std::string_view> names_;  // by number

  std::string id_;  // once opened
  milliseconds grace_{0};
  bool closing_ = false;  // by the user: nothing is taken any more
  bool ended_ = false;
  std::string reason_;                  // why it has ended; empty: in order
  bool signalled_ = false;              // the link knows that something waits
  std::shared_ptr<session_link> link_;  // until it has ended
};

}  // namespace muster::detail
