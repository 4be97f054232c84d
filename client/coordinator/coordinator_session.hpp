// What a cluster_coordinator and its handles share: a client_session that holds values. It keeps
// every closure that is not finished, with what it takes to schedule it again after a broken
// stream, and every output that somebody holds.
#pragma once

#include "client/coordinator/closure_record.hpp"
#include "client/coordinator/generation.hpp"
#include "client/session/client_session.hpp"

namespace muster::detail {

class coordinator_session final : public client_session {
 public:
  explicit coordinator_session(coordinator_options options);

  // Users, any thread; see cluster_coordinator.hpp.
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
  std::vector<failure> failures() const;
  /// Nothing is taken any more; the link is to end the stream, and with it the session unless it is
  /// detached.
  void close();

  // Handles, any thread. REQUIRE: the token is that of a handle.
  void drop(std::uint64_t token);
  value_status status(std::uint64_t token) const;
  value get(std::uint64_t token, milliseconds timeout);
  boost::asio::awaitable<void> async_wait(std::uint64_t token, milliseconds timeout);
  /// At the server; 0 until it has finished, or if it never came there.
  std::uint64_t closure_id(std::uint64_t token) const;
  void cancel(std::uint64_t token);
  void drop_per_worker(std::uint64_t token);
  std::uint64_t per_worker_value(std::uint64_t token) const;

 private:
  // The link, engine thread.
  void connected() override;
  std::string take(v1::SessionResponse const& m) override;
  void ended(std::string const& reason) override;

  // All below REQUIRE the mutex, but for those that say so.
  bool may_schedule() const;
  void wait_for_room(lock& held);
  /// Checks the request; needs no mutex: a value of another coordinator has a place at the server
  /// once it is ready.
  closure_record converted(request const& r) const;
  std::uint64_t add(closure_record added, request r, std::uint64_t gang);
  /// What a join waits for: what was scheduled before it, whatever others schedule meanwhile.
  struct cut {
    std::uint64_t last_token = 0;
    std::size_t left = 0;  // of those up to it
  };
  std::shared_ptr<cut const> cut_here();
  bool joined(cut const& c) const {
    return ended_ || (generation_.settled() && (generation_.failed() || c.left == 0));
  }
  bool created(std::uint64_t token) const;
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

  coordinator_options const options_;

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

  closure_writer writer_;
  std::uint32_t out_generation_ = 0;  // of the message that is filled
  bool cancel_sent_ = false;          // on this stream
  generation generation_;
  std::uint64_t incarnation_ = 0;  // of the server, once opened
};

}  // namespace muster::detail
