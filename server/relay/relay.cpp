#include "server/relay/relay.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>
#include <optional>

#include "base/text.hpp"
#include "coro/task_group.hpp"
#include "server/net/proxied/proxy_header.hpp"
#include "server/relay/leader_choice.hpp"
#include "server/relay/probe.hpp"
#include "server/relay/pump.hpp"

namespace muster::relay {
using namespace std::chrono_literals;
using boost::system::error_code;
using clock = std::chrono::steady_clock;
using tcp = asio::ip::tcp;

namespace {
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
constexpr auto const* not_asked = "not asked yet";
constexpr auto leader_patience = 1s;
constexpr std::chrono::milliseconds dial_limit = 2s;
constexpr auto dial_pause = 100ms;
constexpr auto descriptor_pause = 100ms;
constexpr auto warning_pause = 10s;

struct connection {
  explicit connection(tcp::socket c)
      : client(std::move(c)), server(client.get_executor()), timer(client.get_executor()) {}

  tcp::socket client, server;
  std::shared_ptr<asio::ssl::context> tls;
  std::optional<tls_stream> secured;
  asio::steady_timer timer;
  std::optional<std::size_t> upstream;  // set while the connection is relayed
  bool over = false;

  // Sends RST instead of FIN, because data in transit is lost.
  void reset() {
    over = true;
    error_code ignored;
    for (auto* socket : {&client, &server}) {
      socket->set_option(asio::socket_base::linger(true, 0), ignored);
      socket->close(ignored);
    }
    timer.cancel();
  }
};

using connection_ptr = std::shared_ptr<connection>;

// Resets a waiting connection when the client has reset it. A client that has only closed its
// sending half remains connected.
void watch_client(connection_ptr const& c) {
  c->client.async_wait(tcp::socket::wait_error, [c](error_code cancelled) {
    if (cancelled || c->over) return;
    char byte = 0;
    error_code error;
    c->client.receive(asio::buffer(&byte, 1), tcp::socket::message_peek, error);
    if (error && error != asio::error::would_block && error != asio::error::eof) c->reset();
  });
}

// The PROXY header has 50 bytes and always fits into a new connection's buffer.
bool send_proxy_header(connection& c) {
  error_code no_client, no_end, failed;
  auto const client = c.client.remote_endpoint(no_client);
  auto const here = c.client.local_endpoint(no_end);
  if (no_client || no_end) return false;
  auto const header = net::write_proxy_header(client, here);
  return c.server.write_some(asio::buffer(header), failed) == header.size() && !failed;
}

}  // namespace

struct relay::state {
  state(asio::io_context& context, relay_options o)
      : io(context),
        options(std::move(o)),
        acceptor(io),
        room(io),
        pause(io),
        leaders(options.upstreams.size(), leader_patience),
        reasons(options.upstreams.size(), not_asked),
        tasks(io.get_executor(), options.connections_max + options.upstreams.size() + 1,
              [this](std::string_view name, std::exception_ptr error) { failed(name, error); }) {}

  void failed(std::string_view name, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      options.log(true, std::string(name) + " failed: " + e.what());
    }
  }

  coro::task<void> follow(std::size_t server) {
    asio::steady_timer timer(io);
    auto const& http = options.upstreams[server].http;
    while (!stopping) {
      leaders.asked(server, clock::now());
      reasons[server] = co_await check_ready(http, options.check_timeout, options.tls);
      if (stopping) break;
      auto const before = leaders.leader();
      leaders.answered(server, reasons[server].empty(), clock::now());
      bool const first =
          !all_answered && std::count(reasons.begin(), reasons.end(), not_asked) == 0;
      all_answered |= first;
      if (leaders.leader() != before || (first && !before)) leader_changed(before);
      timer.expires_after(options.check_every);
      co_await timer.async_wait(as_tuple);
    }
  }

  coro::task<void> accept() {
    while (!stopping) {
      co_await wait_for_room();
      if (stopping) break;
      auto [error, socket] = co_await acceptor.async_accept(as_tuple);
      if (stopping) break;
      if (!error) {
        prepare(socket);
        auto const c = std::make_shared<connection>(std::move(socket));
        tasks.spawn("connection", serve(c));
      } else if (error != asio::error::connection_aborted) {
        warn_now_and_then("cannot accept connections: " + lower(error.message()));
        pause.expires_after(descriptor_pause);
        co_await pause.async_wait(as_tuple);
      }
    }
  }

  coro::task<void> serve(connection_ptr c) {
    auto const place = connections.insert(connections.end(), c);
    ++held;
    watch_client(c);
    bool const connected = co_await forward_connection(*c);
    --held;
    room.cancel();
    if (connected) {
      error_code ignored;
      c->client.cancel(ignored);  // ends watch_client
      prepare(c->server);
      co_await carry(*c);
    } else {
      c->reset();
    }
    connections.erase(place);
    room.cancel();
  }

