// Implements serve_connection(). Runs in one task of the web server's group, on the web thread.
// Includes Beast, so only http_connection.cpp and http_connection_io.cpp may include this header.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory>
#include <optional>

#include "web/server/client_stream.hpp"
#include "web/server/connection.hpp"

namespace muster::web {

class connection final : public exchange, public peer_watch, public open_connection {
 public:
  connection(web_context& context, connection_set& set, accepted_client client,
             std::uint64_t network);
  connection(connection const&) = delete;
  ~connection() override;

  coro::task<void> run();

  coro::task<muster::result<std::string>> read_some() override;
  /// Does not use chunks if `head` has a Content-Length. Returns false for HEAD, as if the client
  /// had disconnected, but the connection stays open.
  coro::task<bool> begin_stream(response head) override;
  coro::task<bool> write_piece(std::string piece) override;
  coro::task<bool> end_stream() override;
  peer_watch& peer() override { return *this; }
  bool stopping() const override { return set_.stopping; }

  void arm(boost::asio::steady_timer& timer, bool& gone) override;
  void disarm() override;

  void finish() override {
    if (idle_) close();
  }
  void abort() override;
  bool is_of(std::string const& token) const override { return req.who && req.who->id == token; }
  void end_access() override;

 private:
  coro::task<bool> begin_tls();
  coro::task<void> send_problem(problem p);
  coro::task<bool> next_request();
  coro::task<bool> first_byte();
  coro::task<bool> one_exchange();
  coro::task<bool> upgrade();
  coro::task<bool> write(response const& r, bool keep_alive);
  coro::task<bool> write_all(std::string_view bytes);
  coro::task<void> refuse(boost::system::error_code ec);
  coro::task<void> skip_small_body();
  coro::task<void> linger();
  std::optional<problem> parse_head();
  void close();
  boost::beast::tcp_stream& limits() { return stream_.next_layer(); }
  void watch(boost::asio::steady_timer& timer, bool& gone);
  void spoke() { set_.half_open.remove(half_open_); }
  void readable_at(int bytes);
  void begin_idle();
  void end_idle();

  web_context& context_;
  connection_set& set_;
  client_stream stream_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  boost::beast::flat_buffer buffer_;
  std::optional<boost::beast::http::request_parser<boost::beast::http::buffer_body>> parser_;
  half_open_table<open_connection>::place half_open_;
  std::optional<std::list<open_connection*>::iterator> idle_place_;
  bool idle_ = false;  // true until the next request begins
  std::string address_;
  bool leaving_ = false;
  bool access_ended_ = false;  // whether to close after the current response
  bool expects_100_ = false;
  bool lowered_ = false;  // see readable_at
  bool wants_websocket_ = false;
  bool chunked_ = false;
  std::uint64_t watch_ = 0;  // incremented so that late callbacks do nothing
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace muster::web
