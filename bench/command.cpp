// `muster bench`: flags, and the table or JSON that comes out.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>

#include "bench/echo.hpp"
#include "bench/options.hpp"

namespace muster::bench {

namespace json = boost::json;

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
  if (json_) std::printf("%s\n", json::serialize(rows_).c_str());
}

namespace {

using benchmark = std::function<void(options const&, report&)>;

std::shared_ptr<options> add_one(CLI::App& bench, char const* name, char const* what,
                                 benchmark run) {
  auto* verb = bench.add_subcommand(name, what);
  auto o = std::make_shared<options>();
  verb->add_option("--seconds", o->seconds, "length of one measurement")->capture_default_str();
  verb->add_option("--server", o->server,
                   "gRPC address of a running server; without it a server of its own");
  auto output = std::make_shared<std::string>("table");
  verb->add_option("--output", *output, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  verb->callback([o, output, run] {
    report r(*output == "json");
    try {
      run(*o, r);
    } catch (std::exception const& e) {
      std::fprintf(stderr, "muster bench: %s\n", e.what());
      throw CLI::RuntimeError(1);
    }
    r.finish();
  });
  return o;
}

void add_closures(CLI::App& bench, char const* name, char const* what, benchmark run) {
  auto o = add_one(bench, name, what, std::move(run));
  auto* verb = bench.get_subcommand(name);
  verb->add_option("--workers", o->workers, "worker processes; several: comma")->delimiter(',');
  verb->add_option("--credits", o->credits, "closures a worker may hold; several: comma")
      ->delimiter(',');
  verb->add_option("--function", o->function, "the function to call")->capture_default_str();
  verb->add_option("--closures", o->closures, "how many to queue (memory)")->capture_default_str();
  verb->add_option("--rounds", o->rounds, "how many kills (recovery)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_coordination(CLI::App& bench, char const* name, char const* what, benchmark run) {
  auto o = add_one(bench, name, what, std::move(run));
  auto* verb = bench.get_subcommand(name);
  verb->add_option("--agents", o->agents, "tasks of the cluster; several: comma")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  verb->add_option("--clients", o->clients, "calls in flight (kv); several: comma")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  verb->add_option("--rounds", o->rounds, "how many barriers (barrier)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--waits", o->waits, "waits for keys to park (kv)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb->add_option("--server-pid", o->server_pid,
                   "process of --server, to read its time and memory from");
}

}  // namespace

void add_command(CLI::App& app) {
  auto* bench = app.add_subcommand(
      "bench", "Measure: closures, latency, memory, recovery, barrier, kv, heartbeats");
  bench->require_subcommand(1);
  bench->footer("Without --server each benchmark starts its own server and worker processes.");
  add_closures(*bench, "closures", "no-op closures a second, end to end", closures);
  add_closures(*bench, "latency", "round trip of one closure beside a bare gRPC call", latency);
  add_closures(*bench, "memory", "server memory of a queued closure", memory);
  add_closures(*bench, "recovery", "time from a worker's death to its closure's next attempt",
               recovery);
  add_coordination(*bench, "barrier", "agents register, pass barriers, watch one leave", barrier);
  add_coordination(*bench, "kv", "keys set and got, and waits for keys parked", kv);
  add_coordination(*bench, "heartbeats", "what agents that only beat cost the server", heartbeats);
  auto* echo = bench->add_subcommand("echo-server", "the yardstick of `latency`")->group("");
  auto ready = std::make_shared<std::string>();
  echo->add_option("ready-file", *ready)->required();
  echo->callback([ready] { throw CLI::RuntimeError(serve_echo(*ready)); });
}

}  // namespace muster::bench
