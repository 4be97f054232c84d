// Client of calls in C++: submits calls until SIGTERM, and writes the same history as
// clients/coordinator.py.
//
//   robustness_calls --server HOST:PORT[,…] --effects FILE --history FILE --name NAME --seed N
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <map>
#include <muster/cluster_coordinator.hpp>
#include <random>
#include <string>
#include <thread>

namespace {

namespace json = boost::json;
using namespace std::chrono_literals;

volatile std::sig_atomic_t stopping = 0;

constexpr std::size_t in_flight_max = 20;
constexpr std::chrono::milliseconds call_timeout = 90s;  // as CALL_TIMEOUT of the clients in Python

/// Returns CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
std::int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch() / 1ns;
}

/// Appends records to a file. Each is written at once, so a killed client loses no record.
class recorder {
 public:
  explicit recorder(std::string const& path)
      : file_(open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {}

  bool is_open() const { return file_ >= 0; }
  void write(json::object const& record) const {
    auto const line = json::serialize(record) + '\n';
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      std::perror("the history cannot be written");
      std::exit(1);
    }
  }

 private:
  int file_;
};

struct call {
  std::string id;
  std::int64_t expected = 0;
  std::int64_t begun = 0;
  muster::remote_value<std::int64_t> value{};
};

class client {
 public:
  client(std::map<std::string, std::string> const& flags, recorder const& history)
      : flags_(flags), history_(history), random_(std::stoull(flags.at("seed"))) {}

  /// Submits calls in one session after the other until SIGTERM.
  void run() {
    muster::coordinator_options options;
    options.server = flags_.at("server");
    options.name = flags_.at("name");
    while (!stopping) {
      try {
        muster::cluster_coordinator coordinator(options);
        submit_calls(coordinator);
      } catch (muster::unavailable_error const& e) {
        history_.write({{"kind", "session_lost"}, {"error", e.what()}, {"at", now()}});
        std::this_thread::sleep_for(200ms);
      }
    }
  }

 private:
  void submit_calls(muster::cluster_coordinator& coordinator) {
    std::deque<call> waiting;
    fetch(submit(coordinator));  // if no server opens the session, only this call has no outcome
    try {
      while (!stopping) {
        while (waiting.size() < in_flight_max) waiting.push_back(submit(coordinator));
        fetch(waiting.front());
        waiting.pop_front();
      }
    } catch (muster::unavailable_error const&) {
      for (auto const& c : waiting) fetch(c);
      throw;
    }
    for (auto const& c : waiting) fetch(c);
  }

  /// Submits one call. A fifth of the calls have the value of another call as their argument.
  call submit(muster::cluster_coordinator& coordinator) {
    constexpr double seconds[] = {0.0, 0.0, 0.001, 0.02, 0.3};
    call c;
    c.id = flags_.at("name") + '.' + std::to_string(started_) + '-' + std::to_string(++numbers_);
    auto const number = static_cast<std::int64_t>(random_() % 1000);
    c.expected = number * 7 + 1;
    c.begun = now();
    auto const& effects = flags_.at("effects");
    auto const pause = seconds[random_() % std::size(seconds)];
    if (random_() % 5 == 0) {
      auto const left = coordinator.submit<std::int64_t>("robustness.compute", effects,
                                                         c.id + "-left", number, pause);
      c.value = coordinator.submit<std::int64_t>("robustness.add", left, 5);
      c.expected += 5;
    } else {
      c.value =
          coordinator.submit<std::int64_t>("robustness.compute", effects, c.id, number, pause);
    }
    return c;
  }

  void fetch(call const& c) {
    json::object record{
        {"kind", "call"}, {"id", c.id}, {"expected", c.expected}, {"call", c.begun}};
    try {
      auto const left = call_timeout - std::chrono::nanoseconds(now() - c.begun);
      record["value"] = c.value.fetch(
          std::chrono::ceil<std::chrono::milliseconds>(std::max<decltype(left)>(left, 1s)));
      record["outcome"] = "ok";
    } catch (
        muster::aborted_error const& e) {  // lost its workers, which the nemesis kills on purpose
      fail(record, "aborted", e);
    } catch (muster::unavailable_error const& e) {
      fail(record, "unknown", e);
    } catch (muster::wait_timeout const& e) {
      fail(record, "stuck", e);
    } catch (std::exception const& e) {
      fail(record, "error", e);
    }
    record["ret"] = now();
    history_.write(record);
  }

  static void fail(json::object& record, std::string_view outcome, std::exception const& e) {
    record["outcome"] = outcome;
    record["error"] = e.what();
  }

  std::map<std::string, std::string> const& flags_;
  recorder const& history_;
  std::mt19937_64 random_;
  std::int64_t started_ = now();
  std::uint64_t numbers_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[std::string(argv[i]).substr(2)] = argv[i + 1];
  for (auto const* name : {"server", "effects", "history", "name", "seed"}) {
    if (flags.contains(name)) continue;
    std::fprintf(stderr, "robustness_calls: --%s is missing\n", name);
    return 2;
  }
  std::signal(SIGTERM, [](int) { stopping = 1; });
  recorder const history(flags.at("history"));
  if (!history.is_open()) {
    std::perror("robustness_calls: the history cannot be opened");
    return 1;
  }
  client(flags, history).run();
}
