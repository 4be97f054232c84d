// Start and stop of the web layer:
//
//   listen   binds the socket
//   run      runs the accept loop and the WebSocket hub as tasks of one group. A connection
//            becomes a task when the header of its first request has arrived
//   stop     closes the acceptor and idle connections, and notifies WebSocket clients. `run`
//            returns when all requests have finished, or after the grace period
#include "web/server/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>

#include "coro/task_group.hpp"
#include "server/hub/access/gate.hpp"
#include "server/net/client_hello.hpp"
#include "server/net/incoming.hpp"
#include "server/net/waiting_connections.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metrics.hpp"
#include "web/rest/web_context.hpp"
#include "web/server/assets.hpp"
#include "web/server/client_stream.hpp"
#include "web/server/connection.hpp"
#include "web/server/descriptor_reserve.hpp"
#include "web/server/tls_contexts.hpp"

namespace muster::web {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {
// Pause after a failed accept, or while all connections are busy.
constexpr std::chrono::milliseconds accept_pause{50};
// Maximum number of accepts in one turn, before the accepted connections are handled.
constexpr int accepts_a_turn = 16;
constexpr std::size_t other_tasks = 8;

std::string endpoint_text(tcp::endpoint const& e) {
  auto const address = e.address().to_string();
  auto const port = std::to_string(e.port());
  return e.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
}

// Decides when a new connection has sent enough bytes. The connection itself rejects longer
// headers. A client that does not start TLS on a TLS port gets an answer in plaintext.
net::waiting_connections::judge header_judge(std::size_t bytes_max, bool tls) {
  auto wanted = [bytes_max, tls](std::string_view said) {
    if (tls && net::begins_tls(said)) return net::hello_bytes_needed(said);
    bool const whole = said.find("\r\n\r\n") != std::string_view::npos;
    return whole || said.size() >= bytes_max ? 0 : said.size() + 1;
  };
  return {std::move(wanted), tls ? std::max(bytes_max, net::hello_bytes_max) : bytes_max};
}

void report(std::string_view task, std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "web: %.*s ended with an error: %s\n", static_cast<int>(task.size()),
                 task.data(), e.what());
  } catch (...) {
    std::fprintf(stderr, "web: %.*s ended with an error\n", static_cast<int>(task.size()),
                 task.data());
  }
}
}  // namespace

struct web_server::impl {
  impl(web_options o, engine_gateway& engine, net::proxy_rules const& relays)
      : options(std::move(o)),
        link(context, engine, options.timeouts.engine),
        routes(all_routes()),
        assets(options.dashboard_dir, options.docs_dir, options.base_path),
        sockets(context, options, link, metrics),
        shared{options, link, routes, assets, metrics, sockets},
        connections(options.half_open_per_address_max),
        waiting(context, waiting_options(), relays),
        tls(options.tls.files, options.tls.client_required),
        port_rules(make_way_in()),
        reserve(options.descriptors_reserved),
        group(context.get_executor(), 2 * options.connections_max + other_tasks, report) {
    metrics.grpc_listener = options.grpc_connections;
    metrics.notices = options.outlets.notices.counts;
    metrics.http_listener = [this] { return counts(); };
    if (options.tls.files)
      metrics.certificate_expiry = [files = options.tls.files] {
        return std::chrono::system_clock::to_time_t(files->current()->not_after);
      };
  }

  muster::result<std::string> listen() {
    auto const wanted = options.address + ":" + std::to_string(options.port);
    error_code ec;
    auto const name = options.address == "[::1]" ? std::string("::1") : options.address;
    auto address = asio::ip::make_address(name, ec);
    if (ec) {
      tcp::resolver resolver(context);
      auto const found = resolver.resolve(name, "", ec);
      if (ec || found.empty())
        return muster::status{muster::code::invalid_argument,
                              "cannot listen on " + wanted + ": " + ec.message()};
      address = found.begin()->endpoint().address();
    }
    tcp::endpoint const endpoint(address, static_cast<unsigned short>(options.port));
    open(endpoint, ec);
    if (ec) {
      error_code ignored;
      acceptor.close(ignored);
      return muster::status{muster::code::unavailable, net::listen_failure(wanted, ec)};
    }
    return endpoint_text(acceptor.local_endpoint());
  }

