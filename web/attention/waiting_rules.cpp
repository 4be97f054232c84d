// What waits for workers that are not there: wishes of closures, and gangs.
#include "server/hub/id_text.hpp"
#include "web/attention/attention.hpp"
#include "web/attention/words.hpp"

namespace muster::web {
namespace {

// More are counted in one item.
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

}  // namespace

void unmet_wishes(pool_facts const& p, attention_items& out) {
  if (!has_workers(p)) return;  // that has an item of its own
  std::size_t shown = 0;
  std::uint64_t more = 0;
  auto since = core::never;
  for (auto const& w : p.wishes.items) {
    if (shown == singly) {
      more += w.queued, since = std::min(since, w.since);
      continue;
    }
    ++shown;
    attention_item item{.rule = "wish-unmet", .subject = core::text(w.first), .count = w.queued};
    item.title = plural(w.queued, "closure") + " queued for " + text_of(w.needs) +
                 (w.workers > 0 ? ", whose workers take none" : ", which no worker has");
    item.detail = w.why;
    item.since = w.since;
    item.link = closure_page(w.first, w.job, p);
    item.command = "muster explain " + core::text(w.first);
    out.push_back(std::move(item));
  }
  if (more == 0) return;
  attention_item item{.rule = "wishes-unmet", .subject = p.cluster, .count = more};
  item.title = plural(more, "more closure") + " queued for what no worker has";
  item.since = since;
  item.link = page_link("/gangs", {{"cluster", p.cluster}});
  out.push_back(std::move(item));
}

void impossible_gangs(pool_facts const& p, attention_items& out) {
  if (!has_workers(p)) return;
  std::size_t shown = 0;
  std::uint64_t more = 0;
  auto since = core::never;
  for (auto const& g : p.gangs.items) {
    if (g.possible) continue;
    if (shown == singly) {
      ++more, since = std::min(since, g.since);
      continue;
    }
    ++shown;
    attention_item item{.rule = "gang-unmet", .subject = core::text(g.first), .count = g.size};
    item.title = "Gang " + g.name + " of " + plural(g.size, "closure") + " cannot start";
    item.detail = g.why;
    item.since = g.since;
    item.link = closure_page(g.first, g.job, p);
    item.command = "muster explain " + core::text(g.first);
    out.push_back(std::move(item));
  }
  if (more == 0) return;
  attention_item item{.rule = "gangs-unmet", .subject = p.cluster, .count = more};
  item.title = plural(more, "more gang") + " that cannot start";
  item.since = since;
  item.link = page_link("/gangs", {{"cluster", p.cluster}});
  out.push_back(std::move(item));
}

}  // namespace muster::web
