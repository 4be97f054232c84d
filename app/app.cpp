// Threads: the engine thread owns the hubs, the services and gRPC. The web thread owns HTTP. The
// main thread starts both, waits for a signal and stops them. Order of the steps:
//
// clang-format off
//   start   resolvers queried → HTTP port → web thread, which answers 503 → leadership (--store) → data directory → clusters
//           → spill directory → history → torch ports → clusters' ports → gRPC port → engine thread → HTTP answers
//           → ready-file
//   stop    HTTP stops querying → parked calls answered, including agents' → journal → web → torch → spilled
//           values → history → gRPC streams → threads joined → leadership given up
// clang-format on
//
// Steps that can fail precede the engine thread, so that after a failure only the web thread must
// be stopped.
#include "app/app.hpp"

#include <spdlog/spdlog.h>

#include "app/access/access.hpp"
#include "app/access/private_directories.hpp"
#include "app/cluster_following.hpp"
#include "app/engine_assembly.hpp"
#include "app/history/history_keeper.hpp"
#include "app/history/read_only.hpp"
#include "app/logging.hpp"
#include "app/perimeter.hpp"
#include "app/process_setup.hpp"
#include "app/ready_file.hpp"
#include "app/service_pulse.hpp"
#include "app/store_assembly.hpp"
#include "app/torch/torch_assembly.hpp"
#include "app/web_assembly.hpp"
#include "app/webhooks/webhook_sender.hpp"
#include "app/wire_assembly.hpp"
#include "base/process/machine/machine_watch.hpp"
#include "base/version.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;

// Limit for HTTP when stopping; see wire_assembly.cpp for gRPC.
constexpr auto http_grace = 2s;

class app {
 public:
  /// @param found Clusters that are already in `c`, by source.
  app(configuration const& c, std::vector<cluster_spec> const& found, net::service_manager& manager)
      : found_(found), perimeter_(c, manager), engine_(c) {}

  /// Returns false if a stop signal arrived before the server was ready.
  bool start();
  void stop();
  engine_assembly& engine() { return engine_; }

 private:
  std::unique_ptr<webhook_sender> make_webhooks();
  void open();
  bool lead();
  void watch_own_machine();

  std::vector<cluster_spec> const& found_;
  perimeter perimeter_;
  engine_assembly engine_;
  store_assembly store_{engine_, perimeter_.manager().holds_sockets()};
  access access_{engine_, store_.data(), [this](std::string const& token) {
                   wire_.end_all_of(token);
                   web_.end_all_of(token);
                 }};
  history_keeper history_{engine_, store_};
  wire_assembly wire_{engine_, perimeter_, store_, access_};
  std::unique_ptr<torch_assembly> torch_ =
      make_torch_assembly(engine_, perimeter_, store_, wire_.tunnels());
  cluster_following following_{engine_, store_.coordination()};
  std::unique_ptr<webhook_sender> webhooks_ = make_webhooks();
  web_assembly web_{engine_, perimeter_, store_,   access_,
                    wire_,   *torch_,    history_, webhooks_.get()};

  endpoint grpc_bound_, http_bound_;
  std::unique_ptr<machine_watch> machines_;
};

std::unique_ptr<webhook_sender> app::make_webhooks() {
  if (engine_.config.webhooks.urls.empty()) return nullptr;
  auto made = std::make_unique<webhook_sender>(
      engine_.config.webhooks, [this](bool works, std::string const& text) {
        using core::coordination::severity;
        log_event said{works ? severity::info : severity::error,
                       works ? "webhook_works" : "webhook_failed",
                       {},
                       {},
                       text};
        engine_.context().post([this, said = std::move(said)] { engine_.add_log_event(said); });
      });
  if (auto const begun = made->start(); !begun.ok()) throw start_error(begun.message);
  return made;
}

void app::open() {
  private_directories const directories(engine_.config);
  store_.begin(std::string(version()));
  access_.begin();
  store_.open_files();
  directories.close_to_others();
  store_.restore_jobs();
  history_.restore();
  if (!engine_.config.is_read_only()) torch_->open();
  grpc_bound_ = wire_.open();  // last step, because a started gRPC server must be stopped
}

bool app::lead() {
  auto const http = web_.start();
  http_bound_ = parse_endpoint(http).value();
  try {
    bool const leads = store_.leadership().wait_to_lead(http, perimeter_.manager());
    if (leads) open();
    if (!leads) web_.stop(0ms);
    return leads;
  } catch (...) {
    web_.stop(0ms);
    store_.leadership().resign();
    throw;
  }
}

