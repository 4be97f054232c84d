// One pool after the other.
#include "web/live/rows_of_pools.hpp"

#include <algorithm>
#include <iterator>

namespace muster::web {
namespace {

constexpr std::size_t rows_a_page = 1000;

template <class T>
void append(std::vector<T>& to, std::vector<T> some) {
  std::move(some.begin(), some.end(), std::back_inserter(to));
}

// The rows of the main cluster, which are all in most servers, say so by an empty name.
template <class View>
void name_cluster(server::hub const& h, std::vector<View>& rows) {
  for (auto& row : rows) row.cluster = h.cluster();
}

}  // namespace

task_page tasks_from(server::pools& all, task_place from, server::cluster_scope const& scope) {
  task_page page;
  std::size_t pool = 0;
  all.for_each([&](server::hub& h) {
    auto const at = pool++;
    if (page.next || at < from.pool || !scope.sees(h.cluster())) return;
    auto const row = at == from.pool ? from.row : 0;
    auto const room = rows_a_page - page.rows.size();
    if (room == 0) {
      page.next = task_place{at, row};
      return;
    }
    auto some = h.state().tasks(row, room, {});
    name_cluster(h, some.items);
    append(page.rows, std::move(some.items));
    if (some.next) page.next = task_place{at, *some.next};
  });
  return page;
}

std::vector<core::job_view> watched_jobs(server::pools& all, server::cluster_scope const& scope) {
  std::vector<core::job_view> jobs;
  all.for_each([&](server::hub& h) {
    if (!scope.sees(h.cluster())) return;
    auto some = h.state().watched_jobs(h.now());
    name_cluster(h, some);
    append(jobs, std::move(some));
  });
  std::sort(jobs.begin(), jobs.end(), [](auto const& a, auto const& b) { return a.id > b.id; });
  return jobs;
}

}  // namespace muster::web
