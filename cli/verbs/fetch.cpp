// muster fetch: waits for the value of a RemoteValue, or for all results of a job, and prints them.
#include <iostream>

#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/neutral_text.hpp"
#include "cli/progress.hpp"
#include "cli/results.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct fetch_options {
  rest_options rest;
  std::string id, cluster;
  std::optional<duration> timeout;
  bool quiet = false;
  result_format output = result_format::values;
};

// Maximum wait of one request; longer waits take several requests.
constexpr auto fetch_wait = std::chrono::seconds(30);

int fetch_value(rest& server, fetch_options const& o) {
  using steady = std::chrono::steady_clock;
  auto const start = steady::now();
  server.meet();  // the server may restart during the first wait
  for (;;) {
    duration wait = fetch_wait;
    if (o.timeout)
      wait = std::clamp(*o.timeout - std::chrono::floor<duration>(steady::now() - start),
                        duration(1000), wait);
    auto const response = server.send(
        "GET",
        "/api/v1/remote_values/" + percent_encoded(o.id) + "/value?timeout=" + to_string(wait), {},
        {}, wait + std::chrono::seconds(30));
    if (response.ok()) {
      bool const is_json = response.header("Content-Type").starts_with("application/json");
      std::cout << (is_json ? neutral_text(response.body, text_layout::lines) : response.body);
      if (is_json && !response.body.ends_with('\n')) std::cout << '\n';
      return exit_ok;
    }
    bool const late = response.status == 504;
    if (!late || (o.timeout && steady::now() - start >= *o.timeout)) throw rest::problem(response);
  }
}

int run_fetch(fetch_options& o) {
  rest server(o.rest);
  auto const what = find_target(server, o.id, {target::value, target::job}, {.cluster = o.cluster});
  o.id = what.id;
  if (what.kind == target::value) return fetch_value(server, o);
  auto const job = wait_for_job(server, o.id, wait_limit(o.timeout), o.quiet);
  print_results(server, o.id, o.output);
  return report_end(job);
}

}  // namespace

void add_fetch(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "fetch", "Wait for a value or a job and print the results", run_fetch);
  add_value(*verb, "id", o->id, target_words({target::value, target::job}),
            "Id of one value (rv_…), or the id or name of a job for all its results")
      ->required();
  verb->add_flag("--quiet", o->quiet, "Show no progress");
  add_duration(*verb, "--timeout", o->timeout, "Stop waiting after this time");
  add_closure_cluster_option(*verb, o->cluster);
  add_result_option(*verb, o->output);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "Examples:\n  muster fetch rv_0000000000000001 --timeout 10s\n  muster fetch "
      "job_0000000000000001 --output json");
}

}  // namespace muster::cli
