#include "server/relay/secure.hpp"

#include <sys/stat.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <utility>
#include <variant>

#include "base/text.hpp"

namespace muster::relay {

namespace {

using boost::system::error_code;
using tcp = asio::ip::tcp;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr auto look_every = std::chrono::seconds(1);
constexpr std::size_t buffer_bytes = std::size_t{16} << 10;

bool is_end(error_code ec) {
  return ec == asio::error::eof || ec == asio::ssl::error::stream_truncated;
}

// Returns an empty string at the end of `from`, once all data was written.
template <class From, class To>
coro::task<std::string> one_way(From& from, To& to) {
  std::string own(buffer_bytes, '\0');
  for (;;) {
    auto const [failed, n] = co_await from.async_read_some(asio::buffer(own), as_tuple);
    if (failed) co_return is_end(failed) ? "" : lower(failed.message());
    auto const [broken, m] = co_await asio::async_write(to, asio::buffer(own.data(), n), as_tuple);
    if (broken) co_return lower(broken.message());
  }
}

}  // namespace

muster::result<std::shared_ptr<tls_towards>> tls_towards::from(https_options options) {
  std::shared_ptr<tls_towards> t(new tls_towards(std::move(options)));
  t->seen_ = t->signature();
  auto made = make_client_context(t->options_);
  if (!made) return made.error();
  t->current_ = std::move(*made);
  t->last_file_check_ = std::chrono::steady_clock::now();
  return t;
}

std::string tls_towards::signature() const {
  std::string text;
  for (auto const* path : {&options_.ca_file, &options_.certificate_file, &options_.key_file}) {
    struct stat s {};
    if (path->empty() || ::stat(path->c_str(), &s) != 0) continue;
    for (auto const part :
         {static_cast<long long>(s.st_ino), static_cast<long long>(s.st_size),
          static_cast<long long>(s.st_mtim.tv_sec), static_cast<long long>(s.st_mtim.tv_nsec)})
      text += std::to_string(part) + ' ';
  }
  return text;
}

tls_towards::context_ptr tls_towards::current() {
  auto const now = std::chrono::steady_clock::now();
  if (now - last_file_check_ < look_every) return current_;
  last_file_check_ = now;
  auto const state = signature();
  if (state == seen_) return current_;
  if (auto made = make_client_context(options_)) {
    current_ = std::move(*made);
    seen_ = state;
  }
  return current_;
}

coro::task<std::string> tls_handshake(tls_stream& stream, std::string host, inner spoken,
                                      std::shared_ptr<tls_towards> tls) {
  certificate_check check(stream.native_handle(), host, tls->options());
  if (spoken == inner::grpc) {
    constexpr unsigned char h2[] = {2, 'h', '2'};
    SSL_set_alpn_protos(stream.native_handle(), h2, sizeof h2);
  }
  stream.set_verify_callback([&check](bool accepted, asio::ssl::verify_context& context) {
    return check.note(accepted, context.native_handle());
  });
  auto const [failed] = co_await stream.async_handshake(asio::ssl::stream_base::client, as_tuple);
  // `check` is about to be destroyed. The certificate is verified only once per connection.
  stream.set_verify_callback([](bool accepted, asio::ssl::verify_context&) { return accepted; });
  if (!failed) co_return "";
  if (!check.fault().empty()) co_return check.fault();
  if (is_end(failed)) co_return "it closed the connection during the TLS handshake";
  co_return "the TLS handshake failed: " + lower(failed.message());
}

coro::task<std::string> carry_secured(tcp::socket& client, tls_stream& server) {
  using namespace asio::experimental::awaitable_operators;
  auto there = one_way(client, server);
  auto back = one_way(server, client);
  auto const first = co_await (std::move(there) || std::move(back));
  co_return first.index() == 0 ? std::get<0>(first) : std::get<1>(first);
}

}  // namespace muster::relay