  // Connects to the leader, or waits until there is a leader. Returns false after hold_max, or if
  // the client has disconnected.
  coro::task<bool> forward_connection(connection& c) {
    auto const until = clock::now() + options.hold_max;
    while (!c.over && clock::now() < until) {
      auto const leader = leaders.leader();
      if (leader) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
        bool const connected = co_await connect(c, *leader, std::min(left, dial_limit));
        if (c.over) break;
        if (connected && leaders.leader() == leader) {
          c.upstream = leader;
          co_return true;
        }
        error_code ignored;
        c.secured.reset();
        c.server.close(ignored);
        if (leaders.leader() != leader) continue;
      }
      c.timer.expires_at(leader ? std::min(until, clock::now() + dial_pause) : until);
      co_await c.timer.async_wait(as_tuple);
    }
    co_return false;
  }

  coro::task<bool> connect(connection& c, std::size_t to, std::chrono::milliseconds limit) {
    using namespace asio::experimental::awaitable_operators;
    auto const& where = options.upstreams[to].where;
    auto const error = co_await dial(c.server, where, limit);
    if (error || c.over) co_return false;
    if (options.send_proxy && !send_proxy_header(c)) co_return false;
    if (!options.connections_over_tls) co_return true;
    asio::steady_timer timer(io, limit);
    auto securing = secure(c, to);
    auto waiting = timer.async_wait(as_tuple);
    auto const first = co_await (std::move(securing) || std::move(waiting));
    auto const* why = std::get_if<0>(&first);
    if (why && why->empty()) co_return true;
    if (!c.over)
      warn_now_and_then(
          "cannot forward connections to " + where.text() + ": " +
          (why ? *why : "no TLS handshake within " + std::to_string(limit.count()) + " ms"));
    co_return false;
  }

  coro::task<std::string> secure(connection& c, std::size_t to) {
    c.tls = options.tls->current();
    c.secured.emplace(c.server, *c.tls);
    return tls_handshake(*c.secured, options.upstreams[to].where.host, inner::grpc, options.tls);
  }

  coro::task<void> carry(connection& c) {
    using namespace asio::experimental::awaitable_operators;
    if (!c.secured) {
      auto there = pump_or_reset(c.client, c.server, c);
      auto back = pump_or_reset(c.server, c.client, c);
      co_await (std::move(there) && std::move(back));
      co_return;
    }
    auto const broken = co_await carry_secured(c.client, *c.secured);
    if (broken.empty() || c.over) co_return;
    // A server that rejects our certificate ends the connection only after the handshake.
    warn_now_and_then("a connection to " + options.upstreams[*c.upstream].where.text() +
                      " broke: " + broken);
    c.reset();
  }

  coro::task<void> pump_or_reset(tcp::socket& from, tcp::socket& to, connection& c) {
    bool const whole = co_await pump(from, to, buffer);
    if (!whole) c.reset();
  }

  coro::task<void> wait_for_room() {
    while (!has_room() && !stopping) {
      warn_now_and_then(
          "the connection limit is reached; further connections wait in the system's queue held=" +
          std::to_string(held) + " connections=" + std::to_string(connections.size()));
      room.expires_at(clock::time_point::max());
      co_await room.async_wait(as_tuple);
    }
  }

  bool has_room() const {
    return connections.size() < options.connections_max && held < options.held_max;
  }

  void leader_changed(std::optional<std::size_t> before) {
    std::size_t ended = 0;
    auto const now = leaders.leader();
    for (auto const& c : connections) {
      if (!c->upstream) {
        if (now) c->timer.cancel();
      } else if (c->upstream != now) {
        c->reset();
        ++ended;
      }
    }
    auto const counts = " held=" + std::to_string(held) + " ended=" + std::to_string(ended);
    if (now) {
      auto const gap = before ? clock::duration() : clock::now() - leaderless_since;
      auto const ms = std::chrono::duration_cast<std::chrono::milliseconds>(gap).count();
      options.log(false, "the leader is " + options.upstreams[*now].where.text() + counts +
                             " without_leader_ms=" + std::to_string(ms));
    } else {
      leaderless_since = clock::now();
      options.log(
          true, "no server is the leader; new connections are held (" + why_none() + ")" + counts);
    }
  }

  std::string why_none() const {
    std::string text;
    for (std::size_t i = 0; i < reasons.size(); ++i)
      text += (i ? "; " : "") + options.upstreams[i].http.text() + ": " + reasons[i];
    return text;
  }

  void warn_now_and_then(std::string const& line) {
    if (warned && clock::now() - *warned < warning_pause) return;
    warned = clock::now();
    options.log(true, line);
  }

  void stop() {
    stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    room.cancel();
    pause.cancel();
    for (auto const& c : connections) c->reset();
    tasks.cancel();
  }

  asio::io_context& io;
  relay_options const options;
  tcp::acceptor acceptor;
  asio::steady_timer room, pause;
  leader_choice leaders;
  std::vector<std::string> reasons;
  bool all_answered = false;  // whether every server was checked
  clock::time_point leaderless_since = clock::now();
  std::optional<clock::time_point> warned;
  std::list<connection_ptr> connections;
  std::size_t held = 0;
  bool stopping = false;
  std::array<char, std::size_t{64} << 10> buffer;
  coro::task_group tasks;
};

relay::relay(asio::io_context& io, relay_options options)
    : state_(std::make_unique<state>(io, std::move(options))) {}

relay::~relay() = default;

error_code relay::listen(tcp::endpoint& where) {
  auto& acceptor = state_->acceptor;
  error_code error;
  acceptor.open(where.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(where, error);
  if (!error) acceptor.listen(tcp::acceptor::max_listen_connections, error);
  if (!error) where = acceptor.local_endpoint(error);
  return error;
}

void relay::start() {
  for (std::size_t i = 0; i < state_->options.upstreams.size(); ++i)
    state_->tasks.spawn("check", state_->follow(i));
  state_->tasks.spawn("accept", state_->accept());
}

void relay::stop() {
  state_->stop();
}

}  // namespace muster::relay
