// A handle of the output of a call.
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

/// A handle of a call's output, which may not be ready yet.
///
/// Copies share the output. When the last copy is destroyed, the server deletes the value; an
/// unfinished call still runs. A value stays readable after its worker has exited, and after the
/// coordinator object has been destroyed. Members may be called from any thread.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// muster::remote_value<int> sum = c.submit<int>("add", 1, 2);
/// int const three = sum.fetch();
/// @endcode
/// @tparam T  type of the value; use void to ignore the value, or muster::value for its encoded
///   form
template <class T>
class remote_value {
 public:
  /// Type of the value.
  using value_type = T;

  /// Constructs an empty handle. All members except valid() and release() throw std::logic_error.
  remote_value() = default;
  /// Constructs a handle; used by the library.
  /// @param handle  the shared output
  explicit remote_value(std::shared_ptr<detail::value_handle const> handle)
      : handle_(std::move(handle)) {}

  /// Returns false if the handle is empty.
  bool valid() const noexcept { return handle_ != nullptr; }
  /// Returns the currently known status without waiting. Precondition: valid().
  value_status status() const { return handle().status(); }

  /// Waits for the value. The value is transferred to this process once; later fetches need no
  /// round trip.
  /// @param timeout  maximum time to wait
  /// @return the value
  /// @throws closure_error  or a subtype: the call failed
  /// @throws wait_timeout  the value was not ready within `timeout`
  /// @throws boost::system::system_error  the value cannot be converted to T
  T fetch(std::chrono::milliseconds timeout = detail::for_ever) const {
    return convert(handle(), handle().get(timeout));
  }
  /// Asynchronous version of fetch, for coroutines on any executor. Cancellation of any type throws
  /// operation_aborted; the call continues.
  /// @param timeout  maximum time to wait
  /// @return the value
  boost::asio::awaitable<T> async_fetch(
      std::chrono::milliseconds timeout = detail::for_ever) const {
    auto const kept = handle_;  // the handle can be released during the wait
    static_cast<void>(handle());
    co_await kept->async_wait(timeout);
    co_return convert(*kept, kept->get(std::chrono::milliseconds(0)));
  }

  /// Cancels the call, unless it has already finished. Method calls cannot be cancelled.
  void cancel() const { handle().cancel(); }
  /// Makes this handle empty.
  void release() noexcept { handle_.reset(); }
  /// Returns the value's ID, "rv_…", with which REST and other coordinators can read it. The ID is
  /// empty for method calls, and if the call never reached the server. Precondition: status() is
  /// not value_status::not_ready.
  std::string id() const { return handle().id(); }

  /// Returns the shared output; used by the library.
  std::shared_ptr<detail::value_handle const> const& shared() const { return handle_; }

 private:
  detail::value_handle const& handle() const {
    if (!handle_) throw std::logic_error("the remote_value is empty or was released");
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
