#include "web/server/websocket_session.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>

#include "web/live/subscriber.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metrics.hpp"

namespace muster::web {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using boost::system::error_code;

constexpr std::chrono::seconds close_time{5};

class websocket_session {
 public:
  websocket_session(web_context& context, client_stream& stream, std::shared_ptr<topic_set> topics,
                    std::function<bool()> has_access)
      : context_(context),
        tcp_(stream),
        topics_(std::move(topics)),
        has_access_(std::move(has_access)),
        socket_(stream),
        signal_(stream.get_executor()) {}

  coro::task<void> run(beast::http::request<beast::http::empty_body> request) {
    // Registers the client before the first wait, so that the limit is never exceeded.
    subscriber client(context_.sockets, topics_, as_connection());
    client_ = &client;
    bool const accepted = co_await accept(request);
    if (!accepted) co_return;
    auto const hello = co_await context_.sockets.hello(topics_->boot());
    if (!hello) co_return;
    bool const greeted = co_await write(*hello);
    if (!greeted) co_return;
    // When one loop ends, the other loop ends as well. Neither loop consumes events that the other
    // loop waits for.
    using namespace asio::experimental::awaitable_operators;
    auto both = read_loop() && write_loop();
    co_await std::move(both);
  }

 private:
  subscriber::connection as_connection() {
    return {[this] { signal_.cancel(); }, [this] { drop(); }, has_access_};
  }

  coro::task<bool> accept(beast::http::request<beast::http::empty_body> const& request) {
    websocket::stream_base::timeout limits{};
    limits.handshake_timeout = close_time;
    // No timeout, because the protocol has its own acknowledgements.
    limits.idle_timeout = websocket::stream_base::none();
    limits.keep_alive_pings = false;
    socket_.set_option(limits);
    socket_.read_message_max(websocket_message_bytes_max);
    bool const named = request.count(beast::http::field::sec_websocket_protocol) > 0;
    auto decorate = [named](websocket::response_type& r) {
      if (named) r.set(beast::http::field::sec_websocket_protocol, "muster.v1");
    };
    socket_.set_option(websocket::stream_base::decorator(decorate));
    socket_.text(true);
    socket_.auto_fragment(false);
    auto [ec] = co_await socket_.async_accept(request, awaited);
    co_return !ec;
  }

  coro::task<void> read_loop() {
    beast::flat_buffer buffer;  // grows to at most read_message_max
    while (!closed_) {
      auto [ec, n] = co_await socket_.async_read(
          buffer, asio::bind_cancellation_slot(dropped_reading_.slot(), awaited));
      if (ec) break;
      auto const data = buffer.cdata();
      if (socket_.got_text())
        client_->receive({static_cast<char const*>(data.data()), data.size()});
      else
        close_code_ = websocket::close_code::unknown_data,
        client_->send_error("INVALID_ARGUMENT", "messages must be text, not binary");
      buffer.consume(n);
      client_->wake();
      if (client_->leaving()) co_return;  // because messages after the last message are ignored
    }
    closed_ = true;
    signal_.cancel();
  }

  coro::task<void> write_loop() {
    while (!closed_) {
      auto const text = client_->next();
      if (text) {
        bool const written = co_await write(*text);
        if (!written) break;
      } else if (client_->ended()) {
        break;
      } else {
        // The hub's tick, a message or the end cancels the timer. No event is missed, because these
        // events occur on this thread and next() was just called. The hub detects silent clients,
        // so no deadline is needed.
        signal_.expires_at(std::chrono::steady_clock::time_point::max());
        co_await signal_.async_wait(awaited);
      }
    }
    if (!closed_) {
      client_->writing_since = subscriber::clock::now();
      if (client_->refused() && close_code_ == websocket::close_code::normal)
        close_code_ = websocket::close_code::policy_error;
      websocket::close_reason const why(close_code_);
      co_await socket_.async_close(why,
                                   asio::bind_cancellation_slot(dropped_writing_.slot(), awaited));
    }
    closed_ = true;
    drop();
  }

  // REQUIRES: the text outlives the wait.
  coro::task<bool> write(std::string const& text) {
    client_->writing_since = subscriber::clock::now();
    auto [ec, n] = co_await socket_.async_write(
        asio::buffer(text), asio::bind_cancellation_slot(dropped_writing_.slot(), awaited));
    client_->writing_since.reset();
    ++context_.metrics.websocket_messages;
    context_.metrics.websocket_bytes += n;
    co_return !ec;
  }

  // Beast's operations also wait for each other: a failed read waits to send its close frame until
  // the close ends, and the close waits for the read. Closing the socket does not end these waits,
  // so they are cancelled explicitly.
  void drop() {
    closed_ = true;
    signal_.cancel();
    error_code ignored;
    tcp_.socket().close(ignored);
    dropped_reading_.emit(asio::cancellation_type::terminal);
    dropped_writing_.emit(asio::cancellation_type::terminal);
  }

  web_context& context_;
  client_stream& tcp_;
  std::shared_ptr<topic_set> const topics_;
  std::function<bool()> const has_access_;
  websocket::stream<client_stream&> socket_;
  asio::steady_timer signal_;
  asio::cancellation_signal dropped_reading_, dropped_writing_;
  subscriber* client_ = nullptr;
  websocket::close_code close_code_ = websocket::close_code::normal;
  bool closed_ = false;
};

}  // namespace

coro::task<void> run_websocket(web_context& context, client_stream& stream,
                               std::shared_ptr<topic_set> topics, std::function<bool()> has_access,
                               beast::http::request<beast::http::empty_body> request) {
  websocket_session session(context, stream, std::move(topics), std::move(has_access));
  co_await session.run(std::move(request));
}

}  // namespace muster::web
