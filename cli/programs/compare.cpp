#include "cli/programs/compare.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "cli/programs/program_lookup.hpp"
#include "cli/table.hpp"

namespace muster::cli {
namespace {

constexpr char const* spec_members[] = {
    "name",         "cluster",       "command",          "tasks",       "per_worker",
    "env",          "working_dir",   "upload",           "preload",     "store",
    "max_restarts", "grace_ms",      "restart_grace_ms", "deadline_ms", "notice_ms",
    "on_hang",      "hang_after_ms", "step_pattern",     "spares",      "priority",
    "weight",       "ends_with",     "metadata"};

struct side {
  json::value program;
  json::object facts;
  std::map<std::string, double> step_ms, late_ms;
};

std::int64_t unix_ms() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

void add_hosts_steps(rest& server, std::string const& path, side& s) {
  std::map<std::string, std::pair<double, double>> sums;
  for (auto const& r : ranks_of(server, path)) {
    auto const ms = real_of(r, "step_ms");
    if (ms <= 0) continue;
    auto& [sum, n] = sums[text_of(r, "host")];
    sum += ms;
    ++n;
  }
  for (auto const& [host, of] : sums) s.step_ms[host] = of.first / of.second;
}

void add_latecomers(rest& server, std::string const& path, std::string const& attempt, side& s) {
  auto const answer = server.send("GET", path + "/attempts/" + attempt);
  if (!answer.ok()) return;
  auto const detail = json::parse(answer.body);
  for (auto const& l : list_of(detail, "latecomers")) {
    auto& worst = s.late_ms[text_of(l, "host")];
    worst = std::max(worst, real_of(l, "late_mean_ms"));
  }
}

side look_at(rest& server, std::string const& name) {
  auto const hash = name.rfind('#');
  auto const path = path_of_program(server, name.substr(0, hash));
  side s{server.get(path), {}, {}, {}};
  auto const last = text_of(s.program, "attempt");
  auto const attempt = hash == std::string::npos ? last : name.substr(hash + 1);
  auto const attempts = server.get(path + "/attempts");
  json::value const* its = nullptr;
  for (auto const& a : list_of(attempts, "attempts"))
    if (text_of(a, "attempt") == attempt) its = &a;
  if (!its && hash != std::string::npos)
    throw command_error(exit_failed, title_of(s.program) + " has no attempt '" +
                                         for_terminal(attempt, 20) +
                                         "', or the server has removed it");
  auto const& whole = hash == std::string::npos ? s.program : *its;
  auto const begun = number_of(whole, its && &whole == its ? "begun_ms" : "created_ms");
  auto const ended = number_of(whole, &whole == its ? "ended_ms" : "finished_ms");
  s.facts = {{"program", text_of(s.program, "id")},
             {"attempt", hash == std::string::npos ? json::value(nullptr) : json::value(attempt)},
             {"state", hash == std::string::npos ? text_of(whole, "state") : text_of(whole, "end")},
             {"began_ms", begun},
             {"lasted_ms", (ended > 0 ? ended : unix_ms()) - begun},
             {"attempts", number_of(s.program, "attempt")},
             {"restarts", number_of(s.program, "restarts")},
             {"ranks", number_of(its ? *its : s.program, "ranks")},
             {"hosts", its ? number_of(*its, "hosts") : 0},
             {"cause", field_of(whole, "cause")}};
  if (attempt == last) {  // only the last attempt reports steps
    auto const& steps = field_of(s.program, "steps");
    s.facts["steps"] = number_of(steps, "most");
    s.facts["step_ms"] = real_of(steps, "median_ms");
    add_hosts_steps(server, path, s);
  }
  if (its) add_latecomers(server, path, attempt, s);
  return s;
}

json::value or_null(std::map<std::string, double> const& all, std::string const& host) {
  auto const it = all.find(host);
  return it == all.end() ? json::value(nullptr) : json::value(it->second);
}

json::array hosts_of(side const& a, side const& b) {
  std::set<std::string> names;
  for (auto const* all : {&a.step_ms, &a.late_ms, &b.step_ms, &b.late_ms})
    for (auto const& [host, ms] : *all) names.insert(host);
  json::array rows;
  for (auto const& host : names)
    rows.push_back({{"host", host},
                    {"a_step_ms", or_null(a.step_ms, host)},
                    {"b_step_ms", or_null(b.step_ms, host)},
                    {"a_late_ms", or_null(a.late_ms, host)},
                    {"b_late_ms", or_null(b.late_ms, host)}});
  return rows;
}

json::array settings_that_differ(json::value const& a, json::value const& b) {
  json::array rows;
  for (auto const* name : spec_members)
    if (field_of(a, name) != field_of(b, name))
      rows.push_back({{"name", name}, {"a", field_of(a, name)}, {"b", field_of(b, name)}});
  return rows;
}

// Shortens the common beginning. A table would otherwise cut the end, where the commands differ.
void begin_near_difference(std::string& a, std::string& b) {
  constexpr std::size_t before = 16;
  auto const same = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  if (same <= 2 * before) return;
  auto from = same - before;
  while (from > 0 && (static_cast<unsigned char>(a[from]) & 0xc0) == 0x80) --from;
  for (auto* text : {&a, &b}) *text = "…" + text->substr(from);
}

std::string in_digits(double v) {
  std::ostringstream text;
  text.precision(v < 100 ? 3 : 0);
  (v < 100 ? text : text << std::fixed) << v;
  return text.str();
}

std::string number_text(json::value const& v) {
  return v.is_null() ? "" : in_digits(v.to_number<double>());
}

std::string title(json::value const& of) {
  auto const attempt = text_of(of, "attempt");
  return text_of(of, "program") + (attempt.empty() ? "" : "#" + attempt);
}

std::string change(double a, double b) {
  if (a == b) return "same";
  if (a <= 0 || b <= 0) return {};
  auto const percent = (b / a - 1) * 100;
  auto const whole = static_cast<std::int64_t>(std::lround(percent));
  return whole == 0 ? "same" : (whole > 0 ? "+" : "") + std::to_string(whole) + " %";
}

std::string written(json::value const& v) {
  return v.is_null() ? "not set" : json::serialize(v);
}

}  // namespace

json::value comparison(rest& server, std::string const& a, std::string const& b) {
  auto const one = look_at(server, a), other = look_at(server, b);
  return json::object{{"a", one.facts},
                      {"b", other.facts},
                      {"hosts", hosts_of(one, other)},
                      {"settings", settings_that_differ(one.program, other.program)}};
}

std::string comparison_text(json::value const& both) {
  std::ostringstream to;
  auto const &a = field_of(both, "a"), &b = field_of(both, "b");
  table rows({"", title(a).c_str(), title(b).c_str(), "CHANGE"});
  auto const add = [&](char const* name, char const* key) {
    if (text_of(a, key).empty() && text_of(b, key).empty()) return;
    rows.add({name, text_of(a, key), text_of(b, key), change(real_of(a, key), real_of(b, key))});
  };
  rows.add({"state", text_of(a, "state"), text_of(b, "state"), ""});
  auto const lasted = [](json::value const& of) {
    return rounded(std::chrono::milliseconds(number_of(of, "lasted_ms")));
  };
  rows.add(
      {"lasted", lasted(a), lasted(b), change(real_of(a, "lasted_ms"), real_of(b, "lasted_ms"))});
  add("attempts", "attempts");
  add("restarts", "restarts");
  add("ranks", "ranks");
  add("hosts", "hosts");
  add("steps", "steps");
  if (real_of(a, "step_ms") > 0 || real_of(b, "step_ms") > 0)
    rows.add({"step time, ms", in_digits(real_of(a, "step_ms")), in_digits(real_of(b, "step_ms")),
              change(real_of(a, "step_ms"), real_of(b, "step_ms"))});
  rows.print(to);
  for (auto const* which : {"a", "b"})
    if (auto const& cause = field_of(field_of(both, which), "cause"); cause.is_object())
      to << title(field_of(both, which)) << ": "
         << for_terminal(
                text_of(cause, "text").empty() ? text_of(cause, "message") : text_of(cause, "text"),
                160)
         << '\n';
  if (auto const& hosts = list_of(both, "hosts"); !hosts.empty()) {
    to << "\nby host: step time and lateness at barriers, ms\n";
    table late({"HOST", right("STEP A"), right("STEP B"), right("LATE A"), right("LATE B")});
    for (auto const& h : hosts)
      late.add({for_terminal(text_of(h, "host")), number_text(field_of(h, "a_step_ms")),
                number_text(field_of(h, "b_step_ms")), number_text(field_of(h, "a_late_ms")),
                number_text(field_of(h, "b_late_ms"))});
    late.print(to);
  }
  auto const& settings_rows = list_of(both, "settings");
  to << (settings_rows.empty() ? "\nno setting differs\n" : "\nsettings that differ\n");
  if (settings_rows.empty()) return to.str();
  table differ({"SETTING", "A", "B"});
  for (auto const& s : settings_rows) {
    std::string of_a = written(field_of(s, "a")), of_b = written(field_of(s, "b"));
    begin_near_difference(of_a, of_b);
    differ.add({text_of(s, "name"), for_terminal(of_a, 60), for_terminal(of_b, 60)});
  }
  differ.print(to);
  return to.str();
}

}  // namespace muster::cli
