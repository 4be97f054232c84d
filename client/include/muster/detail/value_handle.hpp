// One closure's output, or that of a method, shared by the copies of its remote_value; and the
// request that makes one.
// For remote_value.hpp and cluster_coordinator.hpp only.
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

enum class value_status : std::uint8_t {
  not_ready,  ///< the closure has not finished
  ready,      ///< there is a value, or an error
  aborted,    ///< its producer was lost and will not be tried again
};

}  // namespace muster

namespace muster::detail {

class coordinator_session;

/// No limit that anybody lives to see.
inline constexpr std::chrono::milliseconds for_ever = std::chrono::hours(24 * 365);

class value_handle {
 public:
  value_handle(std::shared_ptr<coordinator_session> session, std::uint64_t token)
      : session_(std::move(session)), token_(token) {}
  /// Releases the value. Any thread, also after the coordinator is gone.
  virtual ~value_handle();
  value_handle(value_handle const&) = delete;

  virtual value_status status() const;
  /// Waits for the end. Errors: closure_error and its subtypes, wait_timeout.
  virtual value get(std::chrono::milliseconds timeout) const;
  /// The same wait, without the value. Errors: wait_timeout; operation_aborted when cancelled.
  virtual boost::asio::awaitable<void> async_wait(std::chrono::milliseconds timeout) const;
  virtual std::string id() const;
  /// The name of what was scheduled.
  virtual std::string function() const;
  virtual void cancel() const;
  /// Of a method: its JSON, which is waited for. Else nothing: it is an input of closures. Errors:
  /// as of get; std::invalid_argument (it is bytes).
  virtual std::optional<std::string> text() const { return std::nullopt; }

  coordinator_session const* session() const { return session_.get(); }
  std::uint64_t token() const { return token_; }

 protected:
  /// Of something else than a closure.
  value_handle() = default;

 private:
  std::shared_ptr<coordinator_session> session_;
  std::uint64_t token_ = 0;
};

struct input {
  std::uint32_t offset = 0;  // of the gap in the arguments
  std::shared_ptr<value_handle const> of;
};

class per_worker_handle;

struct request {
  std::string function;
  std::string args;
  muster::encoding encoding = muster::encoding::json;
  std::vector<input> inputs;                                           // in order of their offsets
  std::vector<std::shared_ptr<per_worker_handle const>> per_worker{};  // that the arguments name
  std::shared_ptr<closure_options const> options{};
  blob_contents contents{};  // that the arguments name
  bool own_error = false;    // submitted: see cluster_coordinator::submit
};

}  // namespace muster::detail
