// muster barriers: lists barriers and late tasks, and waits at a barrier from a script.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

struct barriers_options : server_options {
  std::vector<std::string> words;
  std::string cluster = "default";
  std::size_t limit = 100;
  std::string task, participants;
  duration timeout = std::chrono::seconds(60);
};

// Maximum wait of one request; longer waits take several requests.
constexpr duration one_wait = std::chrono::minutes(10);

std::string base(barriers_options const& o) {
  return "/api/v1/clusters/" + percent_encoded(o.cluster) + "/barriers";
}

std::string ms_rounded(json::value const& of, std::string_view key) {
  auto const& v = field_of(of, key);
  return v.is_null() ? "-" : rounded(std::chrono::milliseconds(number_of(of, key)));
}

std::string error_text(json::value const& barrier) {
  auto const& error = field_of(barrier, "error");
  return error.is_null() ? std::string()
                         : text_of(error, "code") + ": " + text_of(error, "message");
}

void list(rest& server, barriers_options const& o) {
  bool more = false;
  auto const all = server.some(base(o), "barriers", o.limit, &more);
  if (printed_as_json(o.output, all)) return;
  table rows({"BARRIER", "STATE", right("ARRIVED"), right("OF"), right("TIME LEFT"), "ERROR"});
  for (auto const& b : all)
    rows.add({for_terminal(text_of(b, "id"), 64), text_of(b, "state"), text_of(b, "arrived_count"),
              text_of(b, "participants"), ms_rounded(b, "time_left_ms"),
              for_terminal(error_text(b), 80)});
  rows.print(std::cout);
  if (all.empty())
    std::cerr << "no barrier yet\n";
  else if (more)
    std::cerr << "there are more barriers; raise --limit to see them\n";
}

void print_arrivals(json::array arrivals) {
  if (arrivals.empty()) return;
  auto const came = [](json::value const& a) { return number_of(a, "came_ms"); };
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [&](auto const& l, auto const& r) { return came(l) < came(r); });
  auto const first = came(arrivals.front());
  std::cout << '\n';
  table rows({"ARRIVED", right("AFTER THE FIRST")});
  for (auto const& a : arrivals)
    rows.add({text_of(a, "task"), rounded(std::chrono::milliseconds(came(a) - first))});
  rows.print(std::cout);
}

void show(json::value const& b, output_format output) {
  if (printed_as_json(output, b)) return;
  std::cout << "barrier   " << for_terminal(text_of(b, "id")) << '\n'
            << "state     " << text_of(b, "state") << '\n'
            << "arrived   " << text_of(b, "arrived_count") << " of " << text_of(b, "participants")
            << '\n';
  if (auto const first = text_of(b, "first"); !first.empty())
    std::cout << "first     " << first << '\n';
  if (text_of(b, "state") == "RUNNING")
    std::cout << "time left " << ms_rounded(b, "time_left_ms") << '\n';
  if (auto const error = error_text(b); !error.empty())
    std::cout << "error     " << for_terminal(error) << '\n';
  print_arrivals(list_of(b, "arrivals"));
  auto const& missing = list_of(b, "missing");
  if (missing.empty()) return;
  std::cout << '\n';
  table rows({"MISSING", "ADDRESS", "LAST SIGN OF LIFE"});
  for (auto const& m : missing) {
    auto const silent = ms_rounded(m, "silent_ms");
    auto const address = text_of(m, "address");
    rows.add({text_of(m, "task"), address.empty() ? "-" : address,
              silent == "-" ? "never connected" : silent + " ago"});
  }
  rows.print(std::cout);
}

// Returns milliseconds, with one decimal below ten.
std::string ms_exact(json::value const& of, std::string_view key) {
  auto const ms = real_of(of, key);
  if (ms >= 10) return rounded(std::chrono::milliseconds(std::llround(ms)));
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", ms);
  return text;
}

std::string host_text(json::value const& of) {
  auto host = text_of(of, "host");
  return host.empty() ? "-" : for_terminal(host, 40);
}

