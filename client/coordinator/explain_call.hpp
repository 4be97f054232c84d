// Retrieves the server's explanation for a wait that has timed out.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace muster::detail {

class client_session;

/// Returns ": " and the server's reason why there is no result. `number` is a call's token, or the
/// number of an object whose call is unanswered. Returns an empty string if the wait was shorter
/// than half a second, or if the server does not answer within a second. Must not be called on the
/// engine thread.
std::string explanation(std::shared_ptr<client_session const> session, std::uint64_t number,
                        std::chrono::milliseconds waited);
boost::asio::awaitable<std::string> async_explanation(std::shared_ptr<client_session const> session,
                                                      std::uint64_t number,
                                                      std::chrono::milliseconds waited);

}  // namespace muster::detail
