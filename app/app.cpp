// Threads: the engine thread owns hub, services and gRPC; the web thread owns HTTP; the main thread
// starts both, waits for a signal and stops them.
// clang-format off
//   start   resolvers asked → HTTP port → web thread, which answers 503 → leads (--store) → data directory → clusters
//           → spill directory → clusters' ports → gRPC port → engine thread → HTTP answers → ready-file
//   stop    web asks no more → parked calls answered, agents' calls among them → web → spilled values
//           → journal → gRPC streams → threads joined → leads no more
// clang-format on
//
// What can fail comes before the engine thread: then only the web thread has to be undone.
#include "app/app.hpp"

#include <spdlog/spdlog.h>

#include <thread>

#include "base/version.hpp"
#include "coro/timer_queue.hpp"
#include "net/accepting_server.hpp"
#include "net/service_manager.hpp"
#include "app/clock.hpp"
#include "app/closure_hubs.hpp"
#include "app/cluster_following.hpp"
#include "app/access/access.hpp"
#include "app/access/private_directories.hpp"
#include "app/access/tls_material.hpp"
#include "app/durable_coordination.hpp"
#include "app/engine_gateway.hpp"
#include "app/engine_run.hpp"
#include "app/kept_blobs.hpp"
#include "app/logging.hpp"
#include "app/process.hpp"
#include "app/ready_file.hpp"
#include "app/service_options.hpp"
#include "app/service_pulse.hpp"
#include "app/standby.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/spill_store.hpp"
#include "server/rpc/coordination/cluster_ports.hpp"
#include "server/rpc/coordination/service.hpp"
#include "server/rpc/health_service.hpp"
#include "server/rpc/stream_service.hpp"
#include "web/server/server.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

// What each step of a stop may take; together less than the default --stop-timeout.
constexpr auto http_grace = 2s;
constexpr auto stream_grace = 2s;
constexpr auto grpc_grace = 1s;

class app {
 public:
  /// `found`: by source, what is among the clusters of `c` already.
  app(configuration const& c, std::vector<cluster_spec> const& found,
      net::service_manager& manager);

  /// False: told to stop before it served.
  bool start();
  void stop();
  bool failed() const { return run_.failed(); }
  coro::engine_context& engine() { return engine_; }

 private:
  void open_cluster_ports();
  void open_spill_dir();
  bool bind();
  void open();
  void end_web(std::chrono::milliseconds grace);
  coro::task<void> stop_rpc();
  net::accepting_server_options grpc_options();
  coordination_service_options agent_options();
  web::web_options web_options();
  closure_hubs::environment surroundings_of_hubs();
  stream_options streams();
  void tell(notice const& n);
  void end_all_of(std::string const& token);

  configuration const& config_;
  std::vector<cluster_spec> const& found_;
  net::service_manager& manager_;
  anchored_clock const clock_;
  std::uint64_t const incarnation_ = random_64();
  descriptor_shortage shortage_{file_limit()};
  tls_material const tls_{config_.tls};  // has a thread of its own

  // engine thread, once it runs
  engine_run run_;  // has the thread
  coro::engine_context& engine_ = run_.context();
  event_log events_;
  coro::task_group stopping_{engine_.get_executor(), 1, run_.on_task_error()};
  spill_store spill_;                           // has a thread of its own
  kept_blobs blobs_{config_, engine_, clock_};  // has a thread of its own
  standby turn_{config_};
  durable_coordination durable_{config_, manager_.holds_sockets(),
                                turn_,   engine_,
                                clock_,  [this](notice const& n) { tell(n); }};
  coordination_hub& coordination_ = durable_.hub();
  access access_{config_,
                 engine_,
                 clock_,
                 durable_,
                 [this](notice const& n) { tell(n); },
                 [this](std::string const& token) { end_all_of(token); }};
  agent_connections connections_{engine_, coordination_};
  closure_hubs hubs_;
  net::accepting_server grpc_{engine_, run_.builder(), grpc_options()};
  cluster_ports ports_;
  std::unique_ptr<stream_service> const workers_, sessions_, blob_calls_;
  std::unique_ptr<coordination_service> const agents_;
  std::unique_ptr<health_service> health_;
  std::unique_ptr<stream_service> reflection_;
  cluster_following following_;

  // any thread
  gateway gateway_{
      engine_,
      {hubs_.pools(), coordination_, events_, ports_, blobs_.store(), &access_.keeper()},
      [this] { turn_.check(); }};
  web::web_server web_;

