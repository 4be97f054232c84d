// Answers are written immediately, because they are small and nearly always fit into the socket's
// buffer.
#include "server/torch/sockets/served_store.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/net/incoming.hpp"

namespace muster::torch {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t piece_bytes = 64 << 10;
constexpr auto pause_without_descriptors = std::chrono::milliseconds(100);
// Limit for all stores. A connection has at most two tasks.
constexpr std::size_t tasks_max = 2'000'000;
// Keepalive settings. A peer whose host has failed is detected within 135 seconds.
constexpr int idle_seconds = 60, probe_seconds = 15, probes = 5;

void prepare(tcp::socket& socket) {
  error_code ignored;
  socket.non_blocking(true, ignored);
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  auto const fd = socket.native_handle();
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &probe_seconds, sizeof probe_seconds);
  ::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

std::string host_of(std::string const& peer) {
  auto host = peer.substr(0, peer.rfind(':'));
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return host;
}

std::string told(std::exception_ptr const& error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    return e.what();
  } catch (...) {
    return "an unknown error";
  }
}

}  // namespace

serving::serving(asio::io_context& c, torch_server_options const& o)
    : options(o),
      context(c),
      piece(piece_bytes),
      group(c.get_executor(), tasks_max, [this](std::string_view name, std::exception_ptr error) {
        options.failed(std::string(name) + ": " + told(error));
      }) {}

served_store::served_store(serving& all, std::string name, numbering early, tcp::acceptor acceptor)
    : all_(all),
      name_(std::move(name)),
      acceptor_(std::move(acceptor)),
      place_(all.context),
      tcp_store_(all.options.limits, early,
                 {[this](connection_id c) { touched_.push_back(c); },
                  [this](incident i) { tell(std::move(i)); }}) {}

void served_store::tell(incident what) {
  auto& pace = pace_[static_cast<unsigned>(what.what)];
  if (!pace.may_log(all_.options.now())) return;
  if (auto const n = pace.take_suppressed_count(); n > 0)
    what.text += " (" + std::to_string(n) + " similar events were not reported)";
  all_.options.tell({name_, std::move(what)});
}

void served_store::start() {
  all_.group.spawn("torch accept", accept());
}

void served_store::close() {
  error_code ignored;
  acceptor_.close(ignored);
  place_.cancel();
  for (auto const& [id, c] : clients_) {
    c->socket.close(ignored);
    c->has_read.cancel();
  }
}

coro::task<void> served_store::wait_for_place() {
  while (!tcp_store_.has_room() && acceptor_.is_open()) {
    place_.expires_at(asio::steady_timer::time_point::max());
    co_await place_.async_wait(awaited);
  }
}

coro::task<void> served_store::accept() {
  auto const self = shared_from_this();
  while (acceptor_.is_open()) {
    co_await acceptor_.async_wait(asio::socket_base::wait_read, awaited);
    co_await wait_for_place();
    if (!acceptor_.is_open()) break;
    tcp::endpoint peer;
    error_code ec;
    auto socket = acceptor_.accept(peer, ec);
    if (!ec) {
      take(std::move(socket), peer);
      continue;
    }
    if (net::client_disconnected(ec)) continue;
    if (net::out_of_descriptors(ec)) all_.options.out_of_descriptors();
    asio::steady_timer pause(all_.context, pause_without_descriptors);
    co_await pause.async_wait(awaited);
  }
}

void served_store::take(tcp::socket socket, tcp::endpoint const& peer) {
  auto const from = net::text_of(peer);
  if (!muster::server::any_contains(all_.options.from, host_of(from)))
    return tell({incident::kind::refused, from,
                 "a client (" + from + ") is in none of the networks of --torch-from"});
  begin(std::move(socket), from, {});
}

void served_store::adopt(file_descriptor socket, std::string peer, std::uint32_t rank) {
  tcp::socket served(all_.context);
  error_code ec;
  served.assign(tcp::v4(), socket.get(), ec);
  if (ec) return;
  socket.release();
  if (!tcp_store_.has_room())
    return tell({incident::kind::refused, peer,
                 "rank " + std::to_string(rank) + " (" + peer + "): there are " +
                     std::to_string(tcp_store_.connections()) +
                     " connections, which is the limit"});
  begin(std::move(served), peer, rank);
}

