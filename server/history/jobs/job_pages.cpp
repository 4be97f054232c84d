#include "server/history/jobs/job_pages.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "server/core/queries/session_queries.hpp"
#include "server/history/closures.hpp"

namespace muster::history {

namespace {

job_view view_of(coordinator const& core, session_id id) {
  auto v = core.sessions().find(id);
  check(v.has_value(), "a listed session must exist");
  return std::move(*v);
}

std::vector<job_view> views_of(coordinator const& core, std::vector<session_id> const& ids,
                               std::size_t limit = ~std::size_t{}) {
  std::vector<job_view> out;
  for (std::size_t i = 0; i < std::min(ids.size(), limit); ++i)
    out.push_back(view_of(core, ids[i]));
  return out;
}

}  // namespace

page<job_view, session_id> jobs(history const& h, coordinator const& core, session_id before,
                                std::size_t limit, job_filter const& filter) {
  if (filter.takes_all()) return core.sessions().list(before, limit);
  auto const found = h.jobs().page_of(before, limit, filter);
  return {views_of(core, found.items), found.next};
}

failed_jobs jobs_failed_since(history const& h, coordinator const& core, time_point since,
                              std::size_t limit) {
  auto const ids = h.jobs().failed_since(since);
  return {views_of(core, ids, limit), ids.size()};
}

failed_sessions sessions_failed_since(history const& h, coordinator const& core, time_point since,
                                      std::size_t limit) {
  auto const all = h.jobs().sessions_failed_since(since);
  failed_sessions out;
  out.count = all.size();
  for (std::size_t i = 0; i < std::min(all.size(), limit); ++i) {
    auto const& f = all[i];
    auto& one = out.newest.emplace_back();
    one.session = view_of(core, f.session);
    one.closure = f.closure;
    one.at = f.at;
    if (auto const v = closure(h, core, f.closure, f.session)) one.why = v->error;
  }
  return out;
}

std::vector<job_view> watched_jobs(history const& h, coordinator const& core, time_point now) {
  return views_of(core, h.jobs().watched(now));
}

}  // namespace muster::history
