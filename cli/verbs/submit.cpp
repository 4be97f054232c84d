// muster submit: runs a function on the workers and waits for the result.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <future>
#include <iostream>
#include <optional>

#include "cli/actions.hpp"
#include "cli/interrupt_note.hpp"
#include "cli/job_submission.hpp"
#include "cli/log_lines.hpp"
#include "cli/progress.hpp"
#include "cli/results.hpp"
#include "cli/table.hpp"
#include "cli/waiting_reason.hpp"

namespace muster::cli {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

struct submit_options {
  rest_options rest;
  job_request job;
  CLI::App* verb = nullptr;
  std::vector<std::string> const* literal = nullptr;
  std::string map;
  bool no_wait = false, follow = false, quiet = false;
  std::optional<duration> timeout;
  result_format output = result_format::values;
};

json::value send(rest& server, submit_options const& o, wait_limit const& limit) {
  auto const words = remaining_arguments(*o.verb, *o.literal);
  if (o.job.check && o.job.function != "muster.exec")
    throw command_error(exit_usage,
                        "--check and --no-check are for muster.exec; other functions have no exit "
                        "status");
  for (auto const& text : nearly_json(words))
    std::cerr << "muster submit: the argument " << for_terminal(text, 60)
              << " begins like JSON but is not valid JSON; it is sent as a string\n";
  if (o.map.empty()) return submit_one(server, o.job, words);
  if (!words.empty())
    throw command_error(exit_usage,
                        "arguments and --map exclude each other: each line of the "
                        "file is a whole argument list");
  if (o.map == "-")
    return submit_lines(server, o.job, std::cin, "standard input", {limit, o.quiet});
  auto file = std::ifstream(o.map);
  if (!file) throw command_error(exit_usage, "cannot read --map " + o.map);
  return submit_lines(server, o.job, file, o.map, {limit, o.quiet});
}

constexpr auto redraw_every = 200ms;
constexpr auto look_every = 1s;
// Interval at which the thread that prints results checks whether it must end.
constexpr auto results_patience = 1s;

void print_results_until(std::atomic<bool> const& unwanted, submit_options const& o,
                         std::string const& id, result_printer& printer, screen& shared) {
  rest server(o.rest);
  std::size_t next = 0;
  auto const take = [&](std::string_view line) {
    if (!line.empty()) {
      shared.above([&] {
        printer.print(line);
        std::cout.flush();
      });
      ++next;
    }
    return std::cout.good() && !unwanted;  // false if the reader of our output has exited
  };
  bool whole = false;
  while (!whole && !unwanted && std::cout)
    whole = server.stream(
        "/api/v1/jobs/" + percent_encoded(id) + "/results?wait=true&from=" + std::to_string(next),
        take, results_patience);
}

// On a terminal, the newest incomplete line follows the bar.
void print_lines(rest& server, std::string const& id, submit_options const& o,
                 wait_limit const& limit, screen& shared) {
  auto const pause = shared.drawing() ? duration(redraw_every) : duration(look_every);
  progress_text text;
  waiting_reason reason(server, id, steady::now());
  std::uint64_t after = 0;
  std::string unfinished, source;
  for (;;) {
    auto const left = std::chrono::floor<duration>(limit.end - steady::now());
    auto const look = read_log_page(server, id, after, std::clamp(left, duration(1ms), pause));
    after = look.after;
    auto const counts = counts_of(server.get("/api/v1/jobs/" + percent_encoded(id)));
    if (!look.lines.empty())
      shared.above([&] {
        for (auto const& line : look.lines) {
          auto const shown = log_text(line, counts.total() > 1);
          if (shared.drawing() && !line_has_ended(line)) {
            unfinished = "  " + shown;
            source = source_of(line);
            continue;
          }
          std::cerr << shown << '\n';
          if (source_of(line) == source) unfinished.clear();
        }
      });
    if (look.ended) return;
    if (auto const news = o.quiet ? std::string() : reason.news(counts, steady::now());
        !news.empty())
      shared.above([&] { std::cerr << for_terminal(news) << '\n'; });
    if (limit.is_over()) throw too_late(reason, id, *limit.timeout);
    shared.draw(text.bar(counts, steady::now()) + unfinished);
  }
}

/// Returns the last state of the job. Two loops, each with its own connection, share the screen. A
/// second thread prints results to stdout in schedule order; this thread prints log lines and the
/// bar to stderr. Throws the same errors as wait_for_job(), or an error if the server became
/// unavailable.
json::value follow_job(rest& server, std::string const& id, submit_options const& o,
                       wait_limit const& limit) {
  screen shared(o.quiet);
  result_printer printer(o.output);
  std::atomic<bool> unwanted = false;
  auto results = std::async(std::launch::async,
                            [&] { print_results_until(unwanted, o, id, printer, shared); });
  try {
    print_lines(server, id, o, limit, shared);
  } catch (...) {
    unwanted = true;  // the thread is joined afterwards
    throw;
  }
  results.get();
  shared.above([&] { printer.finish(); });
  return server.get("/api/v1/jobs/" + percent_encoded(id));
}

int run_submit(submit_options& o) {
  wait_limit const limit(o.timeout);
  rest server(o.rest);
  auto const job = send(server, o, limit);
  auto const id = text_of(job, "id");
  if (o.no_wait) {
    std::cout << id << '\n';
    return exit_ok;
  }
  if (!o.quiet && ::isatty(STDERR_FILENO) == 1) std::cerr << "job " << id << '\n';
  std::optional<interrupt_note> note("job " + id + " continues; 'muster fetch " + id +
                                     "' waits for it, 'muster cancel " + id + "' stops it");
  if (o.follow) return report_end(follow_job(server, id, o, limit));
  auto const ended = wait_for_job(server, id, limit, o.quiet);
  note.reset();
  print_results(server, id, o.output);
  return report_end(ended);
}

void add_scheduling(job_request& request) {
  auto& [function, job, options, closure, check] = request;
  closure.number<std::int32_t>("--priority",
                               "Priority; closures of the job with a higher priority start first");
  closure.value("--delay", "TIME", "Minimum time from submission to the start of a closure");
  closure.value("--deadline", "TIME", "Time after which an unfinished closure fails with TIMEOUT");
  closure.number("--max-retries", "Number of retries of a closure that raised an error");
  closure.value("--retry-delay", "TIME",
                "Pause before the first retry, doubled for each further retry (1s)");
  closure.value("--retry-delay-max", "TIME", "Longest pause between two retries (1m)");
  closure.value("--task", "JOB[:INDEX]", "Run only on this task, or on any task of a job");
  closure.pairs("--label", "KEY=VALUE", "Run only on workers with this label; may be repeated",
                "labels");
  closure.value("--gang", "NAME",
                "Name of a gang: all closures of the job start together or not at all");
  closure.pairs("--resource", "NAME=N",
                "Resource that each closure uses on its worker, for example gpu=1", "resources",
                argument);
  job.pairs("--metadata", "KEY=VALUE", "Metadata entry to store with the job; may be repeated");
  job.value("--cluster", "NAME", "Cluster whose workers run the job (default: the main cluster)");
  options.number("--weight", "Share of the workers relative to other jobs (1)");
  options.value("--job-deadline", "TIME", "Time after which an unfinished job fails", "deadline");
}

}  // namespace

