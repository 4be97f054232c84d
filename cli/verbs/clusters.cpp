// muster clusters: declares, shows, fails and deletes clusters of agents.
#include <algorithm>
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/body_flags.hpp"
#include "cli/past/moments.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli {
namespace {

struct clusters_options : server_options {
  std::vector<std::string> words;
  body_flags declared;
  std::optional<std::string> stateful_jobs;
  std::optional<std::string> reason, code, task;
  time_range when;
  bool force = false, refuse_calls = false;
};

std::string agents_in_short(json::value const& tasks) {
  std::string text;
  auto const add = [&text](std::uint64_t n, std::string_view state) {
    if (n == 0) return;
    text += (text.empty() ? "" : ", ") + with_thousands(n) + " " + std::string(state);
  };
  // Some tasks that count as connected may not have reported since the server restarted.
  auto const unheard = count_of(tasks, "unheard");
  add(count_of(tasks, "connected") - std::min(unheard, count_of(tasks, "connected")), "connected");
  add(unheard, "not reconnected since the restart");
  for (auto const* state : {"late", "error", "missing", "registering", "disconnected"})
    add(count_of(tasks, state), state);
  return text.empty() ? "none" : text;
}

void list(rest& server, clusters_options const& o) {
  auto const all = server.all("/api/v1/clusters?", "clusters");
  if (printed_as_json(o.output, all)) return;
  table rows({"NAME", "ADDRESS", "STATE", right("RUN"), right("KEYS"), "TASKS"});
  for (auto const& c : all) {
    auto const& g = field_of(c, "generation");
    rows.add({text_of(c, "name"), text_of(c, "address"), text_of(g, "state"), text_of(g, "number"),
              text_of(g, "keys"), agents_in_short(field_of(c, "tasks"))});
  }
  rows.print(std::cout);
}

std::string ms_text(json::value const& of, std::string_view key) {
  return to_string(std::chrono::milliseconds(number_of(of, key)));
}

void print_generation(std::string const& title, json::value const& g) {
  std::cout << title << text_of(g, "number") << ", " << text_of(g, "state") << ", incarnation "
            << text_of(g, "incarnation") << '\n';
  auto const& cause = field_of(g, "cause");
  if (cause.is_null()) return;
  auto const task = text_of(cause, "task");
  std::cout << "  began at    " << (task.empty() ? "no single task" : for_terminal(task));
  if (auto const at = text_of(cause, "address"); !at.empty()) std::cout << " (" << at << ")";
  std::cout << "\n  because     " << for_terminal(text_of(cause, "message")) << '\n';
}

std::string how_told(std::string const& delivery) {
  return delivery == "auto"
             ? "heartbeat if the cluster survives a restart of the server, otherwise poll (auto)"
             : delivery;
}

// Returns the rules that differ from the default rules.
std::string rules_of(json::value const& c) {
  std::string text;
  auto const add = [&text](std::string const& rule) { text += (text.empty() ? "" : "; ") + rule; };
  if (is_true(c, "recoverable"))
    add("all tasks can leave and return");
  else if (auto const jobs = texts_of(c, "recoverable_jobs"); !jobs.empty())
    add("tasks of " + jobs + " can leave and return");
  if (is_true(c, "allow_reconnect")) add("a task that timed out can register again");
  if (field_of(c, "register_barrier") == json::value(false))
    add("registration answers immediately");
  if (field_of(c, "renew") == json::value(false)) add("no new run begins after one has ended");
  if (auto const agents = text_of(c, "agents"); agents == "tls") add("agents speak TLS");
  return text;
}

std::string jobs_text(json::value const& jobs) {
  std::string text;
  if (auto const* all = jobs.if_object())
    for (auto const& job : *all)
      text +=
          (text.empty() ? "" : ", ") + std::string(job.key()) + "=" + json::serialize(job.value());
  return text.empty() ? "none declared" : text;
}

void print_cluster(json::value const& c, output_format output) {
  if (printed_as_json(output, c)) return;
  auto const& g = field_of(c, "generation");
  auto const& parked = field_of(g, "parked_calls");
  auto const address = text_of(c, "address");
  auto torch = text_of(c, "torch_address");
  if (torch.empty() && is_true(c, "torch_store")) torch = "only for the program's ranks";
  auto const& next = field_of(c, "next_jobs");
  auto const rules = rules_of(c);
  std::cout << "name          " << text_of(c, "name") << '\n'
            << "address       " << (address.empty() ? "none" : address) << '\n'
            << (torch.empty() ? "" : "torch store   " + torch + '\n') << "jobs          "
            << jobs_text(field_of(c, "jobs")) << '\n'
            << (next.is_null() ? "" : "next run      " + jobs_text(next) + "\n") << "tasks         "
            << agents_in_short(field_of(c, "tasks")) << '\n'
            << "timeouts      heartbeat " << ms_text(c, "heartbeat_timeout_ms")
            << ", connection closed " << ms_text(c, "connection_grace_ms") << ", register "
            << ms_text(c, "register_timeout_ms") << ", shutdown "
            << ms_text(c, "shutdown_timeout_ms") << '\n'
            << (rules.empty() ? "" : "rules         " + rules + "\n") << "errors        sent by "
            << how_told(text_of(c, "error_delivery")) << '\n'
            << "barriers      " << text_of(field_of(g, "barriers"), "running") << " running\n"
            << "keys          " << text_of(g, "keys") << ", " << text_of(g, "key_bytes")
            << " bytes\n"
            << "waiting calls " << text_of(parked, "total") << ": " << text_of(parked, "key_waits")
            << " wait for keys, " << text_of(parked, "polls") << " for errors, "
            << text_of(parked, "watches") << " watch\n";
  print_generation("run           ", g);
  for (auto const& past : list_of(c, "past")) print_generation("before        ", past);
}

void print_runs(rest& server, clusters_options const& o, std::string const& path) {
  auto const all = server.all(path + "/runs?" + o.when.query(server), "runs");
  if (printed_as_json(o.output, all)) return;
  table rows({right("RUN"), "STARTED", "TIME", "STATE", "TASK", "BECAUSE"});
  for (auto const& g : all) {
    auto const started = number_of(g, "started_ms"), ended = number_of(g, "ended_ms");
    auto const& cause = field_of(g, "cause");
    rows.add({text_of(g, "number"), started > 0 ? local_time(started) : "no task connected",
              started > 0 ? rounded(std::chrono::milliseconds(ended - started)) : "",
              text_of(g, "state"), for_terminal(text_of(cause, "task"), 32),
              for_terminal(text_of(cause, "message"), 80)});
  }
  rows.print(std::cout);
}

void take_job(parsed_action const& words, std::string const& text, json::object& jobs) {
  auto const equals = text.find('=');
  auto const tasks =
      equals == std::string::npos ? std::nullopt : parse_number(text.substr(equals + 1));
  if (equals == 0 || !tasks) throw words.wrong("'" + text + "' is not JOB=N, such as worker=8");
  if (!jobs.emplace(text.substr(0, equals), *tasks).second)
    throw words.wrong("job '" + text.substr(0, equals) + "' is given twice");
}

std::string declaration(parsed_action const& words, clusters_options const& o) {
  auto body = o.declared.body();
  body["name"] = words.need(0, "NAME");
  json::object jobs;
  for (std::size_t i = 1; i < words.rest().size(); ++i) take_job(words, words.rest()[i], jobs);
  body["jobs"] = std::move(jobs);
  if (o.stateful_jobs) {
    auto& names = body["stateful"].emplace_array();
    if (!o.stateful_jobs->empty())
      for (auto const name : cluster::split(*o.stateful_jobs, ',')) names.emplace_back(name);
  }
  return json::serialize(body);
}

void create(rest& server, parsed_action const& words, clusters_options const& o) {
  auto const c = server.post("/api/v1/clusters", declaration(words, o));
  if (!printed_as_json(o.output, c))
    std::cout << text_of(c, "name") << " is declared; its agents connect to "
              << text_of(c, "address") << '\n';
}

std::string task_path(parsed_action const& words, std::string const& task) {
  auto const colon = task.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == task.size())
    throw words.wrong("fail: --task '" + task + "' is not JOB:INDEX, such as worker:1");
  return percent_encoded(task.substr(0, colon)) + "/" + percent_encoded(task.substr(colon + 1));
}

