// `muster bench`: flags and output as table or JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>

#include "bench/echo.hpp"
#include "bench/options.hpp"

namespace muster::bench {

namespace json = boost::json;

namespace {

/// Serializes JSON like json::serialize, but with plain decimals: 1545697.293, not 1.545697293E6.
std::string plain(json::object const& row) {
  std::string text;
  for (auto const& [name, value] : row) {
    text += (text.empty() ? "" : ",") + json::serialize(json::value(name)) + ":";
    if (!value.is_double()) {
      text += json::serialize(value);
      continue;
    }
    char figure[400];  // the largest double has 309 digits
    std::snprintf(figure, sizeof figure, "%.3f", value.as_double());
    text += figure;
  }
  return "{" + text + "}";
}

}  // namespace

void report::add(json::object row) {
  if (!json_) {
    std::string line;
    for (auto const& [name, value] : row) {
      char text[64];
      if (value.is_double()) {
        std::snprintf(text, sizeof text, value.as_double() < 100 ? "%.2f" : "%.0f",
                      value.as_double());
      } else {
        std::snprintf(
            text, sizeof text, "%s",
            value.is_string() ? value.as_string().c_str() : json::serialize(value).c_str());
      }
      line += (line.empty() ? "" : "  ") + std::string(name) + "=" + text;
    }
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  rows_.push_back(std::move(row));
}

void report::finish() {
  if (!json_) return;
  std::string text;
  for (auto const& row : rows_) text += (text.empty() ? "" : ",") + plain(row.as_object());
  std::printf("[%s]\n", text.c_str());
}

namespace {

using benchmark = std::function<void(options const&, report&)>;

/// The flags that a benchmark accepts.
enum class flag {
  seconds,
  server,
  access,
  workers,
  credits,
  function,
  closures,
  agents,
  clients,
  rounds,
  waits
};

/// Adds the flags for the connection to the server and for workers of an existing server.
void add_access(CLI::App& verb, options& o) {
  verb.add_flag(
      "--tls", o.tls,
      "use TLS: --server is verified with --ca or the system's CA certificates, a server that "
      "the benchmark starts with a temporary CA");
  verb.add_flag("--auth", o.auth, "its own server asks for a token");
  verb.add_flag("--start-workers", o.start_workers,
                "start --workers for --server, too; without it the server has to have some");
  auto const file = [&verb](char const* name, std::string& into, char const* what) {
    verb.add_option(name, into, what)->type_name("FILE");
  };
  file("--ca", o.files.ca, "CA certificates that verify --server, PEM");
  file("--cert", o.files.certificate, "client certificate for --server, PEM");
  file("--key", o.files.key, "private key of --cert, PEM");
  file("--token-file", o.token_file, "file with the token for --server (default: MUSTER_TOKEN)");
}

/// Also checks flags from the environment or a file.
void check_access(options const& o) {
  bool const of_server = o.start_workers || o.files.on() || !o.token_file.empty();
  if (o.server.empty() && of_server)
    throw std::invalid_argument(
        "--ca, --cert, --key, --token-file and --start-workers need --server");
  if (!o.server.empty() && o.auth)
    throw std::invalid_argument("--auth is about a server of its own, without --server");
}

void add_flag(CLI::App& verb, options& o, flag f) {
  switch (f) {
    case flag::seconds:
      verb.add_option("--seconds", o.seconds, "length of one measurement")->capture_default_str();
      return;
    case flag::server:
      verb.add_option("--server", o.server,
                      "gRPC address of a running server; without it a server of its own");
      return;
    case flag::access:
      return add_access(verb, o);
    case flag::workers:
      verb.add_option("--workers", o.workers, "worker processes; several: comma")->delimiter(',');
      return;
    case flag::credits:
      verb.add_option("--credits", o.credits, "closures a worker may hold; several: comma")
          ->delimiter(',');
      return;
    case flag::function:
      verb.add_option("--function", o.function, "the function to call")->capture_default_str();
      return;
    case flag::closures:
      verb.add_option("--closures", o.closures, "how many to queue")->capture_default_str();
      return;
    case flag::agents:
      verb.add_option("--agents", o.agents, "tasks of the cluster; several: comma")
          ->delimiter(',')
          ->check(CLI::Range(1, 10'000'000));
      return;
    case flag::clients:
      verb.add_option("--clients", o.clients, "calls in flight; several: comma")
          ->delimiter(',')
          ->check(CLI::Range(1, 10'000'000));
      return;
    case flag::rounds:
      verb.add_option("--rounds", o.rounds, "how many of them")
          ->check(CLI::Range(1, 10'000'000))
          ->capture_default_str();
      return;
    case flag::waits:
      verb.add_option("--waits", o.waits, "waits for keys to park")
          ->check(CLI::Range(1, 10'000'000))
          ->capture_default_str();
      return;
  }
}

void add(CLI::App& bench, char const* name, char const* what, benchmark run,
         std::vector<flag> const& flags) {
  auto* verb = bench.add_subcommand(name, what);
  auto o = std::make_shared<options>();
  for (auto const f : flags) add_flag(*verb, *o, f);
  if (verb->get_option_no_throw("--agents"))
    verb->add_option("--server-pid", o->server_pid,
                     "process of --server, to read its time and memory from");
  auto output = std::make_shared<std::string>("table");
  verb->add_option("--output", *output, "table or json")
      ->type_name("table|json")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->capture_default_str();
  verb->callback([o, output, run] {
    report r(*output == "json");
    try {
      check_access(*o);
      run(*o, r);
    } catch (std::invalid_argument const& e) {
      std::fprintf(stderr, "muster bench: %s\n", e.what());
      throw CLI::RuntimeError(2);
    } catch (std::exception const& e) {
      std::fprintf(stderr, "muster bench: %s\n", e.what());
      throw CLI::RuntimeError(1);
    }
    r.finish();
  });
}

}  // namespace

void add_command(CLI::App& app) {
  auto* bench = app.add_subcommand(
      "bench",
      "Measure: closures, latency, memory, recovery, sessions, barrier, kv, heartbeats, "
      "connections");
  bench->require_subcommand(1);
  bench->footer("Without --server each benchmark starts its own server and worker processes.");
  using enum flag;
  add(*bench, "closures", "no-op closures a second, end to end", bench::closures,
      {seconds, server, access, workers, credits, function});
  add(*bench, "latency", "round trip of one closure beside a bare gRPC call", latency,
      {seconds, server, access, workers, credits, function});
  add(*bench, "memory", "server memory of a queued closure", memory, {flag::closures});
  add(*bench, "recovery", "time from a worker's death to its closure's next attempt", recovery,
      {rounds});
  add(*bench, "sessions", "closures a second in sessions that hold values, durable and not",
      sessions, {seconds, workers, credits, rounds});
  add(*bench, "barrier", "agents register, pass barriers, watch one leave", barrier,
      {server, agents, rounds});
  add(*bench, "kv", "keys set and got, and waits for keys parked", kv,
      {seconds, server, agents, clients, waits});
  add(*bench, "heartbeats", "what agents that only beat cost the server", heartbeats,
      {seconds, server, agents});
  add(*bench, "connections", "agents with a connection each: memory, heartbeats, barriers",
      connections, {seconds, server, agents, rounds});
  auto* echo = bench->add_subcommand("echo-server", "the yardstick of `latency`")->group("");
  auto ready = std::make_shared<std::string>();
  echo->add_option("ready-file", *ready)->required();
  echo->callback([ready] { throw CLI::RuntimeError(serve_echo(*ready)); });
}

}  // namespace muster::bench
