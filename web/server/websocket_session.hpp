// The socket of a WebSocket client: handshake, one pending read and at most one pending write. Used
// on the web thread. Includes Beast, so only the two files that handle connections may include this
// header.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <functional>

#include "web/rest/web_context.hpp"
#include "web/server/client_stream.hpp"

namespace muster::web {

class topic_set;

/// Completes when the WebSocket has ended; the caller then closes the stream. `topics` are the
/// topics visible to the client. The connection is closed once `has_access` returns false.
/// REQUIRES: `stream` outlives the task, and the upgrade was checked.
coro::task<void> run_websocket(web_context& context, client_stream& stream,
                               std::shared_ptr<topic_set> topics, std::function<bool()> has_access,
                               boost::beast::http::request<boost::beast::http::empty_body> request);

}  // namespace muster::web
