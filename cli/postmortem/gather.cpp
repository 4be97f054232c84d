#include "cli/postmortem/gather.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/text.hpp"
#include "cli/postmortem/html_text.hpp"
#include "cli/postmortem/job_report.hpp"
#include "cli/postmortem/program_report.hpp"
#include "cli/postmortem/run.hpp"
#include "cli/programs/program_lookup.hpp"
#include "cli/table.hpp"

namespace muster::cli::postmortem {
namespace {

constexpr std::int64_t after_ms = 10'000;  // events shortly after the end are included

class gathering {
 public:
  gathering(rest& server, std::string const& said) : server_(server) {
    using namespace std::chrono;
    auto const now = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
    all_["about"] = {{"url", server.url()},
                     {"version", text_of(ask("/api/v1/version", "The version"), "version")},
                     {"taken_ms", now},
                     {"said", said}};
  }

  json::value const& of(char const* key) { return all_[key]; }
  void add(char const* key, json::value value) { all_[key] = std::move(value); }
  void leave_out(std::string const& sentence) { left_out_.emplace_back(sentence); }
  /// Without an answer, returns null and lists the data as missing.
  json::value ask(std::string const& path, std::string const& what) {
    auto const answer = server_.send("GET", path);
    if (answer.ok()) return json::parse(answer.body);
    leave_out(what + " could not be loaded: " + rest::problem(answer).what() + ".");
    return {};
  }

  void add_events(std::int64_t from, std::int64_t to, std::set<std::string> const& clusters);
  void add_machines(std::int64_t from, std::string const& cluster,
                    std::set<std::string> const& hosts);
  json::value finish() {
    all_["left_out"] = std::move(left_out_);
    return std::move(all_);
  }

