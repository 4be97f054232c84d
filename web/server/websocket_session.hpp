// The socket side of one WebSocket client: handshake, one read and at most one write in flight.
// Web thread. Includes Beast: only the two files that carry connections include this.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <functional>

#include "web/rest/web_context.hpp"
#include "web/server/client_stream.hpp"

namespace muster::web {

class topic_set;

/// Completes when the conversation is over; the stream is then to be closed. `topics`: what it may
/// look at. `has_access`: the connection is closed once this returns false. REQUIRES: `stream`
/// outlives the task, the upgrade was checked.
coro::task<void> run_websocket(web_context& context, client_stream& stream,
                               std::shared_ptr<topic_set> topics, std::function<bool()> has_access,
                               boost::beast::http::request<boost::beast::http::empty_body> request);

}  // namespace muster::web
