// What every request of a coordinator's user must satisfy, and how a cancelled wait ends.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "muster/detail/value_handle.hpp"

namespace muster::detail {

/// std::invalid_argument names what is wrong.
void check_request(request const& r);

/// "20 ms"
std::string in_ms(std::chrono::milliseconds t);

/// What a coroutine finds when it was resumed without the thing it waited for: operation_aborted if
/// it was cancelled.
boost::asio::awaitable<void> throw_if_cancelled();

}  // namespace muster::detail
