// A handle on the future output of a scheduled closure.
//
// Copies share the output; when the last one is dropped, the server forgets the value (a closure
// that has not finished still runs). A value stays readable when the worker that made it, or the
// coordinator object, is gone. Any thread.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "muster/array.hpp"
#include "muster/detail/json_types.hpp"
#include "muster/detail/value_handle.hpp"
#include "muster/json.hpp"

namespace muster {

template <class T>
class remote_value {
 public:
  using value_type = T;

  /// Of nothing: all members but valid() and release() throw std::logic_error.
  remote_value() = default;
  explicit remote_value(std::shared_ptr<detail::value_handle const> handle)
      : handle_(std::move(handle)) {}

  /// False of one that was made without a value.
  bool valid() const noexcept { return handle_ != nullptr; }
  /// What is known of it just now. REQUIRES: valid.
  value_status status() const { return handle().status(); }

  /// Waits for the value. It is copied here once, so later calls cost no round trip. Errors:
  /// closure_error and its subtypes as the closure ended, wait_timeout, boost::system::system_error
  /// (the value is not a T; it names the function).
  T fetch(std::chrono::milliseconds timeout = detail::for_ever) const {
    return convert(handle(), handle().get(timeout));
  }
  /// The same for a coroutine on any executor. Cancellation (any type) ends the wait with
  /// operation_aborted; the closure goes on.
  boost::asio::awaitable<T> async_fetch(
      std::chrono::milliseconds timeout = detail::for_ever) const {
    auto const kept = handle_;  // the handle may be dropped meanwhile
    static_cast<void>(handle());
    co_await kept->async_wait(timeout);
    co_return convert(*kept, kept->get(std::chrono::milliseconds(0)));
  }

  /// Cancels the closure: it ends as cancelled unless it ends otherwise before.
  void cancel() const { handle().cancel(); }
  /// Drops this copy.
  void release() noexcept { handle_.reset(); }
  /// "rv_…", by which others read the value (REST, other coordinators). REQUIRES: status() is not
  /// not_ready; empty if the closure never came to the server.
  std::string id() const { return handle().id(); }

  std::shared_ptr<detail::value_handle const> const& shared() const { return handle_; }

 private:
  detail::value_handle const& handle() const {
    if (!handle_) throw std::logic_error("a remote_value of nothing, or it was released");
    return *handle_;
  }
  static T convert([[maybe_unused]] detail::value_handle const& of, value v) {
    if constexpr (std::is_void_v<T>)
      return;
    else if constexpr (std::is_same_v<T, value>)
      return v;
    else if constexpr (detail::is_array<T>::value)
      return detail::array_from<T>(v, of.function());
    else
      return detail::output_of<T>(of.function(), from_json({v.bytes, v.encoding}));
  }

  std::shared_ptr<detail::value_handle const> handle_;
};

}  // namespace muster
