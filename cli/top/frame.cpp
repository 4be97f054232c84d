#include "cli/top/frame.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/table.hpp"

namespace muster::cli::top {
namespace {

char const* name(order o) {
  return o == order::task      ? "task"
         : o == order::running ? "running"
         : o == order::rate    ? "rate"
                               : "failed";
}

std::string per_second(double n) {
  if (n < 0) return "-";
  char text[32];
  std::snprintf(text, sizeof text, n < 100 ? "%.1f" : "%.0f", n);
  return text;
}

std::string key_of(json::value const& task) {
  return text_of(task, "job") + ":" + text_of(task, "index") + " " + text_of(task, "incarnation");
}

std::int64_t started(json::value const& closure) {
  auto const& attempts = list_of(closure, "attempts");
  return attempts.empty() ? 0 : number_of(attempts.back(), "started_ms");
}

// Returns the jobs that run most closures. Queries RUNNING, because older servers support it as
// well.
json::array busiest(rest& server, std::string const& cluster) {
  auto const of = cluster == "default" ? std::string() : "&" + of_cluster(cluster);
  auto const running = [](json::value const& job) {
    return number_of(field_of(job, "counts"), "running");
  };
  json::array jobs;
  for (auto const& job : server.some("/api/v1/jobs?state=RUNNING" + of, "jobs", 200))
    if (running(job) > 0) jobs.push_back(job);
  std::stable_sort(jobs.begin(), jobs.end(),
                   [&](auto const& a, auto const& b) { return running(a) > running(b); });
  if (jobs.size() > jobs_examined) jobs.resize(jobs_examined);
  return jobs;
}

json::array going_on(rest& server, std::string const& cluster) {
  auto const of = cluster == "default" ? std::string() : "&" + of_cluster(cluster);
  json::array programs;
  for (auto const* state : {"PENDING", "STARTING", "RUNNING", "RESTARTING", "STOPPING"})
    for (auto const& p :
         server.some("/api/v1/programs?state=" + std::string(state) + of, "programs", programs_max))
      programs.push_back(p);
  std::stable_sort(programs.begin(), programs.end(), [](auto const& a, auto const& b) {
    return number_of(a, "created_ms") > number_of(b, "created_ms");
  });
  if (programs.size() > programs_max) programs.resize(programs_max);
  return programs;
}

json::array slowest_running(rest& server, std::string const& cluster) {
  json::array all;
  for (auto const& job : busiest(server, cluster)) {
    auto const answer = server.get(
        "/api/v1/jobs/" + percent_encoded(text_of(job, "id")) +
        "/closures?state=RUNNING&sort=started&order=asc&limit=" + std::to_string(slowest_max));
    for (auto const& c : list_of(answer, "closures")) all.push_back(c);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](auto const& a, auto const& b) { return started(a) < started(b); });
  if (all.size() > slowest_max) all.resize(slowest_max);
  return all;
}

std::vector<std::string> printed(table const& rows) {
  std::ostringstream out;
  rows.print(out);
  std::vector<std::string> lines;
  auto in = std::istringstream(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Uses this machine's clock, which may be behind the server's.
std::chrono::milliseconds since(std::int64_t unix_ms) {
  using namespace std::chrono;
  auto const now = duration_cast<milliseconds>(system_clock::now().time_since_epoch());
  return std::max(now - milliseconds(unix_ms), milliseconds(0));
}

std::string count(json::value const& object, std::string_view key) {
  return with_thousands(count_of(object, key));
}

std::vector<std::string> head(frame const& f, view_options const& l) {
  auto const &o = f.overview, &c = field_of(o, "closures"), &t = field_of(o, "tasks");
  auto const& rate = field_of(o, "rates");
  std::vector<std::string> lines;
  lines.push_back("muster " + text_of(f.version, "version") + "  " + l.url + "  up " +
                  rounded(std::chrono::milliseconds(number_of(o, "uptime_ms"))));
  if (f.alerts > 0)
    lines.back() += "  " + std::to_string(f.alerts) + (f.alerts == 1 ? " alert" : " alerts") +
                    ": muster doctor";
  lines.push_back(
      "closures  " + count(c, "running") + " running  " + count(c, "queued") + " queued  " +
      count(c, "blocked") + " blocked  " + per_second(real_of(rate, "finished")) + "/s finished  " +
      per_second(real_of(rate, "failed")) + "/s failed  " + count(c, "put_back") + " requeued");
  lines.push_back("tasks     " + count(t, "connected") + " connected  " + count(t, "late") +
                  " late  " + count(t, "error") + " in error  " + count(t, "disconnected") +
                  " disconnected");
  lines.push_back(l.away.empty()
                      ? std::string()
                      : "AWAY: " + l.away + "; these numbers are the last ones received");
  return lines;
}

std::string cores(json::value const& m) {
  if (field_of(m, "cpu").is_null()) return "-";
  char text[48];
  std::snprintf(text, sizeof text, "%.1f/%.3g", real_of(m, "cpu"), real_of(m, "cpus"));
  return text;
}
std::string percent(double part, double of) {
  return of > 0 ? std::to_string(static_cast<int>(100 * part / of)) + " %" : "-";
}
std::string memory(json::value const& m) {
  if (field_of(m, "memory_bytes").is_null()) return "-";
  return percent(real_of(m, "memory_bytes"), real_of(m, "memory_total_bytes"));
}
std::string gpus(json::value const& m) {
  double busy = 0, known = 0;
  for (auto const& g : list_of(m, "gpus"))
    if (!field_of(g, "busy").is_null()) busy += real_of(g, "busy"), known += 1;
  return percent(busy, known);
}

std::vector<std::string> task_lines(frame const& f, rates const& r, order by) {
  auto tasks = f.tasks;
  auto const more = [&](auto const& a, auto const& b) {
    if (by == order::running) return number_of(a, "running") > number_of(b, "running");
    if (by == order::rate) return r.of(a) > r.of(b);
    return by == order::failed && number_of(a, "failed") > number_of(b, "failed");
  };
  std::stable_sort(tasks.begin(), tasks.end(), more);
  table rows({"TASK", "STATE", right("RUNNING"), right("SLOTS"), right("RATE/S"), right("FINISHED"),
              right("FAILED"), right("HEARTBEAT"), right("CPU"), right("MEMORY"), right("GPU"),
              "HOST"});
  for (auto const& t : tasks) {
    bool const agent = text_of(t, "kind") == "agent";
    auto const number = [&](std::string_view key) { return agent ? "-" : count(t, key); };
    bool const heard = !field_of(t, "heartbeat_age_ms").is_null();
    auto const age = std::chrono::milliseconds(number_of(t, "heartbeat_age_ms"));
    bool const unheard = is_true(t, "unheard") && text_of(t, "state") == "CONNECTED";
    rows.add({text_of(t, "job") + ":" + text_of(t, "index"),
              unheard ? "UNHEARD" : text_of(t, "state"), number("running"), number("slots"),
              per_second(agent ? -1 : r.of(t)), number("finished"), number("failed"),
              heard ? rounded(age) : "never", cores(field_of(t, "machine")),
              memory(field_of(t, "machine")), gpus(field_of(t, "machine")),
              for_terminal(text_of(t, "host"), 24)});
  }
  auto lines = printed(rows);
  if (tasks.empty()) lines = {"no task is connected; 'muster worker' starts one"};
  return lines;
}

// Returns nothing if no program is active, because most clusters have none.
std::vector<std::string> program_lines(frame const& f) {
  if (f.programs.empty()) return {};
  table rows({"PROGRAM", "STATE", right("RANKS"), right("ATTEMPT"), right("STEP"), right("AGE"),
              "WAITS FOR"});
  for (auto const& p : f.programs)
    rows.add({for_terminal(text_of(p, "name"), 32), text_of(p, "state"),
              count(p, "alive") + "/" + count(p, "ranks"), count(p, "attempt"),
              text_of(field_of(p, "steps"), "least"), rounded(since(number_of(p, "created_ms"))),
              for_terminal(text_of(p, "waits_for"), 80)});
  auto lines = printed(rows);
  lines.push_back({});
  return lines;
}

std::vector<std::string> closure_lines(frame const& f) {
  if (f.slowest.empty()) return {"no closure is running"};
  table rows({right("RUNS FOR"), "CLOSURE", "FUNCTION", "WORKER", "JOB"});
  for (auto const& c : f.slowest) {
    auto const& attempts = list_of(c, "attempts");
    rows.add({started(c) == 0 ? "-" : rounded(since(started(c))), text_of(c, "id"),
              for_terminal(text_of(c, "function"), 40),
              attempts.empty() ? "" : text_of(attempts.back(), "worker"), text_of(c, "job")});
  }
  return printed(rows);
}

/// If lines are omitted, the last line states how many.
void append(std::vector<std::string>& to, std::vector<std::string> lines, std::size_t room) {
  if (lines.size() > room) {
    auto const hidden = lines.size() - room + 1;
    lines.resize(room);
    if (room > 0) lines.back() = "… " + std::to_string(hidden) + " more";
  }
  to.insert(to.end(), lines.begin(), lines.end());
}

}  // namespace

frame look(rest& server, std::string const& cluster) {
  frame f;
  f.overview = server.get("/api/v1/overview");
  f.at = steady::now();
  f.version = server.get("/api/v1/version");
  f.tasks =
      server.some("/api/v1/clusters/" + percent_encoded(cluster) + "/tasks?", "tasks", tasks_max);
  f.programs = going_on(server, cluster);
  f.slowest = slowest_running(server, cluster);
  f.alerts = list_of(server.get("/api/v1/attention"), "items").size();
  return f;
}

json::object to_json(frame const& f) {
  return {{"version", f.version},   {"overview", f.overview}, {"tasks", f.tasks},
          {"programs", f.programs}, {"slowest", f.slowest},   {"attention", f.alerts}};
}

order after(order o) {
  return o == order::failed ? order::task : static_cast<order>(static_cast<int>(o) + 1);
}

double rates::of(json::value const& task) const {
  auto const r = rows_.find(key_of(task));
  return r == rows_.end() ? -1 : r->second.per_second;
}

void rates::take(frame const& f) {
  auto const passed = std::chrono::duration<double>(f.at - at_).count();
  std::map<std::string, row> now;
  for (auto const& t : f.tasks) {
    auto& r = now[key_of(t)];
    r.finished = number_of(t, "finished");
    auto const before = rows_.find(key_of(t));
    if (before == rows_.end() || passed <= 0) continue;
    auto const more = r.finished - before->second.finished;
    r.per_second = static_cast<double>(std::max<std::int64_t>(more, 0)) / passed;
  }
  rows_ = std::move(now);
  at_ = f.at;
}

std::vector<std::string> lines_of(frame const& f, rates const& r, view_options const& l) {
  auto lines = head(f, l);
  auto const all = l.height == std::string::npos ? std::size_t{1} << 20 : l.height;
  auto tasks = task_lines(f, r, l.sorted), closures = closure_lines(f);
  auto programs = program_lines(f);
  auto left = all > lines.size() + 2 ? all - lines.size() - 2 : 0;
  auto const ours = std::min(programs.size(), left / 3);  // leaves two thirds for the other rows
  left -= ours;
  auto const room =
      std::min(closures.size(), std::max(left / 2, left - std::min(left, tasks.size())));
  append(lines, std::move(tasks), left - room);
  lines.push_back({});
  append(lines, std::move(programs), ours);
  append(lines, std::move(closures), room);
  if (l.height != std::string::npos)
    lines.push_back(std::string("q quit  s sort: ") + name(l.sorted));
  if (lines.size() > all) lines.resize(all);
  for (auto& line : lines) line = for_terminal(line, l.width);
  return lines;
}

}  // namespace muster::cli::top
