#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>

#include "web/http/response_text.hpp"
#include "web/metrics/metrics.hpp"
#include "web/server/http_connection.hpp"

namespace muster::web {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;

namespace {
constexpr std::size_t piece_bytes = 64 * 1024;
// Closing with an unread body would reset the connection, and the client could lose the response.
constexpr std::chrono::seconds linger_time{2};
}  // namespace

coro::task<muster::result<std::string>> connection::read_some() {
  if (parser_->is_done()) co_return std::string();
  if (expects_100_) {
    expects_100_ = false;
    bool const told = co_await write_all("HTTP/1.1 100 Continue\r\n\r\n");
    if (!told)
      co_return muster::status{muster::code::cancelled, "the client closed the connection"};
  }
  std::string piece(piece_bytes, '\0');
  auto& body = parser_->get().body();
  body.data = piece.data();
  body.size = piece.size();
  limits().expires_after(context_.options.timeouts.body);
  auto [ec, n] = co_await http::async_read(stream_, buffer_, *parser_, awaited);
  if (ec == beast::error::timeout) ++context_.metrics.listener.body_timeout;
  if (ec == beast::error::timeout)
    co_return muster::status{muster::code::deadline_exceeded,
                             "receiving the request's body timed out"};
  if (ec && ec != http::error::need_buffer)
    co_return muster::status{muster::code::invalid_argument,
                             "the request's body is incomplete: " + ec.message()};
  spoke();
  piece.resize(piece.size() - body.size);
  co_return piece;
}

// Reads a small body, so that the connection can be reused.
coro::task<void> connection::skip_small_body() {
  if (expects_100_ || req.content_length.value_or(piece_bytes + 1) > piece_bytes) co_return;
  while (!parser_->is_done()) {
    auto const piece = co_await read_some();
    if (!piece) co_return;
  }
}

coro::task<bool> connection::write(response const& r, bool keep_alive) {
  auto const content = r.content();
  bool const has_content = r.status != 204 && r.status != 304;
  auto text = head_text(r, has_content ? std::optional(content.size()) : std::nullopt, keep_alive);
  bool const with_body = has_content && !req.is_head();
  bool const together = with_body && content.size() <= piece_bytes;
  if (together) text += content;
  bool const head_written = co_await write_all(text);
  if (!head_written) co_return false;
  if (!with_body || together) co_return true;
  co_return co_await write_all(content);
}

// REQUIRES: the bytes outlive the wait.
coro::task<bool> connection::write_all(std::string_view bytes) {
  while (!bytes.empty()) {
    auto const piece = bytes.substr(0, piece_bytes);
    limits().expires_after(context_.options.timeouts.write);
    auto [ec, n] =
        co_await asio::async_write(stream_, asio::buffer(piece.data(), piece.size()), awaited);
    if (ec) {
      close();
      co_return false;
    }
    bytes.remove_prefix(n);
  }
  co_return true;
}

coro::task<bool> connection::begin_stream(response head) {
  chunked_ =
      !req.http_1_0 && std::none_of(head.headers.begin(), head.headers.end(),
                                    [](auto const& h) { return h.first == "Content-Length"; });
  if (req.http_1_0) head.headers.emplace_back("Connection", "close");
  if (chunked_) head.headers.emplace_back("Transfer-Encoding", "chunked");
  bool const keep = parser_->keep_alive() && !set_.stopping && !set_.scarce;
  auto const text = head_text(head, std::nullopt, keep);
  bool const written = co_await write_all(text);
  co_return written && !req.is_head();
}

coro::task<bool> connection::write_piece(std::string piece) {
  if (piece.empty()) co_return true;
  if (chunked_) piece = chunk_text(piece);
  co_return co_await write_all(piece);
}

coro::task<bool> connection::end_stream() {
  if (!chunked_) co_return true;
  co_return co_await write_all("0\r\n\r\n");
}

void connection::arm(asio::steady_timer& timer, bool& gone) {
  ++watch_;
  watch(timer, gone);
}

// Readable data alone does not mean that the client has disconnected: it can be a pipelined request
// or, with TLS, a close notification. The data stays in the kernel; the next check runs when more
// data arrives or the connection ends.
void connection::watch(asio::steady_timer& timer, bool& gone) {
  auto seen = [this, alive = alive_, number = watch_, &timer, &gone](error_code ec) {
    if (!*alive || number != watch_) return;
    auto const fd = stream_.socket().native_handle();
    int pending = 0;
    pollfd ended{fd, POLLRDHUP, 0};
    if (!ec && ::ioctl(fd, FIONREAD, &pending) == 0 && pending > 0 && ::poll(&ended, 1, 0) == 0) {
      // Above this size, the kernel might report the socket as readable repeatedly.
      constexpr int mark_max = 16 * 1024;
      if (pending >= mark_max) return;
      readable_at(pending + 1);
      return watch(timer, gone);
    }
    gone = true;
    timer.cancel();
  };
  stream_.socket().async_wait(asio::socket_base::wait_read, std::move(seen));
}

void connection::readable_at(int bytes) {
  ::setsockopt(stream_.socket().native_handle(), SOL_SOCKET, SO_RCVLOWAT, &bytes, sizeof bytes);
  lowered_ = bytes > 1;
}

void connection::disarm() {
  ++watch_;
  error_code ignored;
  if (!stream_.socket().is_open()) return;
  stream_.socket().cancel(ignored);
  if (lowered_) readable_at(1);
}

coro::task<void> connection::linger() {
  error_code ec;
  if (stream_.is_tls()) {
    limits().expires_after(linger_time);
    co_await stream_.tls_shutdown();
    if (!stream_.socket().is_open()) co_return;
  }
  stream_.socket().shutdown(asio::socket_base::shutdown_send, ec);
  if (ec || !parser_ || parser_->is_done()) co_return;
  auto const deadline = std::chrono::steady_clock::now() + linger_time;
  limits().expires_at(deadline);
  std::string rest(piece_bytes, '\0');
  while (!ec && std::chrono::steady_clock::now() < deadline) {
    auto [failed, n] =
        co_await limits().async_read_some(asio::buffer(rest.data(), rest.size()), awaited);
    ec = failed;
  }
}

}  // namespace muster::web