void fail_task(rest& server, parsed_action const& words, clusters_options const& o,
               std::string const& path) {
  if (o.refuse_calls)
    throw words.wrong("fail: --refuse-calls applies to the whole run; omit --task");
  json::object body{{"message", *o.reason}};
  if (o.code) body["code"] = *o.code;
  auto const t =
      server.post(path + "/tasks/" + task_path(words, *o.task) + "/error", json::serialize(body));
  if (!printed_as_json(o.output, t))
    std::cout << *o.task << " has failed; the other tasks receive the error\n";
}

void fail(rest& server, parsed_action const& words, clusters_options const& o,
          std::string const& path) {
  if (!o.reason || o.reason->empty())
    throw words.wrong(
        "fail: --reason TEXT is missing; write why the run has failed, for all tasks to see");
  if (o.task) return fail_task(server, words, o, path);
  json::object body{{"message", *o.reason}};
  if (o.code) body["code"] = *o.code;
  if (o.refuse_calls) body["refuse_calls"] = true;
  auto const c = server.post(path + "/fail", json::serialize(body));
  if (!printed_as_json(o.output, c))
    std::cout << text_of(c, "name") << ": run " << text_of(field_of(c, "generation"), "number")
              << " has failed; all tasks receive the error\n";
}

int run_clusters(clusters_options& o) {
  parsed_action const words(
      "clusters", o.words,
      {{"list", 0}, {"create"}, {"show", 1}, {"runs", 1}, {"fail", 1}, {"delete", 1}});
  rest server(o.rest);
  auto const path = [&] { return "/api/v1/clusters/" + percent_encoded(words.need(0, "NAME")); };
  if (words.action() == "list") {
    list(server, o);
  } else if (words.action() == "create") {
    create(server, words, o);
  } else if (words.action() == "show") {
    print_cluster(server.get(path()), o.output);
  } else if (words.action() == "runs") {
    print_runs(server, o, path());
  } else if (words.action() == "fail") {
    fail(server, words, o, path());
  } else {
    server.remove(path() + (o.force ? "?force=true" : ""));
    std::cout << words.rest()[0] << " is deleted\n";
  }
  return exit_ok;
}

}  // namespace

