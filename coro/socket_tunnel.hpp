// Forwards bytes between a socket and a streaming call whose messages have a field `data`. In each
// direction, the tunnel reads a chunk only after it has forwarded the previous chunk. The call's
// coroutine owns it and uses it only on the engine thread.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>
#include <utility>

#include "coro/task.hpp"

namespace muster::coro {

template <class Call, class Bytes>
class socket_tunnel {
 public:
  /// @pre The call outlives the tunnel. The socket uses the context of a socket_poller.
  socket_tunnel(Call& call, asio::ip::tcp::socket socket)
      : call_(call), socket_(std::move(socket)) {}

  // to_call() and to_socket() must run concurrently. Both have no deadline, cannot fail, and ignore
  // cancellation.

  /// Forwards from the socket to the call. Completes when the socket has ended or the call has
  /// failed; afterwards, nothing is written.
  [[nodiscard]] task<void> to_call() {
    co_await asio::this_coro::throw_if_cancelled(false);
    std::string piece(piece_bytes, '\0');
    for (;;) {
      auto const [failed, n] = co_await socket_.async_read_some(asio::buffer(piece), as_tuple);
      if (failed) co_return;
      sent_.set_data(piece.data(), n);
      bool const sent = co_await call_.write(sent_);
      if (!sent) co_return;
    }
  }

  /// Forwards from the call to the socket. Completes and closes the socket when the client has
  /// half-closed or the call has failed. A socket error or a chunk of more than 1 MiB cancels the
  /// call.
  [[nodiscard]] task<void> to_socket() {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!closed_) {
      bool const got = co_await call_.read(received_);
      if (!got || closed_) break;
      if (received_.data().size() > received_bytes_max) {
        call_.cancel();
        break;
      }
      auto const bytes = asio::buffer(received_.data());
      auto const [failed, n] = co_await asio::async_write(socket_, bytes, as_tuple);
      if (!failed) continue;
      call_.cancel();
      break;
    }
    close();
  }

  /// Closes the socket. Both directions end soon afterwards.
  void close() {
    closed_ = true;
    boost::system::error_code ignored;
    socket_.close(ignored);
  }

 private:
  static constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  static constexpr std::size_t received_bytes_max = std::size_t{1} << 20;
  static constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);

  Call& call_;
  asio::ip::tcp::socket socket_;
  bool closed_ = false;
  Bytes sent_, received_;
};

}  // namespace muster::coro