void served_store::begin(tcp::socket socket, std::string const& from,
                         std::optional<std::uint32_t> rank) {
  prepare(socket);
  auto c = std::make_shared<client>(std::move(socket), from);
  c->id = tcp_store_.open(from, all_.options.now(), rank);
  clients_.emplace(c->id, c);
  all_.group.spawn("torch client", serve(std::move(c)));
}

coro::task<void> served_store::serve(client_ptr c) {
  auto const self = shared_from_this();
  while (c->socket.is_open()) {
    auto [failed] = co_await c->socket.async_wait(asio::socket_base::wait_read, awaited);
    if (failed) break;
    error_code ec;
    auto const n = c->socket.read_some(asio::buffer(all_.piece), ec);
    if (ec == asio::error::would_block) continue;
    if (ec) break;
    bool const more = tcp_store_.receive(c->id, {all_.piece.data(), n}, all_.options.now());
    flush();
    if (more) co_await go_on(c);
  }
  clients_.erase(c->id);
  tcp_store_.close(c->id, all_.options.now());
  flush();
  error_code ignored;
  c->socket.close(ignored);
  c->has_read.cancel();
  place_.cancel();
}

coro::task<void> served_store::go_on(client_ptr c) {
  for (bool more = true; more && c->socket.is_open();) {
    if (c->unsent.empty()) {
      co_await asio::post(all_.context, asio::use_awaitable);
    } else {
      c->has_read.expires_at(asio::steady_timer::time_point::max());
      co_await c->has_read.async_wait(awaited);
    }
    if (!c->socket.is_open()) break;
    more = tcp_store_.go_on(c->id, all_.options.now());
    flush();
  }
}

// An answer to one client can wake clients that waited for its key.
void served_store::flush() {
  while (!touched_.empty()) {
    flushed_.swap(touched_);
    for (auto const id : flushed_) {
      auto const it = clients_.find(id);
      if (it == clients_.end()) continue;
      auto const c = it->second;
      if (auto bytes = tcp_store_.take_unsent(id); !bytes.empty()) send(c, std::move(bytes));
      error_code ignored;
      if (tcp_store_.refusal(id).empty()) continue;
      c->socket.close(ignored);
      c->has_read.cancel();
    }
    flushed_.clear();
  }
}

void served_store::send(client_ptr const& c, std::string bytes) {
  if (!c->socket.is_open()) return;
  if (c->unsent.empty()) {
    error_code ec;
    auto const n = c->socket.write_some(asio::buffer(bytes), ec);
    if (ec && ec != asio::error::would_block) return;
    if (n == bytes.size()) return;
    c->unsent = std::move(bytes);
    c->sent = n;
  } else {
    c->unsent += bytes;
  }
  tcp_store_.note_unread(c->id, c->unsent.size() - c->sent);
  if (std::exchange(c->writing, true)) return;
  all_.group.spawn("torch writer", write(c));
}

coro::task<void> served_store::write(client_ptr c) {
  auto const self = shared_from_this();
  while (c->socket.is_open() && c->sent < c->unsent.size()) {
    auto [failed] = co_await c->socket.async_wait(asio::socket_base::wait_write, awaited);
    if (failed || !c->socket.is_open()) break;
    error_code ec;
    auto const rest = asio::buffer(c->unsent) + c->sent;
    c->sent += c->socket.write_some(rest, ec);
    if (ec && ec != asio::error::would_block) break;
    if (!clients_.contains(c->id)) co_return;
    tcp_store_.note_unread(c->id, c->unsent.size() - c->sent);
  }
  if (!c->socket.is_open() || c->sent < c->unsent.size()) co_return;
  std::string().swap(c->unsent);
  c->sent = 0;
  c->writing = false;
  c->has_read.cancel();
}

}  // namespace muster::torch
