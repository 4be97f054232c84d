// Carries the bytes of a socket over a call whose both sides stream messages with a field `data`,
// and back. In each direction a piece is taken when the one before has been handed on, so the
// slower side sets the pace, and two pieces are on their way besides what gRPC and the system hold.
// Lives in the frame of the coroutine that has the call; engine thread only.
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
  /// REQUIRES: the call outlives it; the socket is one of a socket_poller.
  socket_tunnel(Call& call, asio::ip::tcp::socket socket)
      : call_(call), socket_(std::move(socket)) {}

  // The two run side by side; there is no deadline, as connections last as long as they like.
  // Errors and cancellation of both: none.

  /// Completion: the socket is at its end or closed, or the call is dead. Nothing is written on the
  /// call any more.
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

  /// Completion: the other side of the call has nothing more, and the socket is closed. One that
  /// takes nothing any more, or a piece of more than a MiB, cancels the call.
  [[nodiscard]] task<void> to_socket() {
    co_await asio::this_coro::throw_if_cancelled(false);
    while (!closed_) {  // once it is, the call may be finished, which ends its reads
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

  /// Ends both directions before long.
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
