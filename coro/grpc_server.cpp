// Starting and stopping. gRPC's Shutdown blocks until the calls are gone and they need the engine's
// thread to go, so a thread of its own waits in it.
#include "coro/grpc_server.hpp"

#include <grpcpp/server_posix.h>

#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <utility>

#include "base/check.hpp"
#include "coro/abuse/cut_connection.hpp"
#include "coro/server_call.hpp"

namespace muster::coro {

namespace {
port_listener_options listener_options(grpc_server_options const& o) {
  auto options = o.listener;
  if (options.user_timeout.count() == 0) options.user_timeout = o.keepalive_timeout;
  return options;
}

void give(grpc::experimental::ExternalConnectionAcceptor& gate, int fd) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
  connection.fd = fd;
  gate.HandleNewConnection(&connection);
}

// Cryptography is work for who comes, and a promise of it holds memory.
constexpr std::chrono::milliseconds handshake_timeout_max{5'000};
}  // namespace

grpc_server::grpc_server(engine_context& engine, grpc::ServerBuilder& builder,
                         grpc_server_options options)
    : engine_(engine),
      builder_(builder),
      options_(std::move(options)),
      listener_(listener_options(options_)),
      shutdown_returned_(engine),
      call_gone_(engine),
      resets_(options_.resets) {}

grpc_server::~grpc_server() {
  check(server_ == nullptr || stopped_, "a server is stopped before it is destroyed");
  check(calls_ == 0, "a server is destroyed after its last call");
}

void grpc_server::add_service(grpc::Service& service) {
  builder_.RegisterService(&service);
}

void grpc_server::add_port(std::string address) {
  ports_.push_back({std::move(address), grpc::InsecureServerCredentials(), wire::plaintext});
}

void grpc_server::add_tls_port(std::string address,
                               std::shared_ptr<grpc::ServerCredentials> credentials) {
  ports_.push_back({std::move(address), std::move(credentials), wire::tls});
}

void grpc_server::add_acceptor(std::unique_ptr<acceptor_base> acceptor) {
  check(server_ == nullptr, "methods are served from the start");
  acceptors_.push_back(std::move(acceptor));
}

start_result grpc_server::start() {
  check(server_ == nullptr, "a server starts once");
  configure();
  start_result result;
  for (auto const& port : ports_) {
    result.ports.push_back(listen(port));
    if (result.ports.back() != 0) continue;
    result.error = "cannot listen on " + port.address;
    return result;
  }
  server_ = builder_.BuildAndStart();
  if (server_ == nullptr) {
    result.error = "cannot start the gRPC server";
    return result;
  }
  for (auto& acceptor : acceptors_) acceptor->post_slots();
  listener_.start();
  // What it posts comes back while this serves, or later and does nothing.
  auto const serving = std::make_shared<grpc_server*>(this);
  watch_ = std::make_unique<reset_watch>(
      engine_, [this, held = std::weak_ptr(serving)](std::string const& peer) {
        engine_.post([held, peer] {
          if (auto const server = held.lock()) (*server)->options_.cut(peer);
        });
      });
  serving_ = serving;
  return result;
}

// Gives the port, 0 when there is none.
int grpc_server::listen(listening_port const& port) {
  auto const colon = std::min(port.address.rfind(':'), port.address.size());
  auto host = port.address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t number = 0;
  auto const* const end = port.address.data() + port.address.size();
  if (colon == port.address.size() ||
      std::from_chars(port.address.data() + colon + 1, end, number).ptr != end)
    return 0;
  using connection_type = grpc::ServerBuilder::experimental_type::ExternalConnectionType;
  std::shared_ptr<gate> const into = builder_.experimental().AddExternalConnectionAcceptor(
      connection_type::FROM_FD, port.credentials);
  if (port.spoken == wire::tls) tls_gate_ = into;
  auto const hand_on = [into, this](accepted_socket accepted) {
    options_.accepted(accepted.socket.get(), accepted.peer, accepted.client);
    give(*into, accepted.socket.release());
  };
  auto const bound = listener_.listen("grpc", host, number, hand_on, port.spoken);
  return bound ? bound->port : 0;
}

void grpc_server::adopt(int fd) {
  check(server_ != nullptr, "a started server adopts connections");
  resets_.forget("fd:" + std::to_string(fd));
  grpc::AddInsecureChannelFromFd(server_.get(), fd);
}

void grpc_server::adopt_tls(int fd) {
  check(server_ != nullptr && tls_gate_ != nullptr, "a started server with TLS adopts connections");
  give(*tls_gate_, fd);
}

task<void> grpc_server::stop(std::chrono::milliseconds grace) {
  check(server_ != nullptr && !stopping_, "a started server is stopped once");
  // A wait that is cut short would leave a thread and calls behind.
  bool const throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  stopping_ = true;
  serving_.reset();
  watch_.reset();
  listener_.stop();
  // Shutdown blocks until the calls are gone, and they need this thread to go.
  shutdown_thread_ = std::thread([this, grace] {
    server_->Shutdown(std::chrono::system_clock::now() + grace);
    engine_.post([this] { shutdown_returned_.set(); });
  });
  bool returned = false;
  while (!returned) returned = co_await shutdown_returned_.wait();
  shutdown_thread_.join();
  while (calls_ != 0) co_await call_gone_.wait();
  stopped_ = true;
  co_await asio::this_coro::throw_if_cancelled(throws);
}

admission grpc_server::admit(server_call_state& call, int needs, std::string const& method) {
  auto a = options_.admit(call.context, needs, method);
  if (a.status.ok() && !a.credential.empty()) {
    call.credential = std::move(a.credential);
    admitted_.insert(&call);
  }
  return a;
}

// Calls go only when gRPC has returned their tags, in later turns.
void grpc_server::end_calls_of(std::string const& credential) {
  for (auto* call : admitted_)
    if (call->credential == credential) call->context.TryCancel();
}

// What ends with the server is nobody's abuse.
void grpc_server::call_reset(std::string const& peer) {
  if (stopping_) return;
  options_.call_was_reset();
  if (!resets_.note(peer, leaky_counts::clock::now())) return;
  auto const who = cut_connection(peer);
  if (who.empty()) return;  // it has gone
  options_.cut(who);
}

void grpc_server::call_destroyed() {
  check(calls_ > 0, "a call is destroyed once");
  --calls_;
  if (stopping_ && calls_ == 0) call_gone_.set();
}

void grpc_server::configure() {
  auto const ms = [](std::chrono::milliseconds span) { return static_cast<int>(span.count()); };
  builder_.SetMaxReceiveMessageSize(options_.request_bytes_max);
  builder_.SetMaxSendMessageSize(options_.response_bytes_max);
  // The rest of a handshake, which begins once the listener has seen its first words.
  builder_.AddChannelArgument(
      GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
      ms(std::min(options_.listener.waiting.speak_timeout, handshake_timeout_max)));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ms(options_.keepalive_time));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(options_.keepalive_timeout));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder_.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder_.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              ms(options_.client_ping_interval_min));
  // A quarter of a kilobyte each for every parked call: answers are not compressed (requests may
  // be), and whoever parks a call looks at its deadline himself; the client's reset ends it anyway.
  builder_.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder_.AddChannelArgument(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 0);
}

}  // namespace muster::coro
