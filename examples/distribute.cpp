// A minimal example of parameter servers: each worker counts, and ps 0 keeps the sum. Every task
// runs this program. On one machine:
//
//   muster serve &
//   echo '{"worker": ["localhost:1", "localhost:2"], "ps": ["localhost:3"]}' > cluster.json
//   muster run --cluster-file cluster.json --server 127.0.0.1:8476 -- example_distribute
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <muster/cluster_rules.hpp>
#include <muster/distribute_coordinator.hpp>
#include <mutex>
#include <optional>

namespace {

constexpr int steps = 100;

// A strategy in which every worker does the same work on its own data.
class parameter_servers : public muster::strategy {
 public:
  std::unique_ptr<strategy> copy() const override {
    return std::make_unique<parameter_servers>(*this);
  }
  void configure(muster::session_config& config, muster::cluster_spec const* cluster,
                 std::optional<std::string> const& type, std::optional<int> id) override {
    first_ = !cluster || !type || muster::is_chief(*cluster, *type, id.value_or(0));
    if (type) config.device_filters = {"/job:ps", "/job:" + *type};
  }
  bool should_init() const override { return first_; }

 private:
  bool first_ = true;
};

// The state of ps 0.
struct ledger {
  std::mutex mutex;  // protects the following
  std::condition_variable changed;
  std::optional<int> sum;
  int finished = 0;

  void init() {
    std::lock_guard lock(mutex);
    sum = 0;
  }
  bool ready() {
    std::lock_guard lock(mutex);
    return sum.has_value();
  }
  void add(int by) {
    std::lock_guard lock(mutex);
    *sum += by;
  }
  void finish() {
    std::lock_guard lock(mutex);
    ++finished;
    changed.notify_all();
  }
  int sum_of(muster::context& context, int workers) {
    std::stop_callback const wake(context.stop_token(), [this] { changed.notify_all(); });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return finished == workers || context.cancelled(); });
    return *sum;
  }
};

muster::standard_server* serving = nullptr;

// Returns a factory of the server that each task runs. Only the server of ps 0 is called. It runs
// two calls at a time, because one can wait for the other.
muster::standard_server_factory servers() {
  auto const own = std::make_shared<ledger>();
  auto const make =
      muster::worker_servers({.slots = 2, .functions = [own](muster::worker& w) {
                                w.function("init", [own] { own->init(); });
                                w.function("ready", [own] { return own->ready(); });
                                w.function("add", [own](int by) { own->add(by); });
                                w.function("finish", [own] { own->finish(); });
                                w.function("sum", [own](muster::context& c, int workers) {
                                  return own->sum_of(c, workers);
                                });
                              }});
  return [make](muster::standard_server_config const& c) {
    auto server = make(c);
    serving = server.get();
    return server;
  };
}

void train() {
  auto& task = *muster::current_worker_context();
  auto const ps = muster::closure_options{.task_job = "ps", .task_index = 0};
  auto const on = [&](muster::worker_session& s) { return s.coordinator().with(ps); };
  auto const session =
      task.make_session_creator(
              {.init = [&](auto& s) { on(s).template submit<void>("init").fetch(); },
               .ready = [&](auto& s) { return on(s).template submit<bool>("ready").fetch(); }})
          .create();
  std::vector<muster::remote_value<void>> added;
  for (int i = 0; i < steps; ++i) added.push_back(on(*session).submit<void>("add", 1));
  for (auto const& one : added) one.fetch();
  on(*session).submit<void>("finish").fetch();
  if (!task.is_chief()) return;
  std::printf("%d workers counted to %d\n", task.num_workers(),
              on(*session).submit<int>("sum", task.num_workers()).fetch());
}

}  // namespace

int main() try {
  std::signal(SIGTERM, [](int) {
    if (serving) serving->stop();
  });
  muster::distribute_options o;
  o.mode = muster::coordinator_mode::independent_worker;
  o.servers = servers();
  muster::run_distribute_coordinator(train, parameter_servers(), std::move(o));
  return 0;
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
