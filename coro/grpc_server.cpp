// gRPC's Shutdown blocks until all calls have ended, and calls need the engine thread to end.
// Shutdown therefore runs on its own thread. The queue does not report when Shutdown has returned.
#include "coro/grpc_server.hpp"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "base/check.hpp"
#include "coro/server_call.hpp"

namespace muster::coro {

grpc_server::grpc_server(engine_context& engine, grpc::ServerBuilder& builder,
                         grpc_server_options options)
    : engine_(engine),
      builder_(builder),
      options_(std::move(options)),
      shutdown_returned_(engine),
      call_gone_(engine) {}

grpc_server::~grpc_server() {
  check(server_ == nullptr || stopped_, "a server must be stopped before it is destroyed");
  check(calls_ == 0, "a server must not be destroyed before its last call");
}

void grpc_server::add_service(grpc::Service& service) {
  builder_.RegisterService(&service);
}

void grpc_server::add_acceptor(std::unique_ptr<acceptor_base> acceptor) {
  check(server_ == nullptr, "methods must be added before the server starts");
  acceptors_.push_back(std::move(acceptor));
}

start_result grpc_server::start() {
  check(server_ == nullptr, "a server must be started only once");
  configure();
  server_ = builder_.BuildAndStart();
  if (server_ == nullptr) return {{}, "cannot start the gRPC server"};
  for (auto& acceptor : acceptors_) acceptor->post_slots();
  return {};
}

task<void> grpc_server::stop(std::chrono::milliseconds grace) {
  check(server_ != nullptr && !stopping_,
        "a server must be stopped only once, after it was started");
  // If cancellation interrupted this wait, a thread and calls would remain.
  bool const throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  stopping_ = true;
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

void grpc_server::end_calls_of(std::string const& credential) {
  for (auto* call : admitted_)
    if (call->credential == credential) call->context.TryCancel();
}

// Does not count calls that the server's shutdown ended.
void grpc_server::call_reset(std::string const&) {
  if (!stopping_) options_.call_was_reset();
}

void grpc_server::call_destroyed() {
  check(calls_ > 0, "a call must be destroyed only once");
  --calls_;
  if (stopping_ && calls_ == 0) call_gone_.set();
}

void grpc_server::configure() {
  auto const ms = [](std::chrono::milliseconds span) { return static_cast<int>(span.count()); };
  builder_.SetMaxReceiveMessageSize(options_.request_bytes_max);
  builder_.SetMaxSendMessageSize(options_.response_bytes_max);
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, ms(options_.keepalive_time));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(options_.keepalive_timeout));
  builder_.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder_.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder_.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                              ms(options_.client_ping_interval_min));
  // gRPC would decompress messages before the caller is admitted, each to up to `request_bytes_max`
  // bytes. gRPC therefore leaves gzip messages compressed until handlers decompress them after
  // admission. Other algorithms are rejected with UNIMPLEMENTED. Responses are not compressed,
  // because the compression filter uses 256 bytes per waiting call. The deadline filter uses as
  // much and is not needed: a waiting call has its own timer, and the client's reset ends the call.
  builder_.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder_.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder_.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  builder_.AddChannelArgument(GRPC_ARG_ENABLE_DEADLINE_CHECKS, 0);
}

}  // namespace muster::coro
