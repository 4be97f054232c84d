// /metrics follows the text format and the rules of `promtool check metrics`: one declaration per
// family, base units, suffixes and labels that fit the type.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

struct sample {
  std::string name;
  std::map<std::string, std::string> labels;
  double value = 0;
};

struct family {
  std::string help, type;
  std::vector<sample> samples;
};

using families = std::map<std::string, family>;

bool has_suffix(std::string const& name, std::initializer_list<char const*> suffixes) {
  return std::ranges::any_of(suffixes, [&](auto const* s) { return name.ends_with(s); });
}

std::string without_suffix(std::string name) {
  for (auto const* s : {"_bucket", "_sum", "_count"})
    if (name.ends_with(s)) name.resize(name.size() - std::string_view(s).size());
  return name;
}

std::optional<sample> parsed_sample(std::string const& line) {
  static std::regex const form(R"re(^([a-z_]+)(?:\{(.*)\})? (\S+)$)re");
  static std::regex const label(R"re(^([a-z_]+)="((?:[^"\\]|\\.)*)"(,|$))re");
  std::smatch m;
  if (!std::regex_match(line, m, form)) return {};
  sample s;
  s.name = m[1];
  auto const digits = m[3].str();
  char* end = nullptr;
  s.value = std::strtod(digits.c_str(), &end);
  if (*end != 0) return {};
  for (auto labels = m[2].str(); !labels.empty();) {
    std::smatch one;
    if (!std::regex_search(labels, one, label)) return {};
    if (!s.labels.emplace(one[1], one[2]).second) return {};
    labels = one.suffix();
  }
  return s;
}

// Appends a line to `wrong` for each problem.
families parse(std::string const& text, std::vector<std::string>& wrong) {
  families all;
  std::string now;
  std::set<std::string> series;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, what, name, rest;
    words >> hash >> what >> name;
    std::getline(words >> std::ws, rest);
    if (hash == "#" && what == "HELP") {
      if (all.contains(name)) wrong.push_back(name + " is told twice");
      now = name;
      all[now].help = rest;
    } else if (hash == "#" && what == "TYPE") {
      if (name != now || !all[now].type.empty()) wrong.push_back(name + ": TYPE without its HELP");
      all[now].type = rest;
    } else {
      auto s = parsed_sample(line);
      if (!s) {
        wrong.push_back("no sample: " + line);
        continue;
      }
      if (!series.insert(line.substr(0, line.rfind(' '))).second) wrong.push_back("twice: " + line);
      bool const parts = all[now].type == "histogram" || all[now].type == "summary";
      if (s->name != now && !(parts && without_suffix(s->name) == now))
        wrong.push_back(s->name + " stands in the family " + now);
      all[now].samples.push_back(std::move(*s));
    }
  }
  return all;
}

void check_name(std::string const& name, std::string const& type, std::vector<std::string>& wrong) {
  static std::set<std::string> const foreign = {
      "milliseconds", "microseconds", "ms",    "us",      "minutes",   "hours",   "days",
      "kb",           "mb",           "kib",   "mib",     "bits",      "percent", "kilobytes",
      "megabytes",    "counter",      "gauge", "summary", "histogram", "sec",     "s"};
  std::istringstream parts(name);
  for (std::string part; std::getline(parts, part, '_');)
    if (foreign.contains(part))
      wrong.push_back(name + ": '" + part + "' is no base unit, or a type");
  if ((type == "counter") != name.ends_with("_total"))
    wrong.push_back(name + ": counters and only they end in _total");
  if (has_suffix(name, {"_count", "_sum", "_bucket", "_info"}))
    wrong.push_back(name + " has a suffix that is reserved");
  auto const base = name.ends_with("_total") ? name.substr(0, name.size() - 6) : name;
  for (auto const* unit : {"_seconds", "_bytes"})
    if (base.find(unit) != std::string::npos && !base.ends_with(unit))
      wrong.push_back(name + ": the unit stands at the end");
}

void check_histogram(std::string const& name, family const& f, std::vector<std::string>& wrong) {
  double last = 0, count = -1, all = -2;
  for (auto const& s : f.samples) {
    if (s.name == name + "_count") count = s.value;
    if (s.name != name + "_bucket") continue;
    if (s.value < last) wrong.push_back(name + ": its buckets go down");
    last = s.value;
    if (s.labels.contains("le") && s.labels.at("le") == "+Inf") all = s.value;
  }
  if (count != all) wrong.push_back(name + ": +Inf and _count differ, or one is missing");
}

std::vector<std::string> faults(std::string const& text) {
  std::vector<std::string> wrong;
  for (auto const& [name, f] : parse(text, wrong)) {
    if (f.help.empty()) wrong.push_back(name + " has no help");
    if (f.type != "counter" && f.type != "gauge" && f.type != "histogram" && f.type != "summary")
      wrong.push_back(name + " has the type '" + f.type + "'");
    check_name(name, f.type, wrong);
    if (f.type == "histogram") check_histogram(name, f, wrong);
    for (auto const& s : f.samples) {
      if (s.labels.contains("quantile") != (f.type == "summary" && s.name == name))
        wrong.push_back(name + ": quantiles are of summaries");
      if (s.labels.contains("le") != (f.type == "histogram" && s.name == name + "_bucket"))
        wrong.push_back(name + ": le is of histograms");
      if (f.type == "counter" && s.value < 0) wrong.push_back(name + " is negative");
    }
  }
  return wrong;
}

class metrics : public web_fixture {};

TEST_F(metrics, pass_the_linter) {
  start({}, {}, 2);
  add_worker(worker::habit::echo);
  get_json("/api/v1/jobs/" + text_at(submit(5), "/id") + "/join?timeout=10s");
  auto const text = get("/metrics").body;
  for (auto const& fault : faults(text)) ADD_FAILURE() << fault;
  EXPECT_GT(text.size(), 1'000u);
}

TEST_F(metrics, linter_rules_find_violations) {
  char const* const bad[] = {
      "# HELP a_total x\n# TYPE a_total gauge\na_total 1\n",
      "# HELP a x\n# TYPE a counter\na 1\n",
      "# HELP a x\n# TYPE a gauge\na{quantile=\"0.5\"} 1\n",
      "# HELP a_ms x\n# TYPE a_ms gauge\na_ms 1\n",
      "# HELP a_seconds_age x\n# TYPE a_seconds_age gauge\na_seconds_age 1\n",
      "# HELP a x\n# TYPE a gauge\na 1\na 2\n",
      "# HELP a x\n# TYPE a gauge\na 1\n# HELP a x\n# TYPE a gauge\n",
      "# TYPE a gauge\na 1\n",
      "# HELP a x\n# TYPE a gauge\nb 1\n",
      "# HELP a x\n# TYPE a gauge\na one\n",
      "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum "
      "1\na_count 1\n",
      "# HELP a x\n# TYPE a histogram\na_bucket{le=\"1\"} 1\na_sum 1\na_count 1\n"};
  for (auto const* text : bad) EXPECT_FALSE(faults(text).empty()) << text;
  EXPECT_TRUE(
      faults("# HELP a_seconds x\n# TYPE a_seconds gauge\na_seconds{b=\"c\\\"\"} 1\n").empty());
}

}  // namespace
}  // namespace muster::web::test
