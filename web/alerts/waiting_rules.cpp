#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "server/core/texts/explanation_texts.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/alerts/alerts.hpp"
#include "web/alerts/words.hpp"

namespace muster::web {
namespace {

// Limit of views with their own alert. One more alert counts the remaining views.
constexpr std::size_t singly = 3;

std::string text_of(core::closure_options const& needs) {
  std::string text;
  auto const add = [&text](std::string const& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!needs.task_job.empty())
    add(needs.task_job + (needs.task_index < 0 ? "" : ":" + std::to_string(needs.task_index)));
  for (auto const& [name, value] : needs.labels) add(name + "=" + value);
  for (auto const& [name, amount] : needs.resources) add(name + "=" + std::to_string(amount));
  return text;
}

std::string closure_page(core::closure_id c, core::session_id job, pool_facts const& p) {
  auto const id = job == core::session_id{} ? std::string() : core::text(job);
  return page_link("/closures/" + core::text(c), {{"job", id}, {"cluster", p.cluster}});
}

bool has_workers(pool_facts const& p) {
  return p.overview.tasks_connected + p.overview.tasks_late > 0;
}

// Raises an alert `as_item(one)` for each of the first views. The remaining views share the alert
// `rest`, whose count is the sum of `count_of_item(one)`.
template <class View, class Item, class Count>
void tell(std::vector<View const*> const& all, Item const& as_item, Count const& count_of_item,
          alert rest, std::string_view noun, std::string_view what, alerts& out) {
  rest.count = 0;
  rest.since = core::never;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < singly) {
      out.push_back(as_item(*all[i]));
      continue;
    }
    rest.count += count_of_item(*all[i]);
    rest.since = std::min(rest.since, all[i]->since);
  }
  if (rest.count == 0) return;
  rest.title = counted(rest.count, noun) + std::string(what);
  out.push_back(std::move(rest));
}

}  // namespace

void unmet_demands(pool_facts const& p, alerts& out) {
  if (!has_workers(p)) return;  // another rule reports a cluster without workers
  std::vector<core::demand_view const*> unmet;
  for (auto const& w : p.unmet_demand.items)
    // If there are no needs, another rule reports the function.
    if (!text_of(w.needs).empty()) unmet.push_back(&w);
  auto const item_of = [&p](core::demand_view const& w) {
    alert item{.rule = "wish-unmet", .subject = core::text(w.first), .count = w.queued};
    item.title = counted(w.queued, "closure") + " queued for " + text_of(w.needs) +
                 (w.workers > 0 ? ", but the workers that meet this need accept no closures"
                                : ", which no connected worker has");
    item.detail = text(w.lack);
    item.since = w.since;
    item.link = closure_page(w.first, w.job, p);
    item.command = "muster explain " + core::text(w.first);
    return item;
  };
  alert rest{.rule = "wishes-unmet", .subject = p.cluster};
  rest.link = page_link("/gangs", {{"cluster", p.cluster}});
  tell(
      unmet, item_of, [](auto const& w) { return w.queued; }, std::move(rest), "more closure",
      " queued with needs that no worker meets", out);
}

void impossible_gangs(pool_facts const& p, alerts& out) {
  if (!has_workers(p)) return;
  std::vector<core::gang_view const*> impossible;
  for (auto const& g : p.gangs.items)
    if (!g.waits.possible) impossible.push_back(&g);
  auto const item_of = [&p](core::gang_view const& g) {
    alert item{.rule = "gang-unmet", .subject = core::text(g.first), .count = g.waits.size};
    item.title =
        "Gang " + g.waits.name + " of " + counted(g.waits.size, "closure") + " cannot start";
    item.detail = text(g.waits) + (g.lack ? "; " + text(*g.lack) : std::string());
    item.since = g.since;
    item.link = closure_page(g.first, g.job, p);
    item.command = "muster explain " + core::text(g.first);
    return item;
  };
  alert rest{.rule = "gangs-unmet", .subject = p.cluster};
  rest.link = page_link("/gangs", {{"cluster", p.cluster}});
  tell(
      impossible, item_of, [](auto const&) { return 1; }, std::move(rest), "more gang",
      " that cannot start", out);
}

// Workers on the same host share its memory, and therefore share an alert, unless they have limits
// of their own.
void short_of_memory(pool_facts const& p, alerts& out) {
  std::map<std::pair<std::string, std::uint64_t>, std::vector<short_machine const*>> shared;
  for (auto const& s : p.short_of_memory)
    shared[{s.seen.host, s.seen.memory_total.value_or(0)}].push_back(&s);
  for (auto const& [machine_of, those] : shared) {
    auto const& host = machine_of.first;
    alert item{.rule = "memory-short", .severity = alert_severity::warning, .count = those.size()};
    std::vector<std::string> names;
    std::vector<machine::memory_user> users;
    double part = 0;
    item.since = those.front()->since;
    for (auto const* s : those) {
      names.push_back(s->task.empty() ? "the server" : s->task);
      users.insert(users.end(), s->seen.memory_users.begin(), s->seen.memory_users.end());
      item.since = std::min(item.since, s->since);
      part = std::max(part, memory_part(s->seen));
    }
    item.subject = p.cluster + "/" + names.front() + "@" + host;
    item.title = (those.size() == 1 ? names.front() + " on " + host : "host " + host) + " has " +
                 std::to_string(static_cast<int>(100 * part)) + " % of its memory in use";
    if (those.size() > 1) item.detail = some_of(names, names.size()) + "; ";
    item.detail += "when memory is full, the kernel kills the process that uses the most";
    std::stable_sort(users.begin(), users.end(),
                     [](auto const& a, auto const& b) { return a.bytes > b.bytes; });
    if (users.size() > machine::memory_users_max) users.resize(machine::memory_users_max);
    for (auto const& u : users)
      item.detail += (&u == users.data() ? ": " : ", ") + u.name + " (process " +
                     std::to_string(u.pid) + ") uses " + mib(u.bytes);
    if (those.size() > 1)
      item.link = page_link("/tasks", {{"q", host}, {"cluster", p.cluster}});
    else if (!those.front()->task.empty())
      item.link = page_link("/workers/" + those.front()->task, {{"cluster", p.cluster}});
    out.push_back(std::move(item));
  }
}

}  // namespace muster::web