 private:
  rest& server_;
  json::object all_;
  json::array left_out_;
};

void gathering::add_events(std::int64_t from, std::int64_t to,
                           std::set<std::string> const& clusters) {
  json::array found;
  std::uint64_t after = 0, seen = 0, more = 0;
  for (bool first = true; seen < events_asked; first = false) {
    auto const answer = ask("/api/v1/events?limit=1000&after=" + std::to_string(after), "Events");
    auto const& page = list_of(answer, "events");
    if (page.empty()) break;
    if (first && count_of(answer, "first") > 1 && number_of(page.front(), "time_ms") > from)
      leave_out("The server has removed the events before number " + text_of(answer, "first") +
                ".");
    for (auto const& e : page) {
      auto const at = number_of(e, "time_ms");
      auto const cluster = text_of(e, "cluster");
      if (at >= from && at <= to + after_ms && (cluster.empty() || clusters.contains(cluster)))
        found.push_back(e);
    }
    after = count_of(page.back(), "number");
    seen += page.size();
  }
  if (found.size() > events_max) {
    more = found.size() - events_max;
    found.erase(found.begin(), found.end() - events_max);
    leave_out(counted(more, "earlier event") + " of that time.");
  }
  add("events", std::move(found));
}

void gathering::add_machines(std::int64_t from, std::string const& cluster,
                             std::set<std::string> const& hosts) {
  if (hosts.empty()) return;
  json::array kept;
  auto const answer =
      ask("/api/v1/machines?samples=720&limit=50&cluster=" + percent_encoded(cluster),
          "Figures of machines");
  for (auto const& m : list_of(answer, "machines"))
    if (hosts.contains(text_of(m, "host"))) kept.push_back(m);
  if (!text_of(answer, "next_page_token").empty())
    leave_out("Machines beyond the first 50 that the server lists.");
  add("machines", std::move(kept));
  constexpr std::int64_t kept_ms = 3'600'000;
  if (from < number_of(of("about"), "taken_ms") - kept_ms)
    leave_out("Measurements of machines older than an hour, which the server does not store.");
}

json::array logs(rest& server, std::string const& path, json::value const& program,
                 json::array const& ranks) {
  json::array out;
  std::map<std::string, std::string> away;
  auto const& rank = field_of(field_of(program, "cause"), "rank");
  for (bool const of_cause : {true, false})
    for (auto const& r : failed_first(ranks)) {
      if ((field_of(r, "rank") == rank) != of_cause || out.size() == logs_max) continue;
      auto const bytes = std::to_string(of_cause ? log_of_cause_bytes_max : log_bytes_max);
      json::object one{{"rank", field_of(r, "rank")},
                       {"task", field_of(r, "task")},
                       {"of_cause", of_cause || text_of(r, "state") == "FAILED"}};
      auto& why = away[text_of(r, "worker")];
      if (why.empty()) {
        auto const answer =
            server.send("GET", path + "/logs?from_end=true&rank=" + text_of(r, "rank") +
                                   "&offset=" + bytes + "&bytes=" + bytes);
        if (answer.ok())
          one["log"] = json::parse(answer.body);
        else
          why = rest::problem(answer).what();
      }
      if (!one.contains("log")) one["why"] = why;
      out.push_back(std::move(one));
    }
  return out;
}

}  // namespace

std::string report_on_program(rest& server, std::string const& path, std::string const& said) {
  auto const program = server.get(path);
  gathering g(server, said);
  g.add("program", program);
  std::set<std::string> hosts;
  json::array attempts, ranks;
  if (number_of(program, "attempt") > 0) {
    ranks = list_of(g.ask(path + "/ranks", "The ranks"), "ranks");
    auto const all = g.ask(path + "/attempts", "The attempts");
    for (auto const& a : list_of(all, "attempts")) {
      auto const number = text_of(a, "attempt");
      auto detail = g.ask(path + "/attempts/" + number, "The observations of attempt " + number);
      attempts.push_back(detail.is_null() ? a : std::move(detail));
    }
    if (!attempts.empty() && number_of(attempts.front(), "attempt") > 1)
      g.leave_out("Attempts before " + text_of(attempts.front(), "attempt") +
                  ", which the server has removed.");
    if (!has_ended(program) && field_of(program, "hang").is_object())
      g.add("stacks", g.ask(path + "/stacks", "Stacks"));
    if (ranks.size() > logs_max)
      g.leave_out("Logs of " + counted(ranks.size() - logs_max, "further rank") + ".");
    g.add("logs", logs(server, path, program, ranks));
  }
  for (auto const& r : ranks) hosts.insert(text_of(r, "host"));
  auto const taken = number_of(g.of("about"), "taken_ms");
  auto const to = has_ended(program) ? number_of(program, "finished_ms") : taken;
  auto const cluster = text_of(program, "cluster");
  g.add_events(number_of(program, "created_ms"), to,
               {cluster, text_of(program, "coordination_cluster"), text_of(program, "id")});
  g.add_machines(number_of(program, "created_ms"), cluster, hosts);
  g.leave_out("Values of environment variables, which the server never returns.");
  g.add("attempts", std::move(attempts));
  g.add("ranks", std::move(ranks));
  return program_report(g.finish());
}

std::string report_on_job(rest& server, std::string const& path, std::string const& said) {
  auto const job = server.get(path);
  gathering g(server, said);
  g.add("job", job);
  bool more = false;
  auto failed =
      server.some(path + "/closures?state=FAILED", "closures", failed_looked_at_max, &more);
  if (more)
    g.leave_out("Failed closures beyond the first " + with_thousands(failed_looked_at_max) + ".");
  json::object logs;
  auto const different = different_failures(failed);
  for (std::size_t i = 0; i < std::min(different.size(), failures_max); ++i) {
    auto const id = text_of(field_of(different[i], "closure"), "id");
    auto const answer = g.ask(
        "/api/v1/closures/" + percent_encoded(id) + "/logs?tail=" + std::to_string(log_lines_max),
        "The log of " + id);
    logs[id] = list_of(answer, "lines");
  }
  spans done;
  bool whole = true;
  server.stream(path + "/trace", [&](std::string_view line) { return whole = done.read(line); });
  if (!whole) g.leave_out("Runs of closures beyond the first " + with_thousands(spans_max) + ".");
  auto const end = number_of(job, "finished_ms");
  auto const to = end > 0 ? end : number_of(g.of("about"), "taken_ms");
  g.add_events(number_of(job, "created_ms"), to, {text_of(job, "cluster")});
  g.leave_out("Arguments and values of closures.");
  g.add("failed", std::move(failed));
  g.add("logs", std::move(logs));
  return job_report(g.finish(), done);
}

std::string report_on_run(rest& server, std::string const& cluster, std::uint64_t run) {
  auto const path = "/api/v1/clusters/" + percent_encoded(cluster);
  auto c = server.get(path);
  gathering g(server, {});
  auto runs = list_of(c, "past");
  runs.push_back(field_of(c, "generation"));
  auto const is_there = [&](json::array const& all) {
    return std::any_of(all.begin(), all.end(),
                       [run](auto const& one) { return count_of(one, "number") == run; });
  };
  if (!is_there(runs))  // older than the runs that the cluster remembers
    for (auto& one : server.all(path + "/runs?", "runs")) runs.push_back(std::move(one));
  for (auto& one : runs) {
    if (count_of(one, "number") != run) continue;
    auto const end = number_of(one, "ended_ms");
    auto late = g.ask(path + "/stragglers", "Late tasks");
    if (count_of(late, "generation") == run) g.add("stragglers", std::move(late));
    g.add_events(number_of(one, "started_ms"), end > 0 ? end : number_of(g.of("about"), "taken_ms"),
                 {cluster});
    g.add("run", std::move(one));
    g.add("cluster", std::move(c));
    g.leave_out("Keys, and the late tasks of runs before the last one.");
    return run_report(g.finish());
  }
  throw command_error(exit_failed, "cluster '" + for_terminal(cluster) + "' has no run " +
                                       std::to_string(run) +
                                       ", or the server has removed that run");
}

}  // namespace muster::cli::postmortem
