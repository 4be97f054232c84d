#include "server/relay/pump.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <string>

namespace muster::relay {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

namespace {

constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
// Number of reads after which other connections are served.
constexpr unsigned reads_in_a_row = 8;

coro::task<bool> write_all(tcp::socket& to, std::span<char> bytes) {
  error_code error;
  auto const written = to.write_some(asio::buffer(bytes.data(), bytes.size()), error);
  if (error && error != asio::error::would_block) co_return false;
  if (!error && written == bytes.size()) co_return true;
  auto const sent = error ? 0 : written;
  std::string const rest(bytes.data() + sent, bytes.size() - sent);
  auto const [failed, n] = co_await asio::async_write(to, asio::buffer(rest), as_tuple);
  co_return !failed;
}

}  // namespace

coro::task<bool> pump(tcp::socket& from, tcp::socket& to, std::span<char> shared) {
  for (unsigned reads = 1;; ++reads) {
    error_code error;
    auto const n = from.read_some(asio::buffer(shared.data(), shared.size()), error);
    if (error == asio::error::would_block) {
      auto const [failed] = co_await from.async_wait(tcp::socket::wait_read, as_tuple);
      if (failed) co_return false;
      continue;
    }
    if (error == asio::error::eof) {
      to.shutdown(tcp::socket::shutdown_send, error);
      co_return !error;
    }
    if (error) co_return false;
    bool const passed = co_await write_all(to, shared.first(n));
    if (!passed) co_return false;
    if (reads % reads_in_a_row == 0) co_await asio::post(asio::use_awaitable);
  }
}

}  // namespace muster::relay