  endpoint grpc_bound_, http_bound_;
  std::thread web_thread_;
};

net::accepting_server_options app::grpc_options() {
  auto o = grpc_options_from(config_);
  o.listener.out_of_descriptors = [this] { shortage_.noticed(); };
  o.listener.manager = &manager_;
  access_.guard(o, ports_);
  o.accepted = [this](int socket, std::string const& peer, std::string const& client) {
    connections_.accepted(socket, peer);
    ports_.accepted_on_main(socket, peer, client);
  };
  return o;
}

coordination_service_options app::agent_options() {
  return {.admit = [this](auto const& context, auto const& cluster, bool again) {
    return access_.admit_agent(context, ports_, cluster, again);
  }};
}

web::web_options app::web_options() {
  auto o = web_options_from(config_);
  o.manager = &manager_;
  o.tls = tls_.files();
  o.out_of_descriptors = [this] { shortage_.noticed(); };
  o.waiting = [this] { return turn_.waiting(); };
  o.grpc_connections = [this] { return grpc_.listener().counts(); };
  o.boot = incarnation_;
  o.gate = &access_.gate();
  return o;
}

stream_options app::streams() {
  stream_options o;
  o.finish_grace = stream_grace;
  o.server_incarnation = [this] {
    auto const stored = durable_.data().identity();
    return stored ? stored : incarnation_;
  };
  o.server_version = version();
  o.blobs = &blobs_.store();
  o.gate = &access_.gate();
  o.main_cluster = main_cluster_of(config_);
  o.cluster_of_port = [this](auto const& context) { return ports_.pool_of(context); };
  return o;
}

app::app(configuration const& c, std::vector<cluster_spec> const& found,
         net::service_manager& manager)
    : config_(c),
      found_(found),
      manager_(manager),
      hubs_(c, engine_, clock_, coordination_, surroundings_of_hubs()),
      ports_(coordination_, grpc_, ports_options_from(c, connections_)),
      workers_(serve_workers(hubs_.pools(), grpc_, streams())),
      sessions_(serve_sessions(hubs_.pools(), grpc_, streams())),
      blob_calls_(serve_blobs(blobs_.store(), grpc_)),
      agents_(serve_coordination(coordination_, ports_, connections_, grpc_, agent_options())),
      health_(serve_health(grpc_, {.services = service_names()})),
      reflection_(serve_reflection(grpc_, service_names({"grpc.health.v1.Health"}))),
      following_(c.cluster_sources, coordination_,
                 {.post = [this](std::function<void()> work) { engine_.post(std::move(work)); },
                  .tell = [this](notice const& n) { tell(n); }}),
      web_(web_options(), gateway_, proxy_rules_from(c)) {
  listen_for_grpc(grpc_, c, tls_);
}

closure_hubs::environment app::surroundings_of_hubs() {
  return {
      .tell = [this](notice const& n) { events_.add(clock_.now(), n); },
      .remark = [this](notice const& n) { tell(n); },
      .move_values = [this](std::vector<core::value_move> moves) { spill_.ask(std::move(moves)); },
      .data = config_.is_durable() ? &durable_.data() : nullptr,
      .check = [this] { turn_.check(); },
      .keep_blob = [this](core::closure_id closure,
                          std::string const& hash) { blobs_.store().name(closure, hash); }};
}

void app::tell(notice const& n) {
  log(n);
  events_.add(clock_.now(), n);
}

void app::end_all_of(std::string const& token) {
  grpc_.end_calls_of(token);
  agents_->judge_calls_of(token);
  web_.end_all_of(token);
}

void app::open_cluster_ports() {
  for (auto const cluster : coordination_.state().ids()) {
    auto const address = ports_.open(cluster);
    if (!address) throw start_error("--cluster-ports: " + address.error().message);
  }
}

void app::open_spill_dir() {
  if (config_.spill_dir.empty()) return;
  auto const opened = spill_.start(config_.spill_dir, [this](core::values_moved moved) {
    engine_.post(
        [this, moved = std::move(moved)]() mutable { hubs_.pools().moved(std::move(moved)); });
  });
  if (!opened.ok()) throw start_error("--spill-dir " + opened.message);
}

