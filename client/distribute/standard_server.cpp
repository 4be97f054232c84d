// A task's server: a worker on its own thread, or a placeholder if the server runs elsewhere.
#include "muster/standard_server.hpp"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "client/distribute/inputs.hpp"
#include "client/distribute/serving.hpp"
#include "client/log_line.hpp"
#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"
#include "muster/cluster_rules.hpp"
#include "muster/tf_config.hpp"

namespace muster {
namespace {

class worker_server : public standard_server {
 public:
  worker_server(worker_options o, std::function<void(worker&)> const& functions)
      : name_(o.job + ":" + std::to_string(o.index.value_or(0))), worker_(std::move(o)) {
    if (functions) functions(worker_);
  }
  ~worker_server() override {
    if (!stopped_) stop();
    if (thread_.joinable()) thread_.join();
  }

  void start() override {
    std::lock_guard lock(mutex_);
    if (thread_.joinable()) return;
    thread_ = std::thread([this] {
      int const status = worker_.run();
      std::lock_guard inner(mutex_);
      status_ = status;
      ended_ = true;
      changed_.notify_all();
    });
  }
  void join() override {
    start();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ended_; });
    if (status_ != 0)
      throw std::runtime_error("the server for " + name_ +
                               " has exited; see its log for the reason");
  }
  void stop() noexcept override {  // no lock, because signal handlers call it
    stopped_ = true;
    worker_.stop();
  }

 private:
  std::string const name_;
  worker worker_;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  std::thread thread_;
  bool ended_ = false;
  int status_ = 0;
};

class waiting_server : public standard_server {
 public:
  explicit waiting_server(std::string target) : target_(std::move(target)) {}

  void start() override {
    if (!started_.exchange(true))
      log(log_level::info, "standard server " + target_ +
                               ": the environment is google, so the task's own server is used and "
                               "no server is started");
  }
  void join() override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopped_; });
  }
  void stop() noexcept override {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

 private:
  std::string const target_;
  std::atomic<bool> started_ = false;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  bool stopped_ = false;
};

std::string host_of(std::string const& address) {
  auto const end = address.starts_with('[') ? address.find(']') + 1 : address.rfind(':');
  return address.substr(0, end);
}

std::string server_named(worker_server_options const& o, standard_server_config const& c) {
  if (auto named = distribute::server_of_environment(o.server); !named.empty()) return named;
  throw cluster_error(cluster_error::code::missing,
                      "the server for " + c.task_type + ":" + std::to_string(c.task_id) +
                          " has no Muster server to attach to: set MUSTER_COORDINATOR=host:port");
}

struct kept {
  standard_server_config config;  // contains the whole cluster
  std::shared_ptr<standard_server> server;
};

thread_local std::optional<kept> mine;

char const* difference(standard_server_config const& a, standard_server_config const& b) {
  if (a.cluster != b.cluster) return "cluster";
  if (a.task_type != b.task_type || a.task_id != b.task_id) return "task";
  if (a.session != b.session) return "session configuration";
  if (a.rpc_layer != b.rpc_layer) return "rpc layer";
  if (a.environment != b.environment) return "environment";
  return nullptr;
}

}  // namespace

std::string standard_server_config::target() const {
  return format_master(rpc_layer, cluster.task_address(task_type, task_id));
}

standard_server_factory worker_servers(worker_server_options options) {
  return [o = std::move(options)](
             standard_server_config const& c) -> std::shared_ptr<standard_server> {
    if (c.environment == "google") return std::make_shared<waiting_server>(c.target());
    auto const& address = c.cluster.task_address(c.task_type, c.task_id);
    worker_options w;
    w.servers = {server_named(o, c)};
    w.cluster = o.cluster;
    w.job = c.task_type;
    w.index = static_cast<std::uint32_t>(c.task_id);
    w.slots = o.slots;
    w.host = host_of(address);
    w.labels = {{"address", address}};
    return std::make_shared<worker_server>(std::move(w), o.functions);
  };
}

std::shared_ptr<standard_server> distribute::server_of_this_thread(
    standard_server_config c, standard_server_factory const& make) {
  if (mine) {
    if (auto const* what = difference(mine->config, c))
      throw cluster_error(cluster_error::code::invalid,
                          "this thread already runs the server for " + mine->config.task_type +
                              ":" + std::to_string(mine->config.task_id) + " with another " + what +
                              "; to stop it, call end_standard_server_of_this_thread()");
    return mine->server;
  }
  auto seen = c;
  seen.cluster = split_for_evaluator(c.cluster, c.task_type);
  auto server = make(seen);
  log(log_level::info,
      "starting standard server " + seen.target() + ", configuration " + text_of(seen.session));
  server->start();
  mine = kept{std::move(c), server};
  return server;
}

void end_standard_server_of_this_thread() {
  if (mine) mine->server->stop();
  mine.reset();
}

std::shared_ptr<standard_server> run_standard_server(standard_server_options o) {
  auto const config = tf_config::from(o.environment);
  auto const missing = [](std::string const& line) {
    return cluster_error(cluster_error::code::missing, "TF_CONFIG: " + line);
  };
  if (!config.has_cluster) throw missing("\"cluster\" is missing");
  if (!config.has_task) throw missing("\"task\" is missing");
  if (!config.task_type) throw missing("\"task\" has no member \"type\"");
  bool const chief = config.cluster.has_job("chief");
  if (!chief && !config.cluster.has_job("worker"))
    throw missing("the cluster must have chief or worker jobs");
  auto const index = config.task_index.value_or(0);
  validate_cluster(config.cluster, config.task_type, index);
  auto session = o.session.value_or(session_config());
  session.collective_group_leader =
      chief ? "/job:chief/replica:0/task:0" : "/job:worker/replica:0/task:0";
  return distribute::server_of_this_thread(
      {config.cluster, *config.task_type, index, std::move(session),
       config.rpc_layer.value_or("grpc"), config.environment.value_or("")},
      o.servers);
}

void start_server(cluster_resolver& resolver, std::string const& protocol,
                  standard_server_factory const& servers) {
  auto const type = resolver.task_type().value_or("");
  if (type != "worker" && type != "ps")
    throw cluster_error(cluster_error::code::invalid,
                        "task_type is '" + type + "', but only a worker or a ps starts a server");
  auto const index = resolver.task_id().value_or(0);
  auto const cluster = resolver.cluster_spec();
  auto const layer = protocol.empty() ? resolver.rpc_layer() : protocol;
  auto const server = servers({split_for_evaluator(cluster, type),
                               type,
                               index,
                               {},
                               layer.empty() ? "grpc" : layer,
                               resolver.environment()});
  server->start();
  distribute::serve_until_end(*server);
}

}  // namespace muster
