// Start and end of the web layer:
//
//   listen   socket bound
//   run      accept loop and websocket hub as tasks of one group, a task for each connection
//   stop     acceptor closed, idle connections closed, WebSocket clients told; exchanges in flight
//            finish; after the grace what is left is cut off; run returns when no task is left
#include "web/server/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdio>

#include "coro/task_group.hpp"
#include "web/live/websocket_hub.hpp"
#include "web/metrics/metrics.hpp"
#include "web/rest/context.hpp"
#include "web/server/assets.hpp"
#include "web/server/connection.hpp"

namespace muster::web {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;
using boost::system::error_code;

namespace {
constexpr auto awaited = asio::as_tuple(asio::use_awaitable);
// After a refused accept (no file descriptor left) or while all connections are taken.
constexpr std::chrono::milliseconds accept_pause{50};
// Tasks besides connections: accept loop, websocket hub, end.
constexpr std::size_t other_tasks = 8;

std::string endpoint_text(tcp::endpoint const& e) {
  auto const address = e.address().to_string();
  auto const port = std::to_string(e.port());
  return e.address().is_v6() ? "[" + address + "]:" + port : address + ":" + port;
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
  impl(web_options o, engine_gateway& engine)
      : options(std::move(o)),
        link(context, engine, options.timeouts.engine),
        routes(all_routes()),
        assets(options.dashboard_dir),
        sockets(context, options, link, metrics),
        shared{options, link, routes, assets, metrics, sockets},
        group(context.get_executor(), options.connections_max + other_tasks, report) {}

  muster::result<std::string> listen();
  coro::task<void> accept_loop();
  coro::task<void> end(std::chrono::milliseconds grace);
  void begin_stop(std::chrono::milliseconds grace);
  void prepare(tcp::socket& socket) const;
  coro::task<void> pause(std::chrono::steady_clock::duration d);

  web_options const options;
  asio::io_context context{1};
  web_metrics metrics;
  engine_link link;
  router const routes;
  asset_store const assets;
  websocket_hub sockets;
  web_context shared;
  connection_set connections;
  coro::task_group group;
  tcp::acceptor acceptor{context};
  bool running = false;
};

muster::result<std::string> web_server::impl::listen() {
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
  acceptor.open(endpoint.protocol(), ec);
  if (!ec) acceptor.set_option(asio::socket_base::reuse_address(true), ec);
  if (!ec) acceptor.bind(endpoint, ec);
  if (!ec) acceptor.listen(asio::socket_base::max_listen_connections, ec);
  if (ec) {
    error_code ignored;
    acceptor.close(ignored);
    return muster::status{muster::code::unavailable,
                          "cannot listen on " + wanted + ": " + ec.message()};
  }
  return endpoint_text(acceptor.local_endpoint());
}

void web_server::impl::prepare(tcp::socket& socket) const {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  if (options.send_buffer_bytes > 0)
    socket.set_option(asio::socket_base::send_buffer_size(options.send_buffer_bytes), ignored);
}

coro::task<void> web_server::impl::pause(std::chrono::steady_clock::duration d) {
  asio::steady_timer timer(context, d);
  co_await timer.async_wait(awaited);
}

coro::task<void> web_server::impl::accept_loop() {
  while (acceptor.is_open()) {
    if (connections.open.size() >= options.connections_max) {
      auto pausing = pause(accept_pause);
      co_await std::move(pausing);
      continue;
    }
    auto [ec, socket] = co_await acceptor.async_accept(awaited);
    if (!acceptor.is_open()) break;
    if (ec) {
      auto pausing = pause(accept_pause);
      co_await std::move(pausing);
      continue;
    }
    prepare(socket);
    group.spawn("connection", serve_connection(shared, connections, std::move(socket)));
  }
}

void web_server::impl::begin_stop(std::chrono::milliseconds grace) {
  if (connections.stopping) return;
  connections.stopping = true;
  error_code ignored;
  acceptor.close(ignored);
  sockets.stop();
  auto const open = connections.open;
  for (auto* c : open) c->finish();
  if (running) group.spawn("end", end(grace));
}

coro::task<void> web_server::impl::end(std::chrono::milliseconds grace) {
  auto const deadline = std::chrono::steady_clock::now() + grace;
  while (!connections.open.empty() && std::chrono::steady_clock::now() < deadline) {
    auto pausing = pause(std::chrono::milliseconds(10));
    co_await std::move(pausing);
  }
  auto const open = connections.open;
  for (auto* c : open) c->abort();
  sockets.drop_clients();
}

web_server::web_server(web_options options, engine_gateway& engine)
    : impl_(std::make_unique<impl>(std::move(options), engine)) {}

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
  }
  s.context.restart();
  s.context.run();
}

void web_server::stop(std::chrono::milliseconds grace) {
  asio::post(impl_->context, [s = impl_.get(), grace] { s->begin_stop(grace); });
}

}  // namespace muster::web
