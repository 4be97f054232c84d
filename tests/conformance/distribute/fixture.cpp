#include "tests/conformance/distribute/fixture.hpp"

namespace muster::test {
namespace {

int number(session_config const& c, char const* key) {
  auto const* value = c.settings.if_contains(key);
  return value ? static_cast<int>(value->as_int64()) : 0;
}

std::string name_of(std::optional<std::string> const& type, std::optional<int> id) {
  return type ? *type + ":" + std::to_string(id.value_or(0)) : std::string();
}

}  // namespace

void contexts::note() {
  auto const& c = *current_worker_context();
  std::lock_guard lock(mutex_);
  auto const [at, first] = all_.emplace(
      name_of(c.task_type(), c.task_id()),
      seen_context{c.master_target(), c.num_workers(), c.is_chief(), c.distributed_mode(),
                   c.has_barrier(), c.should_init(), c.should_checkpoint(), c.should_save_summary(),
                   c.session_config()});
  EXPECT_TRUE(first) << at->first << " ran twice";
}

std::map<std::string, seen_context> contexts::all() const {
  std::lock_guard lock(mutex_);
  return all_;
}

void test_strategy::configure(session_config& config, cluster_spec const* cluster,
                              std::optional<std::string> const& type, std::optional<int> id) {
  for (auto* flag : {&traits_.init, &traits_.checkpoint, &traits_.summary})
    if (!*flag) *flag = id.value_or(0) == 0;
  bool const for_task = cluster && type && traits_.between_graph;
  auto const key = for_task ? "task" : "alone";
  config.settings[key] = number(config, key) + 1;
  if (for_task)
    config.device_filters = {"/job:" + *type + "/task:" + std::to_string(*id), "/job:ps"};
  else
    config.device_filters = {"/job:somejob"};
}

int configured_for_a_task(session_config const& c) {
  return number(c, "task");
}

int configured_without_one(session_config const& c) {
  return number(c, "alone");
}

class servers::one : public standard_server {
 public:
  one(servers& all, std::string name) : all_(all), name_(std::move(name)) {}
  void start() override {
    std::lock_guard lock(all_.mutex_);
    ++all_.all_[name_].starts;
  }
  void join() override {
    std::lock_guard lock(all_.mutex_);
    all_.all_[name_].joined = true;
  }
  void stop() noexcept override {}

 private:
  servers& all_;
  std::string name_;
};

standard_server_factory servers::factory() {
  return [this](standard_server_config const& c) {
    auto const name = name_of(c.task_type, c.task_id);
    std::lock_guard lock(mutex_);
    EXPECT_TRUE(all_.emplace(name, seen_server{.config = c}).second) << name << " made twice";
    return std::make_shared<one>(*this, name);
  };
}

std::map<std::string, seen_server> servers::all() const {
  std::lock_guard lock(mutex_);
  return all_;
}

cluster_spec three_workers_two_ps(std::map<std::string, cluster_spec::tasks> more) {
  more["worker"] = {{0, "w:1"}, {1, "w:2"}, {2, "w:3"}};
  more["ps"] = {{0, "p:1"}, {1, "p:2"}};
  return cluster_spec(more);
}

environment_lookup no_environment() {
  return [](std::string const&) { return std::nullopt; };
}

void run_independent_tasks(cluster_spec const& cluster, distribute_options const& common,
                           std::function<void(distribute_options)> const& run) {
  std::vector<std::thread> threads;
  for (auto const& [job, tasks] : cluster.by_job())
    for (auto const& [index, address] : tasks) {
      auto o = common;
      o.mode = coordinator_mode::independent_worker;
      o.cluster = cluster;
      o.task_type = job;
      o.task_id = index;
      threads.emplace_back([run, o] { run(o); });
    }
  for (auto& t : threads) t.join();
}

}  // namespace muster::test
