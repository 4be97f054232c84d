// Why a wait has ended in vain: one call to the server.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace muster::detail {

class client_session;

/// Returns ": " and the server's reason why a closure (`number`: its token) has not ended, or why a
/// call of an object
/// (`number`: the object's) has no answer. Empty if the wait was shorter than half a second, the
/// server does not know, or does not answer within a second. Not on the engine thread.
std::string explanation(std::shared_ptr<client_session const> session, std::uint64_t number,
                        std::chrono::milliseconds waited);
/// As above, for a coroutine on any executor.
boost::asio::awaitable<std::string> async_explanation(std::shared_ptr<client_session const> session,
                                                      std::uint64_t number,
                                                      std::chrono::milliseconds waited);

}  // namespace muster::detail