void add_submit(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(app, chosen, "submit",
                                  "Run a function on the workers: muster submit FUNCTION [ARG…]\n"
                                  "Each ARG is JSON if it is valid JSON, otherwise a string.",
                                  run_submit);
  o->verb = verb;
  o->literal = &chosen.literal;
  verb->allow_extras();
  add_value(*verb, "function", o->job.function, "FUNCTION", "Name of the function")->required();
  add_value(*verb, "--map", o->map, "FILE",
            "File with a JSON list of arguments for each closure, one list per line; - is standard "
            "input");
  auto& [function, job, options, closure, check] = o->job;
  for (auto* const part : {&job, &options, &closure}) part->of(*verb);
  job.value("--name", "NAME", "A name for the job");
  job.value("--on-error", "fail_fast|continue",
            "fail_fast: the first error cancels the rest; continue: run them all")
      ->check(one_of({"fail_fast", "continue"}))
      ->default_str("fail_fast");
  job.value("--idempotency-key", "KEY",
            "Idempotency key: a second submission with the same key returns the job of the first "
            "submission; with --map, it continues after the closures already accepted");
  options.number(
      "--max-worker-failures",
      "Fail a closure after N lost workers or processes; 0: no limit; default: the server's, 3");
  add_scheduling(o->job);
  options.flag("--require-function", "Refuse the job if no connected worker has the function");
  job.flag("--durable,!--no-durable",
           "Whether the job survives a restart of the server (default: yes if the server has a "
           "--data-dir)");
  verb->add_flag_function(
      "--check,!--no-check", [o](std::int64_t n) { o->job.check = n > 0; },
      "muster.exec: fail if the exit status of the program is not 0 (the default), or return the "
      "status as a value");
  verb->add_flag("--no-wait", o->no_wait, "Print the job's id and return");
  verb->add_flag("--follow", o->follow,
                 "Print results while the job runs and, on stderr, the output of its closures");
  verb->add_flag("--quiet", o->quiet, "Show no progress");
  add_duration(*verb, "--timeout", o->timeout,
               "Stop waiting after this time; the job continues. If the server has not accepted "
               "all of --map, the job is cancelled, unless --idempotency-key is set");
  add_result_option(*verb, o->output);
  add_rest_options(*verb, o->rest);
  verb->footer(
      "Examples:\n"
      "  muster submit muster.echo 42\n"
      "  muster submit muster.echo '{\"a\": 1}' text '[1, 2]' -- -5\n"
      "  seq 1000 | jq -c '[.]' | muster submit muster.echo --map - --output table\n"
      "  muster submit muster.exec '[\"make\", \"-C\", \"/src\"]' --follow\n"
      "Exit status: 0 when the job succeeded, 1 when it failed, was cancelled, or --timeout "
      "passed.");
}

}  // namespace muster::cli
