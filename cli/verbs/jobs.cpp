// muster jobs, cancel and retry: lists jobs or shows one job; cancels a job or a closure; submits
// the failed and cancelled closures of a job as a new job.
#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/command.hpp"
#include "cli/past/moments.hpp"
#include "cli/progress.hpp"
#include "cli/results.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct jobs_options : server_options {
  std::string id, cluster;
  std::size_t limit = 50;
  time_range when;
};

std::int64_t now_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::chrono::milliseconds run_time(json::value const& job) {
  auto const created = number_of(job, "created_ms");
  auto const finished = number_of(job, "finished_ms");
  auto const end = finished > 0 ? finished : now_ms();
  return std::chrono::milliseconds(std::max<std::int64_t>(0, end - created));
}

// Returns "7 not kept" for closures that a client had released before the server restarted.
std::string not_kept(json::value const& job) {
  auto const n = count_of(job, "not_kept");
  return n == 0 ? std::string()
                : "; " + with_thousands(n) + " not kept after a restart of the server";
}

// A stream has a generation. A stream that stores values may be waiting for its client.
std::string kind_of(json::value const& job) {
  auto const& generation = field_of(job, "generation");
  if (generation.is_null()) return "job";
  auto const kind = "stream, generation " + std::to_string(number_of(job, "generation"));
  auto const& holding = field_of(job, "holding");
  if (holding.is_null() || is_true(holding, "attached") || text_of(job, "state") != "RUNNING")
    return kind;
  auto const until = number_of(holding, "kept_until_ms");
  return kind + ", kept for " +
         rounded(std::chrono::milliseconds(std::max<std::int64_t>(0, until - now_ms()))) +
         (is_true(holding, "detached") ? " after its last closure" : " without a client");
}

// Returns functions with their numbers of closures, largest number first. The graph lists closures
// individually if there are few, otherwise by function.
std::string called_by(json::value const& graph) {
  constexpr std::size_t shown = 8;
  std::vector<std::pair<std::uint64_t, std::string>> counted;
  if (is_true(graph, "grouped")) {
    for (auto const& g : list_of(graph, "groups"))
      counted.emplace_back(counts_of(g).total(),
                           text_of(g, "function").empty() ? "others" : text_of(g, "function"));
  } else {
    for (auto const& name : list_of(graph, "functions"))
      counted.emplace_back(0, json::value_to<std::string>(name));
    for (auto const& f : list_of(field_of(graph, "nodes"), "function"))
      ++counted.at(f.to_number<std::size_t>()).first;
  }
  std::stable_sort(counted.begin(), counted.end(),
                   [](auto const& l, auto const& r) { return l.first > r.first; });
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, counted.size()); ++i)
    text += (i == 0 ? "" : ", ") + for_terminal(counted[i].second) + ' ' +
            with_thousands(counted[i].first);
  return counted.size() > shown ? text + ", …" : text;
}

void print_one(json::value const& job, json::value const& graph) {
  auto const c = counts_of(job);
  std::cout << "id         " << text_of(job, "id") << '\n';
  if (auto const name = text_of(job, "name"); !name.empty())
    std::cout << "name       " << for_terminal(name) << '\n';
  std::cout << "state      " << state_of(job) << '\n'
            << "kind       " << kind_of(job) << '\n'
            << "closures   " << with_thousands(c.total()) << ": " << with_thousands(c.succeeded)
            << " succeeded, " << with_thousands(c.failed) << " failed, "
            << with_thousands(c.cancelled) << " cancelled, " << with_thousands(c.running)
            << " running, " << with_thousands(c.waiting) << " waiting" << not_kept(job) << '\n'
            << "requeued   " << text_of(job, "put_back") << '\n'
            << "time       " << rounded(run_time(job)) << '\n';
  if (auto const called = called_by(graph); !called.empty())
    std::cout << "functions  " << called << '\n';
  if (auto const& error = field_of(job, "error"); !error.is_null())
    std::cout << "error      " << in_full(error) << '\n';
}

void print_list(json::array const& jobs) {
  table rows({"ID", "NAME", "STATE", "KIND", right("DONE"), right("TOTAL"), right("FAILED"),
              right("TIME")});
  for (auto const& job : jobs) {
    auto const c = counts_of(job);
    rows.add({text_of(job, "id"), for_terminal(text_of(job, "name"), 32), state_of(job),
              kind_of(job), with_thousands(c.finished()), with_thousands(c.total()),
              with_thousands(c.failed), rounded(run_time(job))});
  }
  rows.print(std::cout);
}

