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

void add_one(CLI::App& bench, char const* name, char const* what,
             std::function<void(options const&, report&)> run) {
  auto* verb = bench.add_subcommand(name, what);
  auto o = std::make_shared<options>();
  verb->add_option("--workers", o->workers, "worker processes; several: comma")->delimiter(',');
  verb->add_option("--credits", o->credits, "closures a worker may hold; several: comma")
      ->delimiter(',');
  verb->add_option("--seconds", o->seconds, "length of one measurement")->capture_default_str();
  verb->add_option("--server", o->server,
                   "gRPC address of a running server; without it a server and workers of its own");
  verb->add_option("--function", o->function, "the function to call")->capture_default_str();
  verb->add_option("--closures", o->closures, "how many to queue (memory)")->capture_default_str();
  verb->add_option("--rounds", o->rounds, "how many kills (recovery)")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
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
}

}  // namespace

void add_command(CLI::App& app) {
  auto* bench = app.add_subcommand("bench", "Measure: closures, latency, memory, recovery");
  bench->require_subcommand(1);
  bench->footer("Without --server each benchmark starts its own server and worker processes.");
  add_one(*bench, "closures", "no-op closures a second, end to end", closures);
  add_one(*bench, "latency", "round trip of one closure beside a bare gRPC call", latency);
  add_one(*bench, "memory", "server memory of a queued closure", memory);
  add_one(*bench, "recovery", "time from a worker's death to its closure's next attempt", recovery);
  auto* echo = bench->add_subcommand("echo-server", "the yardstick of `latency`")->group("");
  auto ready = std::make_shared<std::string>();
  echo->add_option("ready-file", *ready)->required();
  echo->callback([ready] { throw CLI::RuntimeError(serve_echo(*ready)); });
}

}  // namespace muster::bench
