#include "cli/postmortem/page.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "cli/postmortem/lanes.hpp"
#include "cli/postmortem/style.hpp"
#include "cli/table.hpp"
#include "launch/cluster/resolver_text.hpp"

namespace muster::cli::postmortem {
namespace {

constexpr double least_time_ms = 1e12;  // a time in 2001; smaller values are durations

struct named {
  std::string title, key;
};

std::vector<named> all_of(std::string_view keys) {
  std::vector<named> all;
  for (auto const one : cluster::split(keys, '|')) {
    auto const at = one.find('=');
    all.push_back({std::string(one.substr(0, at)), std::string(one.substr(at + 1))});
  }
  return all;
}

std::string strips(json::value const& machine, std::int64_t from, std::int64_t to) {
  struct figure {
    char const *key, *name;
    double most;
  };
  auto const& now = field_of(machine, "machine");
  auto const& samples = field_of(machine, "samples");
  auto const& seconds = list_of(field_of(samples, "seconds"), "");
  double gpu_bytes = 0;
  for (auto const& g : list_of(now, "gpus")) gpu_bytes += real_of(g, "memory_total_bytes");
  std::string out;
  for (auto const& f :
       {figure{"cpu", "CPU", real_of(now, "cpus")},
        figure{"memory_bytes", "Memory", real_of(now, "memory_total_bytes")},
        figure{"gpu_busy", "GPUs", 1}, figure{"gpu_memory_bytes", "GPU memory", gpu_bytes}}) {
    auto const& values = list_of(field_of(samples, f.key), "");
    curve c;
    for (std::size_t i = 0; i < std::min(seconds.size(), values.size()); ++i) {
      auto const at = number_of({{"s", seconds[i]}}, "s") * 1000;
      if (at < from || at > to) continue;
      auto& point = c.points.emplace_back(at, std::nullopt);
      if (values[i].is_number())
        c.peak = std::max(c.peak, *(point.second = values[i].to_number<double>()));
    }
    c.most = std::max({f.most, c.peak, 1e-9});  // a lost machine has only samples
    auto const peak = std::string_view(f.key).ends_with("bytes")
                          ? in_bytes(c.peak) + (f.most > 0 ? " of " + in_bytes(f.most) : "")
                      : f.most > 0
                          ? std::to_string(static_cast<int>(c.peak / f.most * 100)) + "%"
                          : "about " + counted(static_cast<std::uint64_t>(c.peak + 0.5), "core");
    out += c.text(std::string(f.name) + " <small>at most " + peak + "</small>", from, to);
  }
  return out;
}

std::string machines(json::array const& all, std::int64_t from, std::int64_t to) {
  std::string out;
  std::set<std::string> hosts;
  for (auto const& m : all)
    if (hosts.insert(text_of(m, "host")).second)
      if (auto const some = strips(m, from, to); !some.empty())
        out += headed(shown(m, "host"), axis(from, to) + some);
  return out;
}

}  // namespace

std::string shown(json::value const& object, std::string_view key) {
  auto const& value = field_of(object, key);
  if (value.is_number() && key.ends_with("_ms")) {
    auto const ms = real_of(object, key);
    return ms == 0               ? ""
           : ms >= least_time_ms ? "<time>" + utc(number_of(object, key), true) + "</time>"
                                 : lasted(ms);
  }
  if (value.is_number() && key.ends_with("bytes")) return in_bytes(real_of(object, key));
  if (value.is_bool()) return value.get_bool() ? "yes" : "";
  auto const text = html(text_of(object, key));
  for (auto const* bad : {"FAILED", "ERROR", "LOST", "HUNG"})
    if (text == bad) return "<span class=bad>" + text + "</span>";
  return text;
}

std::string fact(std::string const& title, std::string const& value) {
  return value.empty() ? value : "<dl><dt>" + title + "</dt><dd>" + value + "</dd></dl>\n";
}

std::string facts(json::value const& object, std::string_view keys) {
  std::string out;
  for (auto const& [title, key] : all_of(keys)) out += fact(title, shown(object, key));
  return out;
}

std::string table(std::string const& title, json::array const& list, std::string_view keys) {
  if (list.empty()) return {};
  std::string head, rows;
  std::vector<named> used;
  for (auto& n : all_of(keys))
    if (std::any_of(list.begin(), list.end(),
                    [&](auto const& v) { return !shown(v, n.key).empty(); }))
      used.push_back(std::move(n));
  auto const numbers = [](json::value const& v, named const& n) {
    return field_of(v, n.key).is_number() && shown(v, n.key).size() < 20 ? " class=n>" : ">";
  };
  for (auto const& n : used)
    head += "<th" + std::string(numbers(list.front(), n)) + n.title + "</th>";
  for (std::size_t i = 0; i < std::min(list.size(), rows_max); ++i) {
    rows += "<tr>";
    for (auto const& n : used)
      rows += "<td" + std::string(numbers(list[i], n)) + shown(list[i], n.key) + "</td>";
    rows += "</tr>\n";
  }
  if (list.size() > rows_max)
    rows += "<tr><td colspan=9>" + with_thousands(list.size() - rows_max) + " more</td></tr>\n";
  return headed(title, "<div class=scroll><table><thead><tr>" + head + "</tr></thead><tbody>\n" +
                           rows + "</tbody></table></div>\n");
}

json::array since(json::array list, std::string_view key, std::int64_t begun) {
  for (auto& v : list)
    if (v.is_object() && number_of(v, key) > 0)
      v.as_object()["after_ms"] = number_of(v, key) - begun;
  return list;
}

std::string how_it_is(json::value const& object) {
  auto const state = text_of(object, "state"), name = shown(object, "name");
  auto const at = utc(number_of(object, "finished_ms"));
  return "<b>" + (name.empty() ? shown(object, "id") : name) + "</b> " +
         (state == "SUCCEEDED"   ? "has succeeded"
          : state == "FAILED"    ? "has failed"
          : state == "CANCELLED" ? "was cancelled"
                                 : "is still " + html(state)) +
         (at.empty() ? at : " at " + at);
}

std::string folded(std::string const& title, std::string const& body, bool open) {
  return std::string(open ? "<details open>" : "<details>") + "<summary>" + title + "</summary>" +
         body + "</details>\n";
}

std::string headed(std::string const& title, std::string const& body) {
  return body.empty() || title.empty() ? body : "<h3>" + title + "</h3>\n" + body;
}

std::string page::text(json::value const& facts, std::int64_t from, std::int64_t to,
                       std::string const& settings) {
  std::string missing, nav, body;
  for (auto const& s : list_of(facts, "left_out"))
    missing += "<p>" + shown({{"text", s}}, "text") + "</p>\n";
  sections.push_back({"machines", "Machines", machines(list_of(facts, "machines"), from, to)});
  sections.push_back({"events", "Events of the cluster at that time",
                      table("", list_of(facts, "events"),
                            "Time=time_ms|Severity=severity|Kind=kind|About=subject|Text=text")});
  sections.push_back({"settings", "Settings", settings});
  sections.push_back({"left-out", "Omitted from this report", missing});
  for (auto const& [id, name, content] : sections) {
    if (content.empty()) continue;
    bool const room = body.size() + content.size() <= page_bytes_max;
    auto const size = in_bytes(static_cast<double>(content.size()));
    nav += "<a href=\"#" + std::string(id) + "\">" + name + "</a>\n";
    body += "<section id=\"" + std::string(id) + "\"><h2>" + name + "</h2>\n" +
            (room ? content
                  : "<p>Omitted because of its size, " + size +
                        ": the limit for all sections together is " + in_bytes(page_bytes_max) +
                        ".</p>") +
            "</section>\n";
  }
  auto const& a = field_of(facts, "about");
  return "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'\">\n<meta name=viewport content=\"width=device-width,initial-scale=1\">\n"
         "<title>" +
         html(title) + " · post-mortem</title><style>" + style +
         "</style></head>\n<body><main>\n<p class=k>Post-mortem of a " + kind + "</p><h1>" +
         html(title) + "</h1>\n<p class=\"verdict " + tone + "\">" + verdict +
         "</p>\n<p class=about>Taken at " + utc(number_of(a, "taken_ms")) + " from " +
         shown(a, "url") + " by muster " + shown(a, "version") + ". All times are UTC. " +
         shown(a, "said") + "</p>\n<nav>" + nav + "</nav>\n" + body + "</main></body></html>\n";
}

}  // namespace muster::cli::postmortem
