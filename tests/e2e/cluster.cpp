#include "tests/e2e/cluster.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace muster::e2e {
namespace {

namespace json = boost::json;

bool talks_to_the_server(std::string const& verb) {
  for (auto const* other : {"serve", "worker", "resolve", "bench", "version"})
    if (verb == other) return false;
  return !verb.starts_with("-");
}

}  // namespace

process& cluster::program(words const& arguments,
                          std::vector<std::pair<std::string, std::string>> environment) {
  auto const number = std::to_string(++serial_);
  spawn_options o;
  o.arguments = arguments;
  o.environment = std::move(environment);
  o.output = file("out." + number);
  o.errors = file("err." + number);
  return processes_.emplace_back(std::move(o));
}

process& cluster::spawn(words const& words_after_muster,
                        std::vector<std::pair<std::string, std::string>> environment) {
  words all{MUSTER_BINARY};
  all.insert(all.end(), words_after_muster.begin(), words_after_muster.end());
  return program(all, std::move(environment));
}

process& cluster::spawn_behind(words const& before, words const& words_after_muster) {
  auto all = before;
  all.push_back(MUSTER_BINARY);
  all.insert(all.end(), words_after_muster.begin(), words_after_muster.end());
  return program(all);
}

bool cluster::read_ready_file() {
  boost::system::error_code ec;
  auto const ready = json::parse(read_file(file("ready.json")), ec);
  if (ec) return false;
  grpc_ = std::string(ready.at("grpc").as_string());
  http_ = std::string(ready.at("http").as_string());
  return ready_ = true;
}

process& cluster::serve_behind(words const& before, words const& flags) {
  std::filesystem::remove(file("ready.json"));
  words all{"serve", "--ready-file", file("ready.json"), "--http", http_};
  if (std::find(flags.begin(), flags.end(), "--grpc") == flags.end())
    all.insert(all.end(), {"--grpc", grpc_});
  all.insert(all.end(), flags.begin(), flags.end());
  auto& server = spawn_behind(before, all);
  if (!await([&] { return read_ready_file() || !server.running(); }) || !server.running())
    throw std::runtime_error("the server did not start: " + server.errors());
  return server;
}

process& cluster::worker(words const& flags) {
  words all{"worker", "--server", grpc_};
  all.insert(all.end(), flags.begin(), flags.end());
  return spawn(all);
}

finished cluster::run(words const& words_after_muster, std::filesystem::path const& input,
                      std::vector<std::pair<std::string, std::string>> environment) {
  auto const number = std::to_string(++serial_);
  spawn_options o;
  o.arguments = {MUSTER_BINARY};
  o.arguments.insert(o.arguments.end(), words_after_muster.begin(), words_after_muster.end());
  if (ready_ && talks_to_the_server(words_after_muster.front()))
    environment.emplace_back("MUSTER_URL", url());
  o.environment = std::move(environment);
  o.input = input;
  o.output = file("out." + number);
  o.errors = file("err." + number);
  process p(std::move(o));
  auto const status = p.wait(120s);
  return {status.value_or(-1), p.output(), p.errors()};
}

std::string cluster::text(std::string const& path) {
  muster::http_request request;
  request.url = url() + path;
  auto const response = client_.send(request);
  if (!response) throw std::runtime_error(path + ": " + response.error().message);
  if (!response->ok()) throw std::runtime_error(path + ": " + response->body);
  return response->body;
}

json::value cluster::get(std::string const& path) {
  return json::parse(text(path));
}

json::value cluster::post(std::string const& path, std::string body) {
  muster::http_request request;
  request.method = "POST";
  request.url = url() + path;
  request.body = std::move(body);
  auto const answer = client_.send(request);
  EXPECT_TRUE(answer && answer->ok()) << (answer ? answer->body : answer.error().message);
  return answer ? json::parse(answer->body) : json::value();
}

unsigned cluster::status_of(std::string const& path) {
  muster::http_request request;
  request.url = url() + path;
  auto const response = client_.send(request);
  return response ? response->status : 0;
}

json::array cluster::tasks() {
  return get("/api/v1/clusters/default/tasks?limit=1000").at("tasks").as_array();
}

bool cluster::await_tasks(std::size_t count, std::string const& state) {
  return await([&] {
    std::size_t found = 0;
    for (auto const& task : tasks()) found += task.at("state").as_string() == state;
    return found == count;
  });
}

bool cluster::await_count(std::string const& job, std::string const& field, std::int64_t n) {
  return await([&] {
    return get("/api/v1/jobs/" + job).at("counts").at(field).to_number<std::int64_t>() >= n;
  });
}

std::filesystem::path cluster::write(std::string const& name, std::string const& text) const {
  auto const path = file(name);
  std::ofstream(path) << text;
  return path;
}

}  // namespace muster::e2e
