// One datagram to whoever started this process, as sd_notify(3) sends it: systemd, or
// `muster serve --supervise`. Any thread.
#pragma once

#include <string>
#include <string_view>

namespace muster::coro {

/// Dropped where the listener's queue is full; with any other text that is waited for.
constexpr std::string_view sign_of_life = "WATCHDOG=1";

/// `address`: of NOTIFY_SOCKET ("@…" for an abstract one); empty: nobody listens, nothing is sent.
/// `socket`: a copy goes along; -1: none. Best effort, as the protocol has it.
void send_notice(std::string const& address, std::string const& text, int socket = -1);

}  // namespace muster::coro
