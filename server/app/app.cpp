// Threads: the engine thread owns hub, services and gRPC; the web thread owns HTTP; the main thread
// starts both, waits for a signal and stops them.
//
//   start   listen for HTTP → gRPC port → engine thread → web thread → ready-file
//   stop    web asks no more → parked calls answered → web → gRPC streams → threads joined
//
// Listening comes first because it can fail: then nothing runs yet and nothing has to be undone.
#include "server/app/app.hpp"

#include <grpcpp/server_builder.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <future>
#include <thread>

#include "coro/engine_context.hpp"
#include "coro/grpc_server.hpp"
#include "coro/task_group.hpp"
#include "coro/timer_queue.hpp"
#include "server/app/clock.hpp"
#include "server/app/engine_gateway.hpp"
#include "server/app/logging.hpp"
#include "server/app/process.hpp"
#include "server/app/ready_file.hpp"
#include "server/hub.hpp"
#include "server/rpc/coordinator_service.hpp"
#include "server/rpc/worker_service.hpp"
#include "web/server.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

constexpr auto* version = MUSTER_VERSION;

// What each step of a stop may take; together less than the default --stop-timeout.
constexpr auto http_grace = 2s;
constexpr auto stream_grace = 2s;
constexpr auto grpc_grace = 1s;

class app {
 public:
  explicit app(configuration const& c);

  void start();
  void stop();
  bool failed() const { return failed_; }

 private:
  void bind();
  void announce();
  void run_on_engine(std::function<void()> work);
  coro::task<void> stop_rpc();
  hub_environment environment();
  coro::task_group::error_hook on_task_error();

  configuration const& config_;
  anchored_clock const clock_;
  std::uint64_t const incarnation_ = random_64();
  std::atomic<bool> failed_ = false;

  // engine thread, once it runs
  grpc::ServerBuilder builder_;
  coro::engine_context engine_{builder_.AddCompletionQueue()};
  coro::timer deadline_{engine_};
  coro::task_group stopping_{engine_.get_executor(), 1, on_task_error()};
  hub hub_{config_.core, environment()};
  coro::grpc_server grpc_{engine_, builder_};
  worker_service workers_;
  coordinator_service sessions_;

  // any thread
  gateway gateway_{engine_, hub_};
  web::web_server web_;

  endpoint grpc_bound_, http_bound_;
  std::thread engine_thread_, web_thread_;
};

web::web_options web_options_from(configuration const& c, std::uint64_t boot) {
  web::web_options o;
  o.address = c.http.address;
  o.port = c.http.port;
  o.body_limit_bytes = c.body_limit_bytes;
  o.connections_max = c.connections_max;
  o.websocket_clients_max = c.websocket_clients_max;
  o.allowed_hosts = c.allowed_hosts;
  o.allowed_origins = c.allowed_origins;
  o.dashboard_dir = c.dashboard_dir;
  o.version = version;
  o.boot = boot;
  return o;
}

app::app(configuration const& c)
    : config_(c),
      workers_(hub_, grpc_,
               {.finish_grace = stream_grace,
                .server_incarnation = incarnation_,
                .server_version = version}),
      sessions_(hub_, grpc_,
                {.finish_grace = stream_grace,
                 .server_incarnation = incarnation_,
                 .server_version = version}),
      web_(web_options_from(c, incarnation_), gateway_) {
  grpc_.add_port(to_string(c.grpc));
}

hub_environment app::environment() {
  return {.now = [this] { return clock_.now(); },
          .arm =
              [this](core::time_point at) {
                deadline_.cancel();
                if (at != core::never)
                  deadline_.call_at(clock_.to_steady(at), [this] { hub_.on_deadline(); });
              }};
}

coro::task_group::error_hook app::on_task_error() {
  return [this](std::string_view name, std::exception_ptr error) {
    try {
      std::rethrow_exception(error);
    } catch (std::exception const& e) {
      spdlog::error("a task failed, stopping task={} error=\"{}\"", name, e.what());
    }
    failed_ = true;
    request_stop();
  };
}

void app::bind() {
  auto const http = web_.listen();
  if (!http) throw start_error("--http: " + http.error().message);
  http_bound_ = parse_endpoint(*http).value();
  auto const grpc = grpc_.start();
  if (!grpc) throw start_error("--grpc: " + grpc.error + ": in use, or not of this machine");
  grpc_bound_ = {config_.grpc.address, static_cast<std::uint16_t>(grpc.ports.at(0))};
}

void app::start() {
  bind();
  engine_thread_ = std::thread([this] { engine_.run(); });
  web_thread_ = std::thread([this] { web_.run(); });
  if (config_.ready_file.empty()) return announce();
  if (auto const written = write_ready_file(config_.ready_file, grpc_bound_, http_bound_);
      !written) {
    stop();
    throw start_error(written.error().message);
  }
  announce();
}

void app::announce() {
  spdlog::info("everything is in memory and lost when the server stops");
  spdlog::info("ready version={} grpc={} http={} dashboard=http://{}/", version,
               to_string(grpc_bound_), to_string(http_bound_), to_string(http_bound_));
}

void app::run_on_engine(std::function<void()> work) {
  std::promise<void> done;
  auto finished = done.get_future();
  engine_.post([work = std::move(work), done = std::move(done)]() mutable {
    work();
    done.set_value();
  });
  finished.wait();
}

coro::task<void> app::stop_rpc() {
  co_await workers_.stop();
  co_await sessions_.stop();
  co_await grpc_.stop(grpc_grace);
  engine_.close();
}

void app::stop() {
  stop_watchdog watchdog(config_.stop_timeout);
  watchdog.enter("answering parked calls");
  gateway_.close();
  run_on_engine([this] { hub_.apply(core::stop{}); });

  watchdog.enter("HTTP exchanges");
  web_.stop(http_grace);
  web_thread_.join();

  watchdog.enter("gRPC streams");
  run_on_engine([this] { stopping_.spawn("stop", stop_rpc()); });
  engine_thread_.join();
}

}  // namespace

void serve(configuration const& c) {
  hold_stop_signals();
  logging const log(c.log_level, c.log_format);
  auto const files = raise_file_limit();
  spdlog::debug("open files limit={}", files);

  app a(c);
  a.start();
  auto const signal = wait_for_stop_signal();
  exit_on_next_stop_signal();
  spdlog::info("stopping signal={}", signal);
  a.stop();
  if (a.failed()) throw std::runtime_error("a part of the server failed; the log says which");
  spdlog::info("stopped");
}

}  // namespace muster::server
