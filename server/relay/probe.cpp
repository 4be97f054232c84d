// The request uses plain HTTP/1.1 text, because only the status code of the answer matters.
#include "server/relay/probe.hpp"

#include <netinet/tcp.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <sstream>
#include <type_traits>

#include "base/text.hpp"

namespace muster::relay {

namespace {

using tcp = asio::ip::tcp;
using boost::system::error_code;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t status_line_bytes_max = 1024;  // status lines above this limit are rejected

coro::task<error_code> look_up_and_connect(tcp::socket& socket, host_port const& where) {
  tcp::resolver resolver(socket.get_executor());
  auto const [failed, found] = co_await resolver.async_resolve(where.host, where.port, as_tuple);
  if (failed) co_return failed;
  auto const [error, chosen] = co_await asio::async_connect(socket, found, as_tuple);
  co_return error;
}

// `Host` contains the address, because the server accepts names only if they are configured.
std::string question_for(tcp::socket const& socket) {
  error_code ignored;
  std::ostringstream text;
  text << "GET /readyz HTTP/1.1\r\nHost: " << socket.remote_endpoint(ignored)
       << "\r\nUser-Agent: muster-proxy\r\nConnection: close\r\n\r\n";
  return text.str();
}

template <class Stream>
coro::task<std::string> ask(Stream& stream, std::string question) {
  // A write error is also reported by the read that follows.
  co_await asio::async_write(stream, asio::buffer(question), as_tuple);
  std::string answer;
  auto const [error, length] = co_await asio::async_read_until(
      stream, asio::dynamic_buffer(answer, status_line_bytes_max), '\n', as_tuple);
  if (error == asio::error::eof || error == asio::ssl::error::stream_truncated)
    co_return "it closed the connection without answering";
  if (error) co_return lower(error.message());
  auto const status = status_of_line(std::string_view(answer).substr(0, length));
  if (!status) co_return "the answer is not HTTP";
  auto const why = "HTTP status " + std::to_string(*status);
  // A TLS server answers a plaintext request with 400.
  bool const plain = std::is_same_v<Stream, tcp::socket>;
  co_return *status == 200 ? ""
  : plain&&* status == 400 ? why + "; the server may require TLS"
                           : why;
}

coro::task<std::string> dial_and_ask(tcp::socket& socket, host_port const& where,
                                     std::shared_ptr<tls_towards> tls) {
  auto const failed = co_await look_up_and_connect(socket, where);
  if (failed) co_return lower(failed.message());
  auto question = question_for(socket);
  if (!tls) co_return co_await ask(socket, std::move(question));
  auto const context = tls->current();
  tls_stream secured(socket, *context);
  auto const wrong = co_await tls_handshake(secured, where.host, inner::http, tls);
  if (!wrong.empty()) co_return wrong;
  co_return co_await ask(secured, std::move(question));
}

}  // namespace

std::optional<unsigned> status_of_line(std::string_view line) {
  constexpr std::string_view version = "HTTP/1.";
  if (!line.starts_with(version) || line.size() < version.size() + 5) return {};
  auto const rest = line.substr(version.size() + 1);
  auto const behind = rest.substr(4, 1);
  if (rest[0] != ' ' || (!behind.empty() && behind != " " && behind != "\r")) return {};
  auto const status = parse_number(rest.substr(1, 3));
  if (!status || *status < 100) return {};
  return static_cast<unsigned>(*status);
}

coro::task<std::string> check_ready(host_port where, std::chrono::milliseconds limit,
                                    std::shared_ptr<tls_towards> tls) {
  using namespace asio::experimental::awaitable_operators;
  auto const executor = co_await asio::this_coro::executor;
  tcp::socket socket(executor);
  asio::steady_timer timer(executor, limit);
  auto asking = dial_and_ask(socket, where, std::move(tls));
  auto waiting = timer.async_wait(as_tuple);
  auto const first = co_await (std::move(asking) || std::move(waiting));
  if (auto const* answer = std::get_if<0>(&first)) co_return *answer;
  co_return "no answer within " + std::to_string(limit.count()) + " ms";
}

coro::task<error_code> dial(tcp::socket& socket, host_port where, std::chrono::milliseconds limit) {
  using namespace asio::experimental::awaitable_operators;
  asio::steady_timer timer(socket.get_executor(), limit);
  auto connecting = look_up_and_connect(socket, where);
  auto waiting = timer.async_wait(as_tuple);
  auto const first = co_await (std::move(connecting) || std::move(waiting));
  auto const* error = std::get_if<0>(&first);
  co_return error ? *error : error_code(asio::error::timed_out);
}

void prepare(tcp::socket& socket) {
  constexpr int idle_s = 30, every_s = 10, times = 3, unacknowledged_ms = 30'000;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  auto const set = [fd = socket.native_handle()](int option, int value) {
    ::setsockopt(fd, IPPROTO_TCP, option, &value, sizeof value);
  };
  set(TCP_KEEPIDLE, idle_s);
  set(TCP_KEEPINTVL, every_s);
  set(TCP_KEEPCNT, times);
  set(TCP_USER_TIMEOUT, unacknowledged_ms);
  socket.non_blocking(true, ignored);
}

}  // namespace muster::relay
