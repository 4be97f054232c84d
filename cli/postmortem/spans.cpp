#include "cli/postmortem/spans.hpp"

#include <algorithm>

#include "base/percentile.hpp"
#include "cli/postmortem/html_text.hpp"

namespace muster::cli::postmortem {

bool spans::read(std::string_view line) {
  if (line.ends_with(',')) line.remove_suffix(1);
  boost::system::error_code error;
  auto const e = json::parse(json::string_view(line.data(), line.size()), error);
  if (error || !e.is_object()) return true;  // first or last line
  auto const process = text_of(e, "pid"), thread = process + " " + text_of(e, "tid");
  auto name = text_of(field_of(e, "args"), "name");
  if (text_of(e, "name") == "process_name") names_[process] = name;
  if (text_of(e, "name") == "thread_name")  // "worker:3 #2" contains concurrent executions
    names_[thread] = name.substr(0, name.find(" #")) + " on " + names_[process];
  if (text_of(e, "ph") != "X") return true;
  if (all_.size() == spans_max) return false;
  auto const& function = *names_.try_emplace("=" + text_of(e, "name"), text_of(e, "name")).first;
  auto const state = text_of(field_of(e, "args"), "state");
  all_.push_back({&function.second, &names_[thread], number_of(e, "ts"), number_of(e, "dur"),
                  state == "SUCCEEDED"   ? shade::ok
                  : state == "RUNNING"   ? shade::running
                  : state == "CANCELLED" ? shade::stopped
                                         : shade::failed});
  return true;
}

json::array spans::sums(bool by_function) const {
  struct sum {
    std::vector<double> took{};
    double total = 0;
    std::uint64_t failed = 0;
  };
  std::map<std::string, sum> of;
  for (auto const& s : all_) {
    auto& one = of[by_function ? *s.function : *s.task];
    one.took.push_back(static_cast<double>(s.took_us) / 1000);
    one.total += one.took.back();
    one.failed += s.of == shade::failed;
  }
  json::array out;
  for (auto& [name, s] : of) {
    std::sort(s.took.begin(), s.took.end());
    out.push_back({{"name", name},
                   {"count", s.took.size()},
                   {"failed", s.failed},
                   {"total_ms", s.total},
                   {"median_ms", percentile(s.took, 0.5)},
                   {"p95_ms", percentile(s.took, 0.95)},
                   {"longest_ms", s.took.back()}});
  }
  std::stable_sort(out.begin(), out.end(), [](auto const& l, auto const& r) {
    return real_of(l, "total_ms") > real_of(r, "total_ms");
  });
  return out;
}

std::string spans::timeline(std::int64_t from_ms, std::int64_t to_ms) const {
  std::map<std::string, lane> of;
  for (auto const& s : all_) {
    auto& l = of[*s.task];
    l.label = html(*s.task);
    l.first = l.first || s.of == shade::failed;
    l.bars.push_back({s.from_us, s.from_us + s.took_us, s.of});
  }
  // Failed spans are short, so they are drawn last, on top.
  chart c{from_ms * 1000, to_ms * 1000, 1000};
  for (auto& [task, l] : of) {
    std::stable_sort(l.bars.begin(), l.bars.end(), [](auto const& a, auto const& b) {
      return (a.of == shade::failed) < (b.of == shade::failed);
    });
    c.lanes.push_back(std::move(l));
  }
  return c.text("o=succeeded|f=failed or lost|x=cancelled|r=running");
}

}  // namespace muster::cli::postmortem
