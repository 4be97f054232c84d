// How long after a worker is killed does its closure run on another worker?
//
// One closure sleeps on one of two workers, which is killed with SIGKILL. The server's record of
// attempts contains the start of the second attempt; both clocks are this host's.
#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <stdexcept>
#include <thread>

#include "bench/cluster.hpp"
#include "bench/options.hpp"

namespace muster::bench {

using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

json::array attempts(cluster& c, std::string const& closure, std::size_t at_least) {
  for (int i = 0; i < 10'000; ++i) {
    auto const all = c.get("/api/v1/closures/" + closure).at("attempts").as_array();
    if (all.size() >= at_least) return all;
    std::this_thread::sleep_for(1ms);
  }
  throw std::runtime_error("the closure was not sent again within ten seconds");
}

double round(cluster& c) {
  auto const job = c.post(
      "/api/v1/jobs",
      R"({"closures":[{"function":"muster.sleep","args":[60000]}],"name":"bench recovery"})");
  auto const closure = json::value_to<std::string>(job.at("closures").at(0).at("id"));
  auto const first = attempts(c, closure, 1);
  auto const runs_on = json::value_to<std::string>(first.at(0).at("worker"));
  auto const task =
      c.get("/api/v1/clusters/default/tasks/worker/" + runs_on.substr(runs_on.find(':') + 1));
  auto const pid = task.at("pid").to_number<pid_t>();
  auto const killed = now_ms();
  for (auto& w : c.workers())
    if (w.pid() == pid) w.kill(SIGKILL);
  auto const again = attempts(c, closure, 2);
  auto const id = json::value_to<std::string>(job.at("id"));
  c.post("/api/v1/jobs/" + id + "/cancel");
  return static_cast<double>(again.at(1).at("started_ms").to_number<std::int64_t>() - killed);
}

}  // namespace

void recovery(options const& o, report& r) {
  cluster c(2, 16);
  std::vector<double> all;
  for (int i = 0; i < o.rounds; ++i) {
    all.push_back(round(c));
    c.start_worker(16, 1);
    c.wait_for_tasks(2);
  }
  std::sort(all.begin(), all.end());
  r.add({{"bench", "recovery"},
         {"rounds", o.rounds},
         {"p50_ms", all[all.size() / 2]},
         {"max_ms", all.back()}});
}

}  // namespace muster::bench