void log_ready(configuration const& c, endpoint const& grpc, endpoint const& http) {
  if (c.is_read_only())
    return spdlog::info("ready version={} shows={} dashboard={}://{}/", version(),
                        c.history.shown.string(), c.tls.on() ? "https" : "http", to_string(http));
  spdlog::info(!c.is_durable()
                   ? "all data is in memory and is lost when the server stops"
                   : "clusters with their tasks, keys and barriers survive a restart, as do jobs "
                     "and sessions that hold values, unless submitted with durable: false");
  spdlog::info("ready version={} grpc={} http={} dashboard={}://{}/ tls={}", version(),
               to_string(grpc), to_string(http), c.tls.on() ? "https" : "http", to_string(http),
               c.tls.on() ? "on" : "off");
}

void app::watch_own_machine() {
  machines_ = std::make_unique<machine_watch>([this](machine seen) {
    engine_.context().post([this, seen = std::move(seen)] {
      auto& main = store_.pools().main();
      main.machines().report({}, seen, main.now());
    });
  });
}

bool app::start() {
  if (!lead()) return false;
  store_.watch_blobs();
  history_.begin();
  engine_.start();
  torch_->start();
  if (!engine_.config.is_read_only()) watch_own_machine();
  following_.start(found_);
  web_.gateway().open();
  store_.leadership().serving();
  auto const& c = engine_.config;
  if (!c.life.ready_file.empty())
    if (auto const written =
            write_ready_file(c.life.ready_file, grpc_bound_, http_bound_, c.tls.on());
        !written) {
      stop();
      throw start_error(written.error().message);
    }
  log_ready(c, grpc_bound_, http_bound_);
  perimeter_.manager().ready();
  return true;
}

void app::stop() {
  stop_watchdog watchdog(engine_.config.life.stop_timeout);
  watchdog.enter("resolvers");
  web_.gateway().close();
  following_.stop();
  machines_.reset();

  watchdog.enter("webhooks");
  if (webhooks_) webhooks_->stop();

  watchdog.enter("answering waiting calls");
  engine_.carry_out([this] {
    access_.stop();
    store_.pools().stop();
    store_.coordination().stop();
    wire_.close();
    history_.finish();
  });

  watchdog.enter("the journal");
  store_.finish_journal();

  watchdog.enter("HTTP exchanges");
  web_.stop(http_grace);

  watchdog.enter("TCPStores");
  torch_->stop();

  watchdog.enter("writing values to the disk");
  store_.stop_files();

  watchdog.enter("history");
  history_.stop();

  watchdog.enter("gRPC streams");
  engine_.finish([this] { return wire_.stop(); });

  watchdog.enter("releasing the leadership");
  store_.leadership().resign();
}

// Replaces 0, which means "infinite" in TensorFlow, with the maximum.
void lift_limit_of_queues(core::config& c) {
  if (c.queue_capacity != 0) return;
  c.queue_capacity = c.queue_capacity_max;
  spdlog::warn(
      "job queues are not limited individually max={} why=\"--queue-capacity is 0; queued calls "
      "can exhaust the memory\"",
      c.queue_capacity_max);
}

}  // namespace

void serve(configuration const& c) {
  hold_stop_signals();
  service_pulse pulse;
  auto manager = net::service_manager::from_environment();
  pulse.begin();
  logging const log(c.log.level, c.log.format);
  auto const files = raise_file_limit();
  spdlog::debug("open files limit={}", files);

  auto answers = ask_sources(c.cluster_sources);
  if (answers.stopped_by) return spdlog::info("stopped signal={}", *answers.stopped_by);
  auto resolved = c;
  lift_limit_of_queues(resolved.core);
  if (c.is_read_only() && c.clusters.empty()) resolved.clusters = main_cluster_in(c.history.shown);
  for (auto& spec : answers.declared) resolved.clusters.push_back(std::move(spec));

  app a(resolved, answers.found, manager);
  if (!a.start()) return;
  pulse.follow(a.engine().context());
  auto const signal = wait_for_stop_signal();
  exit_on_next_stop_signal();
  spdlog::info("stopping signal={}", signal);
  pulse.stopping();
  a.stop();
  if (a.engine().failed())
    throw std::runtime_error("a part of the server failed; see the log for details");
  spdlog::info("stopped");
}

}  // namespace muster::server
