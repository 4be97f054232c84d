#include "client/programs/tunnels.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <future>
#include <random>
#include <set>
#include <stdexcept>

#include "client/log_line.hpp"
#include "coro/client_bidi.hpp"
#include "coro/socket_tunnel.hpp"
#include "coro/timer_queue.hpp"
#include "muster/v1/programs.grpc.pb.h"

namespace muster {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using call_type = coro::client_bidi<v1::TunnelBytes, v1::TunnelBytes>;

constexpr std::size_t key_bytes = 32;
constexpr auto as_tuple = asio::as_tuple(asio::use_awaitable);
// One per attempt and one per rank; there are at most 1,024 ranks.
constexpr std::size_t listeners_max = 2'048;
// Delay after accept() failed because no descriptor was available.
constexpr std::chrono::milliseconds accept_pause{100};

using carried_type = coro::socket_tunnel<call_type, v1::TunnelBytes>;

coro::task<void> send(call_type& call, carried_type& carried) {
  co_await carried.to_call();
  co_await call.writes_done();
}

std::string random_key() {
  std::random_device device;
  std::string key;
  while (key.size() < key_bytes) key += static_cast<char>(device() & 0xFF);
  return key;
}

}  // namespace

struct tunnels::listener {
  listener(coro::socket_poller& poller, name const& n)
      : of(n), acceptor(poller.context(), tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {}

  void close() {
    boost::system::error_code ignored;
    acceptor.close(ignored);
    for (auto* call : calls) call->cancel();
  }

  name const of;
  tcp::acceptor acceptor;
  std::set<call_type*> calls;
};

tunnels::tunnels(tunnel_options o) : options_(std::move(o)), key_(random_key()) {}

tunnels::~tunnels() {
  end();
}

void tunnels::follow(std::string const& server) {
  if (server == server_) return;
  server_ = server;
  channel_.reset();
}

void tunnels::begin() {
  if (engine_) return;
  auto engine = client_engine::shared();
  auto poller = std::make_unique<coro::socket_poller>();
  auto const fail = [](std::string_view, std::exception_ptr error) {
    std::rethrow_exception(error);
  };
  tasks_ = std::make_unique<coro::task_group>(engine->context().get_executor(),
                                              options_.tunnels_max + listeners_max, fail);
  poller_ = std::move(poller);
  engine_ = std::move(engine);
}

std::string tunnels::open(std::uint64_t program, std::uint32_t attempt,
                          std::optional<std::uint32_t> torch_rank) {
  begin();
  name const of{program, attempt, torch_rank};
  auto it = listeners_.find(of);
  if (it == listeners_.end()) {
    auto made = std::make_shared<listener>(*poller_, of);
    if (listeners_.size() >= listeners_max || !tasks_->spawn("listener of a program", accept(made)))
      throw std::runtime_error(
          std::to_string(listeners_max) +
          " attempts and ranks already have a listener on this worker, which is the limit");
    it = listeners_.emplace(of, std::move(made)).first;
  }
  return "127.0.0.1:" + std::to_string(it->second->acceptor.local_endpoint().port());
}

void tunnels::close(std::uint64_t program, std::uint32_t attempt) {
  auto const first = listeners_.lower_bound({program, attempt, std::nullopt});
  auto const last = listeners_.lower_bound({program, attempt + 1, std::nullopt});
  for (auto it = first; it != last; ++it) it->second->close();
  listeners_.erase(first, last);
}

void tunnels::end() {
  if (!engine_) return;
  auto const done = std::make_shared<std::promise<void>>();
  engine_->context().post([this, done] {
    for (auto const& [of, at] : listeners_) at->close();
    listeners_.clear();
    engine_->tasks().spawn("end of tunnels", wait_for_end([done] { done->set_value(); }));
  });
  done->get_future().wait();
  tasks_.reset();
  channel_.reset();
  poller_.reset();
  engine_.reset();
}

coro::task<void> tunnels::wait_for_end(std::function<void()> done) {
  co_await tasks_->wait();
  done();
}

coro::task<void> tunnels::accept(std::shared_ptr<listener> at) {
  co_await asio::this_coro::throw_if_cancelled(false);
  coro::timer pause(engine_->context());
  for (;;) {
    tcp::socket socket(poller_->context());
    auto const [failed] = co_await at->acceptor.async_accept(socket, as_tuple);
    if (!at->acceptor.is_open()) co_return;
    if (failed)
      co_await pause.wait_for(accept_pause);
    else if (tunnels_ < options_.tunnels_max)  // otherwise the socket is closed
      tasks_->spawn("tunnel of a rank", carry(at, std::move(socket)));
  }
}

std::shared_ptr<grpc::Channel> tunnels::channel() {
  if (!channel_) channel_ = make_channel(server_, options_.tls);
  return channel_;
}

coro::task<void> tunnels::carry(std::shared_ptr<listener> at, tcp::socket socket) {
  using namespace asio::experimental::awaitable_operators;
  co_await asio::this_coro::throw_if_cancelled(false);
  boost::system::error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);  // TCPStore requests are small
  call_type call(engine_->context());
  add_token(call.context(), options_.token);
  call.context().set_wait_for_ready(true);
  coro::timer deadline(engine_->context());
  deadline.call_at(coro::timer::clock::now() + options_.patience, [&call] { call.cancel(); });
  auto const over = channel();
  v1::TunnelService::Stub stub(over);
  auto prepare = [&stub](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub.PrepareAsyncOpen(context, queue);
  };
  at->calls.insert(&call);
  ++tunnels_;
  v1::TunnelBytes message;
  auto& open = *message.mutable_open();
  auto const& [program, attempt, torch_rank] = at->of;
  open.set_program(program);
  open.set_attempt(attempt);
  if (torch_rank) open.set_torch_rank(*torch_rank);
  open.set_key(key_);
  bool answered = co_await call.start(prepare);
  if (answered) {
    co_await call.write(message);
    answered = co_await call.read(message);
  }
  deadline.cancel();
  if (answered) {
    carried_type carried(call, std::move(socket));
    auto out = send(call, carried);
    auto in = carried.to_socket();
    co_await (std::move(out) && std::move(in));
  }
  auto const status = co_await call.finish();
  at->calls.erase(&call);
  --tunnels_;
  if (answered) co_return;
  log(log_level::debug, "no tunnel to " + server_ + ": " + status.error_message());
  if (channel_ == over) channel_.reset();
}

}  // namespace muster
