// The bytes of an HTTP connection, plain or over TLS, as a stream for Asio and Beast. Handlers are
// type-erased here, so that their code is compiled for only one stream type, and TLS in only one
// file. Time limits are set on the TCP stream.
//
// Owned by its connection; used on the web thread. Includes Beast, so only the files that
// handle connections may include this header.
#pragma once

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <memory>
#include <string>

#include "base/unique_function.hpp"
#include "coro/task.hpp"

namespace muster::web {

inline constexpr auto awaited = boost::asio::as_tuple(boost::asio::use_awaitable);

class client_stream {
 public:
  using next_layer_type = boost::beast::tcp_stream;
  using executor_type = next_layer_type::executor_type;
  using error_code = boost::system::error_code;

  explicit client_stream(boost::asio::ip::tcp::socket socket);
  ~client_stream();
  client_stream(client_stream const&) = delete;

  next_layer_type& next_layer() { return tcp_; }
  next_layer_type const& next_layer() const { return tcp_; }
  executor_type get_executor() { return tcp_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return tcp_.socket(); }
  bool is_tls() const { return tls_ != nullptr; }

  /// Uses the time limit of the TCP stream. REQUIRES: nothing has been read or written.
  coro::task<error_code> tls_handshake(boost::asio::ssl::context& tls);
  coro::task<error_code> tls_shutdown();
  /// Returns an empty string if the client sent no verified certificate.
  std::string certificate_name();

  /// Reads into the first non-empty buffer. Completes on the stream's executor, not on the token's
  /// executor.
  template <class Buffers, class Token>
  auto async_read_some(Buffers const& buffers, Token&& token) {
    boost::asio::mutable_buffer into;
    auto const last = boost::asio::buffer_sequence_end(buffers);
    for (auto b = boost::asio::buffer_sequence_begin(buffers); b != last && into.size() == 0; ++b)
      into = *b;
    auto start = [this](auto then, boost::asio::mutable_buffer room) {
      read(room, transferred(std::move(then)));
    };
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(std::move(start),
                                                                             token, into);
  }
  /// Completes on the stream's executor, not on the token's executor.
  template <class Buffers, class Token>
  auto async_write_some(Buffers const& buffers, Token&& token) {
    few_buffers from;
    auto const last = boost::asio::buffer_sequence_end(buffers);
    for (auto b = boost::asio::buffer_sequence_begin(buffers); b != last; ++b)
      if (!from.add(*b)) break;
    auto start = [this](auto then, few_buffers const& bytes) {
      write(bytes, transferred(std::move(then)));
    };
    return boost::asio::async_initiate<Token, void(error_code, std::size_t)>(std::move(start),
                                                                             token, from);
  }

  template <class Handler>
  friend void async_teardown(boost::beast::role_type role, client_stream& s, Handler&& then) {
    s.tear_down(role, std::forward<Handler>(then));
  }

 private:
  using transferred = coro::unique_function<void(error_code, std::size_t)>;

  class few_buffers {
   public:
    using value_type = boost::asio::const_buffer;
    using const_iterator = value_type const*;
    const_iterator begin() const { return all_.data(); }
    const_iterator end() const { return all_.data() + size_; }
    bool add(value_type b) {
      if (b.size() > 0) all_[size_++] = b;
      return size_ < all_.size();
    }

   private:
    std::array<value_type, 8> all_;
    std::size_t size_ = 0;
  };

  struct secure_stream;

  void read(boost::asio::mutable_buffer into, transferred then);
  void write(few_buffers const& from, transferred then);
  void tear_down(boost::beast::role_type role, coro::unique_function<void(error_code)> then);

  next_layer_type tcp_;
  std::unique_ptr<secure_stream> tls_;  // null for plaintext
};

}  // namespace muster::web
