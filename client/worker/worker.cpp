#include "muster/worker.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <cerrno>
#include <map>
#include <optional>
#include <random>
#include <semaphore>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "base/backoff.hpp"
#include "base/process/machine/machine_watch.hpp"
#include "base/utf8.hpp"
#include "client/checks.hpp"
#include "client/link/client_engine.hpp"
#include "client/link/server_list.hpp"
#include "client/log_line.hpp"
#include "client/worker/idle_watch.hpp"
#include "client/worker/own_stacks.hpp"
#include "client/worker/worker_stream.hpp"

namespace muster {
namespace {

// Jittered, so that not all workers of a restarted server reconnect at the same time.
constexpr std::chrono::milliseconds quick_pause{4};

constexpr std::chrono::milliseconds rank_poll_interval{50};

std::uint64_t random_incarnation() {
  std::random_device device;
  std::uniform_int_distribution<std::uint64_t> any(1);
  return any(device);
}

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

v1::Hello make_hello(worker_options const& o) {
  v1::Hello h;
  h.set_cluster(to_utf8(o.cluster));
  h.set_job(to_utf8(o.job));
  if (o.index) h.set_index(*o.index);
  h.set_incarnation(random_incarnation());
  h.set_slots(o.slots);
  h.set_credits(o.credits);
  for (auto const& [key, text] : o.labels) (*h.mutable_label())[to_utf8(key)] = to_utf8(text);
  for (auto const& [name, amount] : o.resources) (*h.mutable_resource())[to_utf8(name)] = amount;
  h.set_host(to_utf8(o.host.empty() ? host_name() : o.host));
  h.set_version(to_utf8(o.version));
  h.set_pid(static_cast<std::uint32_t>(getpid()));
  return h;
}

worker_options checked(worker_options o) {
  if (!o.server.empty()) o.servers = split_servers(o.server);
  if (o.servers.empty())
    throw std::invalid_argument(
        "worker_options.servers: empty; pass the address of at least one server");
  for (auto const& server : o.servers) try {
      check_server_address(server);
    } catch (std::invalid_argument const& e) {
      throw std::invalid_argument(std::string("worker_options.servers: ") + e.what());
    }
  checked_tls(o.tls);
  if (o.slots == 0) throw std::invalid_argument("worker_options.slots: 0, must be at least 1");
  if (o.credits == 0) o.credits = std::max(2 * o.slots, 16u);
  if (o.credits < o.slots)
    throw std::invalid_argument("worker_options.credits: " + std::to_string(o.credits) +
                                ", must be at least the number of slots, " +
                                std::to_string(o.slots));
  return o;
}

}  // namespace

// Created, filled and run by the user's thread; the reconnect loop runs on the engine thread.
class worker::runtime {
 public:
  explicit runtime(worker_options options)
      : options_(checked(std::move(options))),
        hello_(make_hello(options_)),
        wake_fd_(eventfd(0, EFD_CLOEXEC)),
        reports_([this] {
          engine_->context().post([this] {
            if (current_) current_->take_reports();
          });
        }),
        backoff_(options_.backoff_min, options_.backoff_max, hello_.incarnation()),
        quick_(quick_pause, quick_pause, hello_.incarnation()) {
    if (wake_fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  ~runtime() { close(wake_fd_); }
  runtime(runtime const&) = delete;

  void add(registered_function f) {
    check_function_name(f.name);
    for (auto const& other : functions_)
      if (other.name == f.name)
        throw std::invalid_argument("a function named '" + f.name + "' already exists");
    hello_.add_function(f.name);
    functions_.push_back(std::move(f));
  }

  void add(detail::class_entry c) { objects_->add(std::move(c)); }

  void take_programs(std::unique_ptr<rank_side> ranks) { ranks_ = std::move(ranks); }

  int run() {
    engine_ = client_engine::shared();
    auto& engine = engine_->context();
    if (ranks_)
      ranks_->begin(engine, [this] {
        if (current_) current_->wake();
      });
    begin_objects();
    auto const wake_engine = [this, &engine] { engine.post([this] { take_finished(); }); };
    threads_ = std::make_unique<executor>(options_.slots, wake_engine, reports_, objects_->calls());
    stacks_ = std::make_unique<own_stacks>([this, &engine](v1::TaskStack stack) {
      engine.post([this, stack = std::move(stack)]() mutable {
        stacks_->taken();
        if (current_) current_->take(std::move(stack));
      });
    });
    engine.post([this] { engine_->tasks().spawn("worker", run_streams()); });
    auto machines = std::make_unique<machine_watch>([this, &engine](machine seen) {
      engine.post([this, seen = std::move(seen)] {
        if (current_) current_->take(seen);
      });
    });
    while (!done_) {
      std::uint64_t wakes = 0;  // no deadline, because a worker runs until it is stopped
      if (read(wake_fd_, &wakes, sizeof wakes) < 0 && errno != EINTR) break;
      if (!done_) engine.post([this] { apply_stops(); });
    }
    machines.reset();
    stacks_->end();
    objects_->end();  // objects end first, because functions can wait for objects
    threads_->stop();
    if (ranks_) ranks_->end();
    // Waits for handlers that have already been posted.
    std::binary_semaphore swept(0);
    engine.post([this, &swept] {
      objects_.reset();
      swept.release();
    });
    swept.acquire();
    engine_.reset();
    return exit_status_;
  }

  void stop() noexcept {
    stops_.fetch_add(1);
    wake_caller();
  }

 private:
  void wake_caller() noexcept {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const written = write(wake_fd_, &one, sizeof one);
  }

  // Handles can outlive the worker and wake it, so the callbacks check that the worker exists.
  void begin_objects() {
    hello_.set_objects(true);  // also needed without classes, because functions can call objects
    std::weak_ptr<client_engine> const engine = engine_;
    std::weak_ptr<hosted_objects> const there = objects_;
    auto const wake = [this, engine, there] {
      auto const to = engine.lock();
      if (!to) return;
      to->context().post([this, there] {
        if (!there.expired() && current_) current_->wake();
      });
    };
    objects_->begin(wake, [engine, there](std::chrono::milliseconds pause) {
      call_later(engine, pause, [there] {
        if (auto const o = there.lock()) o->calls()->repeat();
      });
    });
  }

  void apply_stops() {
    auto const stops = stops_.load();
    if (stops == 0) return;
    if (pause_) pause_->cancel();
    if (!current_) return;
    if (stops == 1)
      current_->leave();
    else
      current_->abandon();
  }

  coro::task<void> run_streams() {
    co_await boost::asio::this_coro::throw_if_cancelled(false);
    std::size_t n = 0, in_vain = 0;
    coro::timer void_timer(engine_->context());
    void_timer_ = &void_timer;
    std::optional<idle_watch> idle;
    if (options_.idle_timeout > std::chrono::milliseconds(0))
      idle.emplace(
          engine_->context(), options_.idle_timeout, [this] { return was_busy(); },
          [this] { leave_idle(); });
    while (stops_ == 0) {
      auto const& server = options_.servers[n % options_.servers.size()];
      worker_stream::resources const mine{
          *engine_,   *threads_, held_,
          reports_,   options_,  hello_,
          functions_, values_,   [this](std::uint64_t query) { stacks_->take(query); }};
      worker_stream stream(mine, server, *objects_, ranks_.get());
      current_ = &stream;
      received_ = 0;
      auto const end = co_await stream.run();
      current_ = nullptr;
      if (!comes_back(end, server)) break;
      // If the worker holds closures of this server, reconnects to the server after a short delay.
      bool const hurry = hold(end);
      if (!hurry) ++n;
      in_vain = end.welcomed ? 0 : in_vain + 1;
      // Pauses once per round of servers, because one server may just have become the leader.
      if (in_vain % options_.servers.size() != 0) continue;
      coro::timer pause(engine_->context());
      pause_ = &pause;
      co_await pause.wait_for(hurry ? quick_.next() : backoff_.next());
      pause_ = nullptr;
    }
    held_.drop_all();
    // A worker that leaves normally has no ranks left.
    coro::timer look(engine_->context());
    auto const until = std::chrono::steady_clock::now() + time_of_ranks();
    while (ranks_ && ranks_->alive() && stops_ == 1 && std::chrono::steady_clock::now() < until)
      co_await look.wait_for(rank_poll_interval);
    done_ = true;
    wake_caller();
  }

  /// Stops running ranks if the worker was asked to leave, even without a server. Returns the
  /// maximum time until the ranks have exited.
  std::chrono::milliseconds time_of_ranks() {
    bool const stops = ranks_ && ranks_->alive() && stops_ == 1;
    return stops ? ranks_->leave() : std::chrono::milliseconds(0);
  }

  // Returns whether there is work, or has been since the last call. Quick functions are visible
  // only in the count.
  bool was_busy() {
    auto const before = std::exchange(received_, current_ ? current_->received() : 0);
    return received_ != before || !held_.empty() || (ranks_ && ranks_->alive()) ||
           objects_->holds_any();
  }

  void leave_idle() {
    log(log_level::info,
        "no work for " + std::to_string(options_.idle_timeout.count()) + " ms; leaving");
    stop();
  }

  // Logs each reason once, then once per minute, because a worker retries every few seconds.
  void log_unreachable(std::string const& server, std::string const& grpc_text) {
    auto const reason = unreached_reason(grpc_text);
    constexpr auto again = std::chrono::minutes(1);
    auto const now = std::chrono::steady_clock::now();
    auto& u = unreached_[server];
    ++u.tries;
    if (u.reason == reason && now - u.told < again) return;
    u.reason = reason;
    u.told = now;
    auto line = "no connection to " + server + ": " + reason;
    if (u.tries > 1) line += " (" + std::to_string(u.tries) + " tries)";
    log(log_level::warning, line);
  }

  bool comes_back(stream_end const& end, std::string const& server) {
    if (end.left) {
      log(log_level::info, "left " + server);
      return false;
    }
    was_attached_ |= end.welcomed;
    if (end.final || (end.no_cluster && !was_attached_ && !options_.wait_for_cluster)) {
      log(log_level::error, server + " refuses this worker: " + end.reason);
      exit_status_ = 1;
      return false;
    }
    if (stops_ > 0) return false;
    if (end.welcomed) {
      unreached_.erase(server);
      log(log_level::warning, "lost the connection to " + server + ": " + end.reason);
    } else {
      log_unreachable(server, end.reason);
    }
    if (end.welcomed && end.attached_for >= options_.backoff_reset_after) backoff_.reset();
    return true;
  }

  // Holds running closures until the server no longer needs them. Returns whether to reconnect to
  // the same server after a short delay.
  bool hold(stream_end const& end) {
    if (end.hold == std::chrono::milliseconds(0) && end.welcomed) held_.drop_all();
    if (end.welcomed) void_at_ = std::chrono::steady_clock::now() + end.hold;
    // During a reconnect the offer is kept; the end of that stream calls hold() again.
    void_timer_->call_at(void_at_, [this] {
      if (!current_) drop_void();
    });
    drop_void();
    return end.welcomed && !held_.empty() && end.attached_for >= options_.backoff_min;
  }

  void drop_void() {
    if (held_.empty() || std::chrono::steady_clock::now() < void_at_) return;
    log(log_level::warning, "closures dropped, because the server was unreachable for too long: " +
                                std::to_string(held_.size()));
    held_.drop_all();
  }

  void take_finished() {
    threads_->take_finished(finished_);
    for (auto& j : finished_) {
      if (!held_.holds(*j)) continue;
      j->finished = true;  // without a stream, the result is kept for the next stream
      if (current_) current_->take(*j);
    }
    finished_.clear();
  }

  worker_options options_;
  v1::Hello hello_;
  std::vector<registered_function> functions_;
  per_worker_store values_;  // outlives streams and threads
  int wake_fd_ = -1;         // eventfd that run() waits for

  std::unique_ptr<rank_side> ranks_;  // null if the worker runs no programs
  std::shared_ptr<hosted_objects> objects_ = std::make_shared<hosted_objects>();

  // Thread-safe.
  report_buffer reports_;
  std::atomic<int> stops_ = 0;
  std::atomic<bool> done_ = false;

  // Used only on the engine thread while run() is running.
  std::shared_ptr<client_engine> engine_;
  std::unique_ptr<executor> threads_;
  std::unique_ptr<own_stacks> stacks_;
  std::vector<std::shared_ptr<job>> finished_;
  held_closures held_;
  worker_stream* current_ = nullptr;
  std::uint64_t received_ = 0;  // number received on the current stream at the last check
  coro::timer* pause_ = nullptr;
  coro::timer* void_timer_ = nullptr;
  // Time at which the worker drops the closures that it holds if there is no stream.
  std::chrono::steady_clock::time_point void_at_{};
  /// Servers that did not accept this worker at its last attempt.
  struct unreached {
    unsigned tries = 0;
    std::string reason;
    std::chrono::steady_clock::time_point told{};
  };
  std::map<std::string, unreached> unreached_;
  backoff backoff_;
  backoff quick_;  // delay of the first retry after a connection broke while closures were running
  bool was_attached_ = false;
  int exit_status_ = 0;
};

worker::worker(worker_options options) : runtime_(std::make_unique<runtime>(std::move(options))) {}

worker::~worker() = default;

void worker::add(std::string name, muster::raw_function f, bool quick, bool typed) {
  runtime_->add({std::move(name), std::move(f), quick, typed});
}

void worker::add(detail::class_entry c) {
  runtime_->add(std::move(c));
}

void worker::take_programs(std::unique_ptr<rank_side> ranks) {
  runtime_->take_programs(std::move(ranks));
}

int worker::run() {
  return runtime_->run();
}

void worker::stop() noexcept {
  runtime_->stop();
}

}  // namespace muster