void show_stragglers(json::value const& s, output_format output) {
  if (printed_as_json(output, s)) return;
  auto const& barriers = list_of(s, "barriers");
  if (barriers.empty()) {
    std::cerr << "no barrier of two or more tasks has passed in this run yet\n";
    return;
  }
  std::cout << "Over the newest " << barriers.size()
            << (barriers.size() == 1 ? " barrier" : " barriers") << " of run "
            << text_of(s, "generation")
            << "; a task is late if it arrives after the median task.\n\n";
  table tasks(
      {"TASK", "HOST", right("LAST"), right("OF"), right("LATE, MEAN"), right("LATE, MOST")});
  std::size_t rows = 0;
  for (auto const& t : list_of(s, "tasks")) {
    if (++rows > 20) break;
    tasks.add({text_of(t, "task"), host_text(t), text_of(t, "last"), text_of(t, "barriers"),
               ms_exact(t, "late_mean_ms"), ms_exact(t, "late_max_ms")});
  }
  tasks.print(std::cout);
  std::cout << '\n';
  table newest({"BARRIER", "LAST", "HOST", right("LATE"), right("FIRST TO LAST")});
  rows = 0;
  for (auto const& b : barriers) {
    if (++rows > 10) break;
    newest.add({for_terminal(text_of(b, "id"), 48), text_of(b, "last"), host_text(b),
                ms_exact(b, "late_ms"), ms_exact(b, "spread_ms")});
  }
  newest.print(std::cout);
}

int wait(rest& server, std::string const& path, std::string const& id, barriers_options const& o) {
  using steady = std::chrono::steady_clock;
  auto const end = steady::now() + o.timeout;
  auto const who = "/wait?task=" + percent_encoded(o.task) +
                   "&participants=" + percent_encoded(o.participants) + "&timeout=";
  for (;;) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - steady::now());
    auto const slice = std::clamp<duration>(left, duration(0), one_wait);
    auto const got = server.send("POST", path + who + to_string(slice), {}, {},
                                 slice + std::chrono::seconds(30));
    bool const late = got.status == 504;
    if (late && steady::now() < end) continue;
    if (late)
      throw command_error(exit_failed, "not all tasks arrived at barrier '" + id + "' within " +
                                           to_string(o.timeout) + ": " +
                                           text_of(json::parse(got.body), "detail"));
    if (!got.ok()) throw rest::problem(got);
    if (o.output == output_format::json)
      std::cout << got.body;
    else
      std::cout << "barrier " << for_terminal(id) << " has passed\n";
    return exit_ok;
  }
}

int run_barriers(barriers_options& o) {
  parsed_action const words(
      "barriers", o.words,
      {{"list", 0}, {"show", 1}, {"cancel", 1}, {"wait", 1}, {"stragglers", 0}});
  rest server(o.rest);
  if (words.action() == "list") {
    list(server, o);
    return exit_ok;
  }
  if (words.action() == "stragglers") {
    show_stragglers(server.get("/api/v1/clusters/" + percent_encoded(o.cluster) + "/stragglers"),
                    o.output);
    return exit_ok;
  }
  auto const path = base(o) + "/" + percent_encoded(words.need(0, "ID"));
  if (words.action() == "show") {
    show(server.get(path), o.output);
    return exit_ok;
  }
  if (words.action() == "wait") {
    if (o.task.empty())
      throw words.wrong("--task is missing; pass the task to act as, such as worker:3");
    return wait(server, path, words.rest()[0], o);
  }
  auto const b = server.post(path + "/cancel", {});
  if (!printed_as_json(o.output, b))
    std::cout << "barrier " << for_terminal(words.rest()[0]) << " is cancelled\n";
  return exit_ok;
}

}  // namespace

void add_barriers(CLI::App& app, choice& chosen) {
  auto const [verb, o] = add_verb(
      app, chosen, "barriers",
      "List barriers, show missing or late tasks, wait at a barrier or cancel it", run_barriers);
  add_value(*verb, "action", o->words, "list | show ID | cancel ID | wait ID | stragglers",
            "Action (default: list)");
  add_cluster_option(*verb, o->cluster);
  add_count(*verb, "--limit", o->limit,
            "Maximum number of barriers to list, running barriers first", 1);
  add_value(*verb, "--task", o->task, "JOB:INDEX", "wait: task to act as; it must have no agent");
  add_value(*verb, "--participants", o->participants, "TASKS",
            "wait: comma-separated list of the tasks that take part (default: all); all of them "
            "must pass the same list");
  add_duration(*verb, "--timeout", o->timeout,
               "wait: time after which to give up and leave the barrier");
  add_server_options(*verb, *o);
  verb->footer(
      "Examples:\n  muster barriers\n  muster barriers show step_12 --cluster train\n"
      "  muster barriers stragglers --cluster train\n"
      "  muster barriers wait data_ready --cluster train --task worker:3 --timeout 60s");
}

}  // namespace muster::cli