int run_jobs(jobs_options& o) {
  rest server(o.rest);
  if (!o.id.empty()) {
    auto const path = find_target(server, o.id, {target::job}, {.cluster = o.cluster}).path;
    auto const job = server.get(path);
    if (!printed_as_json(o.output, job)) print_one(job, server.get(path + "/graph"));
    return exit_ok;
  }
  bool more = false;
  auto const path =
      o.when.given() ? "/api/v1/history/jobs?" + o.when.query(server) : "/api/v1/jobs?";
  auto const jobs = server.some(path + of_cluster(o.cluster), "jobs", o.limit, &more);
  if (printed_as_json(o.output, jobs)) return exit_ok;
  print_list(jobs);
  if (more) std::cerr << "there are more jobs; raise --limit to see them\n";
  return exit_ok;
}

constexpr std::initializer_list<target> cancelled{target::closure, target::job, target::program};

struct cancel_options : server_options {
  std::string id, cluster;
};

int cancel(cancel_options& o) {
  rest server(o.rest);
  auto const what = find_target(server, o.id, cancelled, {.cluster = o.cluster, .live = true});
  auto const known = server.get(what.path);
  auto const before = text_of(known, "state");
  bool const ended = before == "SUCCEEDED" || before == "FAILED" || before == "CANCELLED";
  // The server refuses to cancel a program that has ended, but accepts this for a job.
  auto const answer =
      ended && what.kind == target::program ? known : server.post(what.path + "/cancel", {});
  if (o.output == output_format::table && ended)
    std::cout << what.id << " had already ended: " << before << '\n';
  else if (!printed_as_json(o.output, answer))
    std::cout << what.id << " was asked to stop\n";
  return exit_ok;
}

struct failed_jobs : server_options {
  std::vector<std::string> ids;
  std::string name, cluster;
};

// Throws if the server did not answer, because it would not answer requests for further jobs
// either.
void report_not_retried(request_error const& why, std::string const& job) {
  if (why.end().status == 0) throw why;
  std::cerr << job << " was not retried: " << why.what() << '\n';
}

int retry(failed_jobs& o) {
  rest server(o.rest);
  json::object body;
  if (!o.name.empty()) body["name"] = o.name;
  std::vector<found_target> jobs;
  for (auto const& id : o.ids)
    jobs.push_back(find_target(server, id, {target::job}, {.cluster = o.cluster}));
  auto const one = [&](found_target const& job) {
    auto const answer =
        server.post(job.path + "/retry", o.name.empty() ? std::string() : json::serialize(body));
    if (!printed_as_json(o.output, answer)) std::cout << text_of(answer, "id") << '\n';
  };
  if (jobs.size() == 1) {
    one(jobs.front());
    return exit_ok;
  }
  std::size_t refused = 0;
  for (auto const& job : jobs) try {
      one(job);
    } catch (request_error const& e) {
      report_not_retried(e, job.id);
      ++refused;
    }
  if (refused == 0) return exit_ok;
  throw command_error(exit_failed, std::to_string(refused) + " of " + std::to_string(jobs.size()) +
                                       " jobs were not retried");
}

}  // namespace

void add_jobs(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "jobs", "List jobs, newest first, or show one job", run_jobs);
  add_value(*verb, "id", o->id, "JOB", "Id or name (default: list the jobs)");
  add_count(*verb, "--limit", o->limit, "Maximum number of entries to list", 1);
  add_time_range(*verb, o->when, "List jobs that have ended, oldest first, including deleted jobs");
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Examples:\n  muster jobs\n  muster jobs --from 12h\n  muster jobs job_0000000000000001 "
      "--output json");
}

void add_cancel(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "cancel", "Cancel a job, a program or one closure", cancel);
  add_value(*verb, "id", o->id, target_words(cancelled),
            "Id or name; if several have the same name, the unfinished one is cancelled")
      ->required();
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "Queued closures are cancelled immediately; running closures are asked to stop.\n"
      "Example:\n  muster cancel job_0000000000000001");
}

void add_retry(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "retry",
               "Run the failed and cancelled closures of a job again, as a new job", retry);
  add_value(*verb, "id", o->ids, "JOB",
            "Ids or names of jobs that have ended; each is retried as a new job")
      ->required();
  add_closure_cluster_option(*verb, o->cluster);
  add_value(*verb, "--name", o->name, "NAME",
            "Name of the new job (default: the name of the old job)");
  add_server_options(*verb, *o);
  verb->footer(
      "Prints the id of each new job. The other jobs are retried even if one cannot be.\n"
      "Closures keep their arguments and options. Inputs that succeeded are not computed again.\n"
      "Example:\n  muster fetch $(muster retry job_0000000000000001)");
}

}  // namespace muster::cli
