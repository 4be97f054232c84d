// A handle of a value that each worker builds for itself.
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

/// The shared state of the copies of a per_worker_value.
class per_worker_handle {
 public:
  per_worker_handle(std::shared_ptr<coordinator_session> session, std::uint64_t token)
      : session_(std::move(session)), token_(token) {}
  ~per_worker_handle();
  per_worker_handle(per_worker_handle const&) = delete;

  /// Returns the number that the server assigned to the value; 0 until the server has answered.
  std::uint64_t value() const;
  coordinator_session const* session() const { return session_.get(); }
  std::uint64_t token() const { return token_; }

 private:
  std::shared_ptr<coordinator_session> session_;
  std::uint64_t token_;
};

}  // namespace muster::detail

namespace muster {

/// State of a per_worker_value on one worker.
struct per_worker_component {
  std::string task;  ///< worker name, "worker:3"
  /// Whether the worker has built the value.
  value_status status = value_status::not_ready;
  /// The error that the builder threw, if `status` is ready and the build failed. If `status` is
  /// aborted, the reason why the worker was lost.
  std::optional<muster::failure> failure;
};

/// A handle of a value that each worker with the builder function builds and stores.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// auto rows = c.create_per_worker_value("open_dataset", "train", 32);
/// c.schedule<double>("train_step", rows);  // each worker passes its own value
/// @endcode
///
/// A lost worker's component is aborted. When the worker reconnects, it rebuilds the value before
/// it runs calls that need the value. If the builder fails, calls that need the value throw
/// input_error.
///
/// If the builder returns `std::shared_ptr<T>`, functions receive the object in a parameter of type
/// `std::shared_ptr<T>`. The parameter type can nest the pointer in vectors, arrays, maps with
/// string keys, tuples, pairs and optionals. Any other result replaces the argument as JSON.
///
/// A worker with several slots passes the object to several calls at the same time. The object must
/// therefore be thread-safe, or be a one_at_a_time, which locks.
///
/// Copies share the value. The workers delete the value when the last copy is destroyed and no
/// unfinished call needs it. Members may be called from any thread.
class per_worker_value {
 public:
  /// Constructs an empty handle, which cannot be an argument.
  per_worker_value() = default;
  /// Constructs a handle; used by the library.
  /// @param handle  the shared state
  explicit per_worker_value(std::shared_ptr<detail::per_worker_handle const> handle)
      : handle_(std::move(handle)) {}

  /// Returns false if the handle is empty.
  bool valid() const noexcept { return handle_ != nullptr; }
  /// Returns the value's ID, "pw_…", under which REST shows its state on each worker.
  std::string id() const;
  /// Returns the state of the value on each worker with the builder function, sorted by task.
  /// Queries the server.
  /// @param timeout  maximum time to wait
  /// @throws wait_timeout  the server did not answer within `timeout`
  /// @throws unavailable_error  the server is unavailable
  /// @throws std::logic_error  called on a library thread
  std::vector<per_worker_component> components(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;
  /// Asynchronous version of components, for coroutines on any executor. Cancellation of any type
  /// throws operation_aborted.
  /// @param timeout  maximum time to wait
  boost::asio::awaitable<std::vector<per_worker_component>> async_components(
      std::chrono::milliseconds timeout = std::chrono::seconds(10)) const;
  /// Makes this handle empty.
  void release() noexcept { handle_.reset(); }

  /// Returns the shared state; used by the library.
  std::shared_ptr<detail::per_worker_handle const> const& shared() const { return handle_; }

 private:
  std::shared_ptr<detail::per_worker_handle const> handle_;
};

}  // namespace muster
