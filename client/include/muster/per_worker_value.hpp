// A handle on a value that every worker with a function builds for itself and keeps.
//
//   auto rows = c.create_per_worker_value("open_dataset", "train", 32);
//   c.schedule<double>("train_step", rows);     // each worker gets its own
//
// A worker that is lost loses its component (ABORTED); its next incarnation builds it again before
// anything runs there that needs it. What the builder throws surfaces only in closures that need
// the value, as input_error naming it. A builder that returns std::shared_ptr<T> makes an object,
// which functions take as std::shared_ptr<T>, by itself or in vectors, arrays, maps by string,
// tuples, pairs and optionals; any other result is put in the argument's place as JSON.
//
// A worker with several slots hands one object to several closures at the same time: it must be
// safe for that, or be a one_at_a_time<T> (one_at_a_time.hpp), which locks. With one slot there is
// no need.
//
// Copies share the value; when the last one is dropped and no unfinished closure needs it, the
// workers drop it. Any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/detail/value_handle.hpp"

namespace muster::detail {

class per_worker_handle {
 public:
  per_worker_handle(std::shared_ptr<coordinator_session> session, std::uint64_t token)
      : session_(std::move(session)), token_(token) {}
  ~per_worker_handle();
  per_worker_handle(per_worker_handle const&) = delete;

  /// At the server; 0 until it has answered.
  std::uint64_t value() const;
  coordinator_session const* session() const { return session_.get(); }
  std::uint64_t token() const { return token_; }

 private:
  std::shared_ptr<coordinator_session> session_;
  std::uint64_t token_;
};

}  // namespace muster::detail

namespace muster {

/// What became of a PerWorkerValue on one worker.
struct per_worker_component {
  std::string task;  ///< "worker:3"
  value_status status = value_status::not_ready;
  /// ready: what the builder threw; aborted: how the worker was lost.
  std::optional<muster::failure> failure;
};

class per_worker_value {
 public:
  /// Of nothing; it cannot be an argument.
  per_worker_value() = default;
  explicit per_worker_value(std::shared_ptr<detail::per_worker_handle const> handle)
      : handle_(std::move(handle)) {}

  /// False of one that was made without a value.
  bool valid() const noexcept { return handle_ != nullptr; }
  /// "pw_…", by which REST shows what became of it on each worker.
  std::string id() const;
  /// What became of it on each worker that has the function, by task: asks the server. Errors:
  /// wait_timeout, unavailable_error (the server's reason); std::logic_error on the library's own
  /// thread.
  std::vector<per_worker_component> components(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;
  /// The same for a coroutine on any executor. Cancellation (any type) ends the wait with
  /// operation_aborted.
  boost::asio::awaitable<std::vector<per_worker_component>> async_components(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;
  /// Drops this copy.
  void release() noexcept { handle_.reset(); }

  std::shared_ptr<detail::per_worker_handle const> const& shared() const { return handle_; }

 private:
  std::shared_ptr<detail::per_worker_handle const> handle_;
};

}  // namespace muster
