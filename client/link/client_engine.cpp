#include "client/link/client_engine.hpp"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "base/bounded_file.hpp"
#include "base/check.hpp"
#include "client/link/server_list.hpp"
#include "client/log_line.hpp"
#include "coro/timer_queue.hpp"

namespace muster {
namespace {

constexpr std::size_t tasks_max = 65'536;
constexpr int message_bytes_max = 128 << 20;

std::string setting(char const* name) {
  auto const* text = std::getenv(name);
  return text ? text : "";
}

std::optional<std::string> contents(std::string const& path) {
  if (path.empty()) return std::string();
  auto text = read_bounded_file(path);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

/// Returns MUSTER_TOKEN, or else the first line of the file MUSTER_TOKEN_FILE. If the file is
/// invalid, logs an error and returns an empty string.
std::string token_of_environment() {
  auto token = setting("MUSTER_TOKEN");
  auto const path = setting("MUSTER_TOKEN_FILE");
  if (!token.empty() || path.empty()) return token;
  auto const line = first_line_of(path);
  if (!line) log(log_level::error, "MUSTER_TOKEN_FILE " + path + ": " + line.error().message);
  return line ? *line : token;
}

std::shared_ptr<grpc::ChannelCredentials> credentials(tls_options const& tls) {
  if (!tls.on()) return grpc::InsecureChannelCredentials();
  // The string "unreadable" is not a certificate, so every server is rejected. An empty string
  // would select the system's CA certificates.
  grpc::SslCredentialsOptions o;
  o.pem_root_certs = contents(tls.ca).value_or("unreadable");
  o.pem_private_key = contents(tls.key).value_or("");
  o.pem_cert_chain = contents(tls.certificate).value_or("");
  return grpc::SslCredentials(o);
}

coro::task<void> after(coro::engine_context& engine, std::chrono::milliseconds pause,
                       std::function<void()> f) {
  coro::timer timer(engine);
  if (co_await timer.wait_for(pause)) f();
}

}  // namespace

void call_later(std::weak_ptr<client_engine> const& engine, std::chrono::milliseconds pause,
                std::function<void()> f) {
  if (auto const on = engine.lock())
    on->tasks().spawn("later", after(on->context(), pause, std::move(f)));
}

tls_options tls_options::from_environment() {
  return {setting("MUSTER_CA"), setting("MUSTER_CERT"), setting("MUSTER_KEY")};
}

tls_options const& checked_tls(tls_options const& tls) {
  if (tls.certificate.empty() != tls.key.empty())
    throw std::invalid_argument("tls: a client needs both a certificate and its key");
  for (auto const& [what, path] :
       {std::pair{"ca", &tls.ca}, {"certificate", &tls.certificate}, {"key", &tls.key}}) {
    if (path->empty()) continue;
    auto const text = read_bounded_file(*path);
    if (text && text->find("-----BEGIN ") != std::string::npos) continue;
    throw std::invalid_argument(std::string("tls: ") + what + " " + *path + ": " +
                                (text ? "is not in PEM form" : text.error().message));
  }
  return tls;
}

std::shared_ptr<client_engine> client_engine::shared() {
  static std::mutex mutex;
  static std::weak_ptr<client_engine> living;
  std::lock_guard lock(mutex);
  auto engine = living.lock();
  if (!engine) {
    engine.reset(new client_engine);
    living = engine;
  }
  return engine;
}

client_engine::client_engine()
    : context_(std::make_unique<grpc::CompletionQueue>()),
      tasks_(context_.get_executor(), tasks_max,
             [](std::string_view, std::exception_ptr error) { std::rethrow_exception(error); }),
      thread_([this] { context_.run(); }) {}

client_engine::~client_engine() {
  check(!context_.running_in_this_thread(), "the engine cannot be stopped from its own thread");
  context_.close();
  thread_.join();
}

// Disables shared subchannels, so that each attempt creates a connection and the library determines
// the pauses. Disables proxies, because internal cluster traffic must not pass through a proxy.
std::shared_ptr<grpc::Channel> make_channel(std::string const& servers, tls_options const& tls) {
  grpc::ChannelArguments args;
  args.SetMaxReceiveMessageSize(message_bytes_max);
  args.SetMaxSendMessageSize(message_bytes_max);
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(chosen_server(servers), credentials(tls), args);
}

void add_token(grpc::ClientContext& context, std::string const& token) {
  if (!token.empty()) return context.AddMetadata("authorization", "Bearer " + token);
  static std::string const of_environment = token_of_environment();  // read only if needed
  if (!of_environment.empty()) context.AddMetadata("authorization", "Bearer " + of_environment);
}

}  // namespace muster