void app::open() {
  private_directories const directories(config_);
  durable_.begin(std::string(version()));
  access_.begin();
  open_spill_dir();
  blobs_.open();
  directories.close_to_others();
  if (config_.is_durable()) hubs_.restore();
  open_cluster_ports();
  auto const grpc = grpc_.start();
  if (!grpc) throw start_error("--grpc: " + grpc.error + ": in use, or not of this machine");
  grpc_bound_ = {config_.grpc.address, static_cast<std::uint16_t>(grpc.ports.at(0))};
  ports_.set_main_address(to_string(grpc_bound_));
  manager_.drop_rest();
  health_->set_serving(true);
  log_clusters(coordination_, ports_);
}

void app::end_web(std::chrono::milliseconds grace) {
  web_.stop(grace);
  web_thread_.join();
}

bool app::bind() {
  auto const http = web_.listen();
  if (!http) throw start_error("--http: " + http.error().message);
  http_bound_ = parse_endpoint(*http).value();
  web_thread_ = named_thread("web", [this] { web_.run(); });
  try {
    bool const leads = turn_.wait_to_lead(*http, manager_);
    if (leads) open();
    if (!leads) end_web(0ms);
    return leads;
  } catch (...) {
    end_web(0ms);
    turn_.resign();
    throw;
  }
}

bool app::start() {
  if (!bind()) return false;
  blobs_.look(hubs_.pools());
  run_.start();
  following_.start(found_);
  gateway_.open();
  turn_.serving();
  if (!config_.ready_file.empty())
    if (auto const written =
            write_ready_file(config_.ready_file, grpc_bound_, http_bound_, config_.tls.on());
        !written) {
      stop();
      throw start_error(written.error().message);
    }
  log_ready(config_, grpc_bound_, http_bound_);
  manager_.ready();
  return true;
}

coro::task<void> app::stop_rpc() {
  co_await workers_->stop();
  co_await sessions_->stop();
  co_await blob_calls_->stop();
  co_await reflection_->stop();
  co_await health_->stop();
  co_await grpc_.stop(grpc_grace);
  engine_.close();
}

void app::stop() {
  stop_watchdog watchdog(config_.stop_timeout);
  watchdog.enter("resolvers");
  gateway_.close();
  following_.stop();

  watchdog.enter("answering parked calls");
  run_.carry_out([this] {
    health_->set_serving(false);
    access_.stop();
    hubs_.pools().stop();
    coordination_.stop();
    ports_.stop();
  });

  watchdog.enter("the journal");
  durable_.finish([this](std::function<void()> work) { run_.carry_out(std::move(work)); });

  watchdog.enter("HTTP exchanges");
  end_web(http_grace);

  watchdog.enter("values on their way to the disk");
  spill_.stop();
  blobs_.stop();

  watchdog.enter("gRPC streams");
  run_.carry_out([this] { stopping_.spawn("stop", stop_rpc()); });
  run_.join();

  watchdog.enter("giving up the lead");
  turn_.resign();
}

// 0 is TensorFlow's "infinite", which is as much as there is.
void lift_limit_of_queues(core::config& c) {
  if (c.queue_capacity != 0) return;
  c.queue_capacity = c.queue_capacity_max;
  spdlog::warn(
      "queues without a limit of their own max={} why=\"--queue-capacity 0; what waits takes "
      "memory, "
      "in the end all there is\"",
      c.queue_capacity_max);
}

}  // namespace

void serve(configuration const& c) {
  hold_stop_signals();
  service_pulse pulse;
  auto manager = net::service_manager::from_environment();
  pulse.begin();
  logging const log(c.log_level, c.log_format);
  auto const files = raise_file_limit();
  spdlog::debug("open files limit={}", files);

  auto answers = ask_sources(c.cluster_sources);
  if (answers.stopped_by) return spdlog::info("stopped signal={}", *answers.stopped_by);
  auto resolved = c;
  lift_limit_of_queues(resolved.core);
  for (auto& spec : answers.declared) resolved.clusters.push_back(std::move(spec));

  app a(resolved, answers.found, manager);
  if (!a.start()) return;
  pulse.follow(a.engine());
  auto const signal = wait_for_stop_signal();
  exit_on_next_stop_signal();
  spdlog::info("stopping signal={}", signal);
  pulse.stopping();
  a.stop();
  if (a.failed()) throw std::runtime_error("a part of the server failed; the log says which");
  spdlog::info("stopped");
}

}  // namespace muster::server
