// Starts the processes of a benchmark, waits until they are connected, and sends REST requests.
#include "bench/cluster.hpp"

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "bench/options.hpp"

namespace muster::bench {

using namespace std::chrono_literals;
namespace json = boost::json;

cluster::cluster(std::string grpc_address, muster::tls_options tls, std::string token_file)
    : grpc_(std::move(grpc_address)), tls_(std::move(tls)), token_file_(std::move(token_file)) {
  if (token_file_.empty()) return;  // child processes inherit the environment's MUSTER_TOKEN
  if (!std::getline(std::ifstream(token_file_), token_) || token_.empty())
    throw std::runtime_error("--token-file " + token_file_ + ": no token in its first line");
}

cluster::cluster(int workers, int credits, int slots, std::vector<std::string> serve_flags,
                 cluster_access access) {
  auto pattern = (std::filesystem::temp_directory_path() / "muster-bench-XXXXXX").string();
  if (!mkdtemp(pattern.data())) throw std::runtime_error("cannot make a temporary directory");
  directory_ = pattern;
  auto const ready = directory_ + "/ready.json";
  std::vector<std::string> argv = {this_program(), "serve",       "--grpc",       "127.0.0.1:0",
                                   "--http",       "127.0.0.1:0", "--ready-file", ready,
                                   "--log-level",  "warn"};
  argv.insert(argv.end(), serve_flags.begin(), serve_flags.end());
  for (auto const& more : {access.tls ? make_authority() : std::vector<std::string>(),
                           access.auth ? make_token() : std::vector<std::string>()})
    argv.insert(argv.end(), more.begin(), more.end());
  server_.emplace(argv);
  auto const addresses = json::parse(wait_for_file(ready, *server_, 20s)).as_object();
  grpc_ = json::value_to<std::string>(addresses.at("grpc"));
  http_ = (access.tls ? "https://" : "http://") + json::value_to<std::string>(addresses.at("http"));
  for (int i = 0; i < workers; ++i) start_worker(credits, slots);
  wait_for_tasks(static_cast<std::size_t>(workers));
}

std::unique_ptr<cluster> existing_cluster(options const& o, int workers, int credits) {
  auto tls = o.files;
  tls.use_tls = o.tls;
  auto c = std::make_unique<cluster>(o.server, std::move(tls), o.token_file);
  for (int i = 0; o.start_workers && i < workers; ++i) c->start_worker(credits, 1);
  return c;
}

cluster::~cluster() {
  for (auto& w : workers_) w.kill(SIGKILL);
  workers_.clear();
  if (server_) server_->stop();
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

// Returns flags for `serve`. A failed `tls init` has written its error to standard error.
std::vector<std::string> cluster::make_authority() {
  auto const at = directory_ + "/tls";
  process init({this_program(), "tls", "init", at, "--days", "1"});
  auto const end = std::chrono::steady_clock::now() + 20s;
  while (init.running() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(2ms);
  if (!std::filesystem::exists(at + "/client.key"))
    throw std::runtime_error("cannot make an authority in " + at);
  tls_.ca = at + "/ca.pem";
  muster::http_client_options o;
  o.ca_file = tls_.ca;
  client_ = muster::http_client(std::move(o));
  return {"--tls-cert", at + "/server.pem", "--tls-key", at + "/server.key"};
}

// The token protects a server on loopback that ends with the benchmark.
std::vector<std::string> cluster::make_token() {
  std::random_device random;
  for (int i = 0; i < 8; ++i) token_ += std::to_string(1'000'000'000 + random() % 1'000'000'000);
  token_file_ = directory_ + "/token";
  auto const known = directory_ + "/tokens";
  std::ofstream(token_file_) << token_ << '\n';
  std::ofstream(known) << "admin " << token_ << " allow-exec\n";
  return {"--token-file", known};
}

session_options cluster::session(char const* name) const {
  session_options o;
  o.server = grpc_;
  o.name = name;
  o.tls = tls_;
  o.token = token_;
  return o;
}

void cluster::start_worker(int credits, int slots) {
  std::vector<std::string> argv{this_program(), "worker",
                                "--server",     grpc_,
                                "--slots",      std::to_string(slots),
                                "--credits",    std::to_string(std::max(credits, slots))};
  auto const add = [&](char const* flag, std::string const& value) {
    if (!value.empty()) argv.insert(argv.end(), {flag, value});
  };
  add("--ca", tls_.ca);
  add("--cert", tls_.certificate);
  add("--key", tls_.key);
  add("--token-file", token_file_);
  if (tls_.use_tls) argv.emplace_back("--tls");
  workers_.emplace_back(argv);
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
  request.token = token_;
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
