// A strategy and servers that record calls, and the cluster of the original tests. Sessions use a
// real Muster server instead of TensorFlow servers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "muster/distribute_coordinator.hpp"

namespace muster::test {

struct seen_context {
  std::string master;
  int num_workers = 0;
  bool is_chief = false;
  bool distributed = false;
  bool barrier = false;
  bool init = false, checkpoint = false, summary = false;
  session_config config;
};

/// Worker contexts by task, such as "worker:0"; "" is the whole cluster or a single program. Any
/// thread.
class contexts {
 public:
  void note();
  std::map<std::string, seen_context> all() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, seen_context> all_;
};

struct strategy_traits {
  bool between_graph = false;
  std::optional<bool> init{}, checkpoint{}, summary{};  // unset: only on task 0
};

/// Counts in the configuration how often it was configured.
class test_strategy : public strategy {
 public:
  explicit test_strategy(strategy_traits t) : traits_(t) {}
  std::unique_ptr<strategy> copy() const override { return std::make_unique<test_strategy>(*this); }
  void configure(session_config& config, cluster_spec const* cluster,
                 std::optional<std::string> const& type, std::optional<int> id) override;
  bool between_graph() const override { return traits_.between_graph; }
  bool should_init() const override { return *traits_.init; }
  bool should_checkpoint() const override { return *traits_.checkpoint; }
  bool should_save_summary() const override { return *traits_.summary; }

 private:
  strategy_traits traits_;
};

int configured_for_a_task(session_config const& c);
int configured_without_one(session_config const& c);

struct seen_server {
  standard_server_config config;
  int starts = 0;
  bool joined = false;
};

/// Servers by task, whose join returns at once. Any thread.
class servers {
 public:
  standard_server_factory factory();
  std::map<std::string, seen_server> all() const;

 private:
  class one;
  mutable std::mutex mutex_;
  std::map<std::string, seen_server> all_;
};

cluster_spec three_workers_two_ps(std::map<std::string, cluster_spec::tasks> more = {});
environment_lookup no_environment();

/// Runs each task on its own thread. `run` receives the options of its task.
void run_independent_tasks(cluster_spec const& cluster, distribute_options const& common,
                           std::function<void(distribute_options)> const& run);

}  // namespace muster::test
