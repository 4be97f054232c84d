// The output of a call or method, shared by the copies of a remote_value, and the request that
// creates it. For remote_value.hpp and cluster_coordinator.hpp only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muster/closure_error.hpp"
#include "muster/coordinator_options.hpp"
#include "muster/detail/blob_content.hpp"
#include "muster/value.hpp"

namespace muster {

/// Status of a value.
enum class value_status : std::uint8_t {
  not_ready,  ///< the call has not finished
  ready,      ///< the value or an error is available
  aborted,    ///< the call's worker was lost, and the call will not be retried
};

}  // namespace muster

namespace muster::detail {

class coordinator_session;

/// A timeout that is never reached in practice.
inline constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

/// The output of a call. Members may be called from any thread, even after the coordinator has been
/// destroyed.
class value_handle {
 public:
  value_handle(std::shared_ptr<coordinator_session> session, std::uint64_t token)
      : session_(std::move(session)), token_(token) {}
  virtual ~value_handle();
  value_handle(value_handle const&) = delete;

  virtual value_status status() const;
  /// Waits until the call has finished. Throws closure_error or a subtype, and wait_timeout.
  virtual value get(std::chrono::milliseconds timeout) const;
  /// Waits until the call has finished, without returning the value. Throws wait_timeout, and
  /// operation_aborted if the wait is cancelled.
  virtual boost::asio::awaitable<void> async_wait(std::chrono::milliseconds timeout) const;
  virtual std::string id() const;
  virtual std::string function() const;
  virtual void cancel() const;
  /// Waits for a method's output and returns its JSON. Returns nothing for a call's output, which
  /// is passed as an input instead. Throws the same errors as get(), and std::invalid_argument if
  /// the output is bytes.
  virtual std::optional<std::string> text() const { return std::nullopt; }

  coordinator_session const* session() const { return session_.get(); }
  std::uint64_t token() const { return token_; }

 protected:
  /// Constructs a handle of an output without a session, such as a method's output.
  value_handle() = default;

 private:
  std::shared_ptr<coordinator_session> session_;
  std::uint64_t token_ = 0;
};

struct input {
  std::uint32_t offset = 0;  // position of the gap in the arguments
  std::shared_ptr<value_handle const> of;
};

class per_worker_handle;

struct request {
  std::string function;
  std::string args;
  muster::encoding encoding = muster::encoding::json;
  std::vector<input> inputs;                                           // sorted by offset
  std::vector<std::shared_ptr<per_worker_handle const>> per_worker{};  // values in the arguments
  std::shared_ptr<closure_options const> options{};
  blob_contents contents{};  // blobs that the arguments refer to
  bool own_error = false;    // whether the call is submitted instead of scheduled
};

}  // namespace muster::detail