  // Uses the manager's socket, or opens a new socket and passes it to the manager.
  void open(tcp::endpoint const& at, error_code& ec) {
    auto* const manager = options.manager;
    int const kept = manager ? manager->take("http", at.address().to_string(), at.port()) : -1;
    if (kept >= 0) {
      acceptor.assign(at.protocol(), kept, ec);
    } else {
      acceptor.open(at.protocol(), ec);
      if (!ec) acceptor.set_option(asio::socket_base::reuse_address(true), ec);
      if (!ec) acceptor.bind(at, ec);
    }
    if (!ec) prepare();
    if (!ec && kept < 0) acceptor.listen(asio::socket_base::max_listen_connections, ec);
    if (!ec) acceptor.non_blocking(true, ec);
    if (!ec && kept < 0 && manager) manager->keep("http", acceptor.native_handle());
  }

  void prepare() {
    error_code ignored;
    acceptor.set_option(tcp::no_delay(true), ignored);
    acceptor.set_option(asio::socket_base::keep_alive(true), ignored);
    if (options.send_buffer_bytes > 0)
      acceptor.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
  }

  net::waiting_options waiting_options() const {
    return {.first_data_timeout = std::min(options.timeouts.header, options.timeouts.idle),
            .all_max = options.connections_max,
            .per_address_max = options.half_open_per_address_max,
            .silent_flood = [gate = options.gate](std::string const& address) {
              if (gate) gate->note_silent_flood(address);
            }};
  }

  connection_counts counts() const {
    auto c = waiting.counts();
    auto const& listener = metrics.listener;
    c.half_open += connections.half_open.size();
    c.header_timeout += listener.header_timeout;
    c.body_timeout += listener.body_timeout;
    c.address_limit += listener.address_limit;
    c.made_room += listener.made_room;
    c.out_of_descriptors += listener.out_of_descriptors;
    return c;
  }

  bool full() const {
    auto const open = connections.open.size() - connections.leaving + waiting.size();
    return open >= options.connections_max;
  }

  // Returns false if all connections are busy.
  bool make_room() {
    if (waiting.make_room()) return true;
    auto* out = connections.half_open.oldest();
    if (out == nullptr && !connections.idle.empty()) out = connections.idle.front();
    if (out == nullptr) return false;
    ++metrics.listener.made_room;
    out->abort();
    return true;
  }

  coro::task<void> wait_for_place() {
    while (full() && acceptor.is_open() && !make_room()) co_await link.pause(accept_pause);
  }

  coro::task<void> after_failed_accept(error_code ec) {
    if (net::client_disconnected(ec)) co_return;
    if (net::out_of_descriptors(ec)) {
      ++metrics.listener.out_of_descriptors;
      options.out_of_descriptors();
      if (make_room()) co_return;
      bool const lent = reserve.lend();
      connections.scarce = true;
      if (lent) co_return;
    }
    co_await link.pause(accept_pause);
  }

  std::shared_ptr<net::waiting_connections::port_rules const> make_way_in() {
    net::waiting_connections::port_rules d{
        header_judge(options.header_limit_bytes, tls.on()),
        [this](tcp::socket socket, tcp::endpoint const&, tcp::endpoint const& client) {
          take(std::move(socket), client.address());
        }};
    return std::make_shared<net::waiting_connections::port_rules const>(std::move(d));
  }

  void take(tcp::socket socket, asio::ip::address const& client) {
    auto const network = net::network_of(client);
    if (auto* const surplus = connections.half_open.surplus(network)) {
      ++metrics.listener.address_limit;
      surplus->abort();
    }
    group.spawn("connection", serve(std::move(socket), client));
  }

