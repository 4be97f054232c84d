// How long is a closure's round trip without other load, compared with a plain gRPC unary call?
//
// Both alternate every quarter of a second, so that they run under the same conditions. The plain
// call is a synchronous stub with a synchronous echo service in a separate process.
#include <algorithm>
#include <condition_variable>
#include <memory>
#include <muster/session.hpp>
#include <mutex>

#include "bench/cluster.hpp"
#include "bench/echo.hpp"
#include "bench/options.hpp"

namespace muster::bench {

namespace {

using clock = std::chrono::steady_clock;
using samples = std::vector<double>;

double quantile(samples& all, double q) {
  if (all.empty()) return 0;
  auto const at = static_cast<std::size_t>(q * static_cast<double>(all.size() - 1));
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(at), all.end());
  return all[at];
}

double microseconds(clock::duration d) {
  return std::chrono::duration<double, std::micro>(d).count();
}

/// Keeps one closure in flight. The end of each starts the next.
class ping {
 public:
  ping(session_options with, std::string const& function)
      : session_(std::move(with), [this](outcome const&) { back(); }) {
    session_.wait_open();
    function_ = session_.function(function);
  }
  void run(clock::duration span, samples& into) {
    std::unique_lock lock(mutex_);
    into_ = &into;
    end_ = clock::now() + span;
    running_ = true;
    send();
    done_.wait(lock, [this] { return !running_; });
  }

 private:
  void send() {
    sent_ = clock::now();
    session_.schedule(function_, {"[]", encoding::json}, 1);
  }
  void back() {
    auto const now = clock::now();
    std::lock_guard lock(mutex_);
    into_->push_back(microseconds(now - sent_));
    if (now < end_) return send();
    running_ = false;
    done_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable done_;
  samples* into_ = nullptr;
  clock::time_point end_{}, sent_{};
  bool running_ = false;
  function_number function_{};
  session session_;
};

}  // namespace

void latency(options const& o, report& r) {
  auto const workers = o.workers.empty() ? 1 : o.workers.front();
  auto const credits = o.credits.empty() ? 16 : o.credits.front();
  auto const c = o.server.empty()
                     ? std::make_unique<cluster>(workers, credits, 1, std::vector<std::string>(),
                                                 cluster_access{o.tls, o.auth})
                     : existing_cluster(o, workers, credits);
  echo_process echo;
  ping closure(c->session("bench latency"), o.function);
  samples warm, closures, unary;
  auto const turn = std::chrono::milliseconds(250);
  closure.run(turn, warm);
  echo.run(turn, warm);
  auto const end = clock::now() + std::chrono::duration<double>(o.seconds);
  while (clock::now() < end) {
    closure.run(turn, closures);
    echo.run(turn, unary);
  }
  auto const p50 = quantile(closures, 0.5);
  auto const unary_p50 = quantile(unary, 0.5);
  r.add({{"bench", "latency"},
         {"function", o.function},
         {"tls", o.tls || o.files.on()},
         {"p50_us", p50},
         {"p99_us", quantile(closures, 0.99)},
         {"grpc_unary_p50_us", unary_p50},
         {"grpc_unary_p99_us", quantile(unary, 0.99)},
         {"ratio_p50", unary_p50 > 0 ? p50 / unary_p50 : 0},
         {"round_trips", closures.size()}});
}

}  // namespace muster::bench