void add_clusters(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "clusters", "List, declare, show, fail or delete clusters of agents",
               run_clusters);
  add_value(*verb, "action", o->words,
            "list | create NAME [JOB=N…] | show NAME | runs NAME | fail NAME | delete NAME",
            "Action (default: list)");
  add_time_range(*verb, o->when, "runs: list only runs that ended in a time range");
  auto& declared = o->declared;
  declared.of(*verb);
  declared.time("--heartbeat-timeout",
                "create: time without a heartbeat after which an agent is in error (100s)");
  declared.time("--connection-grace",
                "create: time after which an agent whose connection was closed is dead; 0: only "
                "heartbeats count (3s)");
  declared.value(
      "--error-delivery", "auto|poll|heartbeat",
      "create: how agents receive errors. poll: immediately; heartbeat: with the next heartbeat, "
      "so that errors survive a restart of the server; auto: heartbeat if the server has --store, "
      "or --data-dir and sockets that stay open during a restart (auto)");
  declared
      .value("--agents", "plaintext|tls",
             "create: protocol of the agents if the server uses TLS: plaintext, on a separate "
             "port, or tls (plaintext)")
      ->configurable(false);
  declared.time("--register-timeout",
                "create: how long agents wait for each other at the start (60m)");
  declared.time(
      "--shutdown-timeout",
      "create: how long agents wait for each other when they leave; 0: they do not wait (5m)");
  declared.time(
      "--stuck-after",
      "create: time after which a task that keeps a barrier waiting is shown as LATE (60s)");
  add_value(*verb, "--stateful-jobs", o->stateful_jobs, "JOB,…",
            "create: jobs of its workers that hold state, such as ps; empty: none (default: the "
            "jobs of the server's --stateful-jobs)");
  add_value(*verb, "--reason", o->reason, "TEXT",
            "fail: why the run has failed; sent to every task and every waiting call")
      ->configurable(false);
  add_value(*verb, "--code", o->code, "CODE",
            "fail: the gRPC status of the error that tasks receive: ABORTED, INTERNAL, "
            "UNAVAILABLE, UNKNOWN or FAILED_PRECONDITION (ABORTED)")
      ->configurable(false);
  add_value(*verb, "--task", o->task, "JOB:INDEX",
            "fail: report the error of this task instead of the whole run's")
      ->configurable(false);
  verb->add_flag("--refuse-calls", o->refuse_calls,
                 "fail: also refuse keys and barriers with this error until the next run")
      ->configurable(false);
  verb->add_flag("--force", o->force,
                 "delete: also delete a cluster with workers, which are disconnected, or with "
                 "jobs, which are lost");
  declared.value<body_flags::texts>("--recoverable-job", "JOB",
                                    "create: job whose tasks can leave and return; may be repeated",
                                    "recoverable_jobs");
  declared.flag("--recoverable", "create: all tasks can leave and return");
  declared.flag("--allow-reconnect", "create: a task that timed out can register again");
  declared.flag("--no-renew", "create: begin no new run after one has ended", "renew", false);
  declared.flag("--no-register-barrier",
                "create: answer a registration immediately, without waiting for the other tasks",
                "register_barrier", false);
  add_server_options(*verb, *o);
  verb->footer(
      "Examples:\n  muster clusters create train worker=8 ps=2 --heartbeat-timeout 30s\n"
      "  muster clusters show train\n"
      "  muster clusters fail train --reason 'the storage failed'\n"
      "  muster clusters fail train --task worker:1 --reason 'the GPU reports errors'");
}

}  // namespace muster::cli