  // Returns only the error of the first accept. A later error means that no connection is pending,
  // or it occurs again in the next turn.
  error_code accept_some() {
    for (int i = 0; i < accepts_a_turn && (i == 0 || !full()); ++i) {
      tcp::endpoint peer;
      error_code ec;
      auto socket = acceptor.accept(peer, ec);
      if (ec) return i == 0 ? ec : error_code();
      waiting.add(std::move(socket), peer, port_rules);
    }
    return {};
  }

  coro::task<void> accept_loop() {
    while (acceptor.is_open()) {
      // Waits for a client first, so that connections are closed, and descriptors lent, only when
      // needed. The wait needs no deadline, because a stop closes the acceptor.
      co_await acceptor.async_wait(asio::socket_base::wait_read, awaited);
      co_await wait_for_place();
      if (!acceptor.is_open()) break;
      if (auto const ec = accept_some()) co_await after_failed_accept(ec);
    }
  }

  coro::task<void> measure_load() {
    server_load::poster const post = [this](std::function<void()> work) {
      return link.post([work = std::move(work)](engine_services&) { work(); });
    };
    while (!connections.stopping) {
      shared.load.measure(post);
      load_timer.expires_after(server_load::interval);
      co_await load_timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }
  }

  coro::task<void> serve(tcp::socket socket, asio::ip::address address) {
    accepted_client client{std::move(socket), address, tls.current()};
    co_await serve_connection(shared, connections, std::move(client), net::network_of(address));
    // Reclaims the descriptor that this connection freed, before other code uses it.
    reserve.refill();
    connections.scarce = !reserve.full();
  }

  void begin_stop(std::chrono::milliseconds grace) {
    if (connections.stopping) return;
    connections.stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    waiting.clear();
    sockets.stop();
    load_timer.cancel();
    auto const open = connections.open;
    for (auto* c : open) c->finish();
    if (running) group.spawn("end", end(grace));
  }

  coro::task<void> end(std::chrono::milliseconds grace) {
    auto const deadline = std::chrono::steady_clock::now() + grace;
    while (!connections.open.empty() && std::chrono::steady_clock::now() < deadline)
      co_await link.pause(std::chrono::milliseconds(10));
    auto const open = connections.open;
    for (auto* c : open) c->abort();
    sockets.drop_clients();
  }

  web_options const options;
  asio::io_context context{1};
  web_metrics metrics;
  engine_link link;
  std::vector<route> const routes;
  asset_store assets;
  websocket_hub sockets;
  web_context shared;
  connection_set connections;
  net::waiting_connections waiting;
  tls_contexts tls;
  std::shared_ptr<net::waiting_connections::port_rules const> const port_rules;
  descriptor_reserve reserve;
  coro::task_group group;
  tcp::acceptor acceptor{context};
  asio::steady_timer load_timer{context};
  bool running = false;
};

web_server::web_server(web_options options, engine_gateway& engine)
    : web_server(std::move(options), engine, {}) {}

web_server::web_server(web_options options, engine_gateway& engine, net::proxy_rules const& relays)
    : impl_(std::make_unique<impl>(std::move(options), engine, relays)) {}

web_server::~web_server() = default;

muster::result<std::string> web_server::listen() {
  return impl_->listen();
}

void web_server::run() {
  auto& s = *impl_;
  s.running = true;
  if (!s.connections.stopping) {
    s.group.spawn("accept loop", s.accept_loop());
    s.group.spawn("websocket hub", s.sockets.run());
    s.group.spawn("load", s.measure_load());
  }
  s.context.restart();
  s.context.run();
}

void web_server::end_all_of(std::string const& token) {
  asio::post(impl_->context, [s = impl_.get(), token] {
    auto const open = s->connections.open;
    for (auto* c : open)
      if (c->is_of(token)) c->end_access();
  });
}

void web_server::stop(std::chrono::milliseconds grace) {
  asio::post(impl_->context, [s = impl_.get(), grace] { s->begin_stop(grace); });
}

}  // namespace muster::web
