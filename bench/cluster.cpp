// Starts the processes of a benchmark, waits until they are connected, and asks them over REST.
#include "bench/cluster.hpp"

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <thread>

namespace muster::bench {

using namespace std::chrono_literals;
namespace json = boost::json;

cluster::cluster(int workers, int credits, int slots, std::vector<std::string> serve_flags) {
  auto pattern = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
  auto const ready = directory_ + "/ready.json";
  std::vector<std::string> argv = {this_program(), "serve",       "--grpc",       "127.0.0.1:0",
                                   "--http",       "127.0.0.1:0", "--ready-file", ready,
                                   "--log-level",  "warn"};
  argv.insert(argv.end(), serve_flags.begin(), serve_flags.end());
  server_.emplace(argv);
  auto const addresses = json::parse(wait_for_file(ready, *server_, 20s)).as_object();
  grpc_ = json::value_to<std::string>(addresses.at("grpc"));
  http_ = "http://" + json::value_to<std::string>(addresses.at("http"));
  for (int i = 0; i < workers; ++i) start_worker(credits, slots);
  wait_for_tasks(static_cast<std::size_t>(workers));
}

cluster::~cluster() {
  for (auto& w : workers_) w.kill(SIGKILL);
  workers_.clear();
  if (server_) server_->stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

void cluster::start_worker(int credits, int slots) {
  workers_.emplace_back(std::vector<std::string>{this_program(), "worker", "--server", grpc_,
                                                 "--slots", std::to_string(slots), "--credits",
                                                 std::to_string(std::max(credits, slots))});
}

void cluster::wait_for_tasks(std::size_t connected) {
  auto const end = std::chrono::steady_clock::now() + 20s;
  while (std::chrono::steady_clock::now() < end) {
    auto const overview = get("/api/v1/overview");
    if (overview.at("tasks").at("connected").to_number<std::size_t>() >= connected) return;
    std::this_thread::sleep_for(5ms);
  }
  throw std::runtime_error("the workers did not connect within 20 s");
}

json::value cluster::call(char const* method, std::string const& path, std::string body) {
  muster::http_request request;
  request.method = method;
  request.url = http_ + path;
  request.body = std::move(body);
  auto const answer = client_.send(request);
  if (!answer) throw std::runtime_error(answer.error().message);
  if (!answer->ok()) throw std::runtime_error(path + ": " + answer->body);
  return answer->body.empty() ? json::value() : json::parse(answer->body);
}

json::value cluster::get(std::string const& path) {
  return call("GET", path, {});
}
json::value cluster::post(std::string const& path, std::string body) {
  return call("POST", path, std::move(body));
}

}  // namespace muster::bench
