#include <algorithm>

#include "base/text.hpp"
#include "web/alerts/alerts.hpp"
#include "web/alerts/words.hpp"

namespace muster::web {
namespace {

constexpr std::size_t programs_singly = 3;

std::string program_page(troubled_program const& p, pool_facts const& of) {
  return page_link("/programs/" + core::text(p.id), {{"cluster", of.cluster}});
}

alert about_many(alert item, std::vector<troubled_program> const& all, std::string const& state,
                 pool_facts const& of) {
  std::vector<std::string> names;
  for (auto const& p : all) names.push_back(p.name);
  item.subject = of.cluster;
  item.count = all.size();
  item.detail = some_of(names, all.size()) + "; the newest: " + all.front().text;
  item.link = page_link("/programs", {{"state", state}, {"cluster", of.cluster}});
  return item;
}

}  // namespace

void failed_programs(pool_facts const& p, alerts& out) {
  auto const& all = p.failed_programs;
  if (all.size() > programs_singly) {
    auto item = about_many({.rule = "programs-failed"}, all, "FAILED", p);
    item.title = counted(all.size(), "program") + " failed within an hour";
    item.since = all.front().since;
    return out.push_back(std::move(item));
  }
  for (auto const& one : all) {
    alert item{.rule = "program-failed", .subject = core::text(one.id)};
    item.title = "Program " + one.name + " failed";
    item.detail = one.text;
    item.since = one.since;
    item.link = program_page(one, p);
    item.command = "muster programs show " + core::text(one.id);
    out.push_back(std::move(item));
  }
}

// A program that no worker can run is as serious as a closure that no worker can run.
void waiting_programs(pool_facts const& p, alert_facts const& f, alerts& out) {
  std::vector<troubled_program> long_ago;
  for (auto const& one : p.waiting_programs)
    if (one.since + pool_facts::program_waits_after <= f.now) long_ago.push_back(one);
  auto const severity = [](bool cannot_start) {
    return cannot_start ? alert_severity::error : alert_severity::warning;
  };
  if (long_ago.size() > programs_singly) {
    auto item = about_many({.rule = "programs-wait"}, long_ago, "PENDING", p);
    item.severity = severity(std::any_of(long_ago.begin(), long_ago.end(),
                                         [](troubled_program const& one) { return one.sure; }));
    item.title = counted(long_ago.size(), "program") + " are waiting";
    item.since = long_ago.back().since;
    return out.push_back(std::move(item));
  }
  for (auto const& one : long_ago) {
    alert item{.rule = "program-waits", .subject = core::text(one.id)};
    item.severity = severity(one.sure);
    item.title = "Program " + one.name + " is waiting";
    item.detail = one.text;
    item.since = one.since;
    item.link = program_page(one, p);
    item.command = "muster programs show " + core::text(one.id);
    out.push_back(std::move(item));
  }
}

void hung_programs(pool_facts const& p, alerts& out) {
  auto const& all = p.hung_programs;
  if (all.size() > programs_singly) {
    auto item = about_many({.rule = "programs-hang"}, all, "RUNNING", p);
    item.title = counted(all.size(), "program") + " hang";
    item.since = all.front().since;
    return out.push_back(std::move(item));
  }
  for (auto const& one : all) {
    alert item{.rule = "program-hangs", .subject = core::text(one.id)};
    item.severity = one.sure ? alert_severity::error : alert_severity::warning;
    item.title = "Program " + one.name + " hangs";
    item.detail = one.text;
    item.since = one.since;
    item.link = program_page(one, p);
    item.command = "muster programs stacks " + core::text(one.id);
    out.push_back(std::move(item));
  }
}

}  // namespace muster::web
