#include "web/rest/machines/host_listing.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "server/core/queries/worker_queries.hpp"
#include "server/hub/blob_store.hpp"
#include "web/json/machine_json.hpp"

namespace muster::web {
namespace {

struct worker_key {
  server::hub* at = nullptr;
  core::lane_key key;
};
using host_workers = std::map<std::string, std::vector<worker_key>>;

std::string name_of(core::lane_key const& key) {
  return key.first + ":" + std::to_string(key.second);
}

host_workers workers_by_host(std::vector<server::hub*> const& hubs, host_query const& q) {
  host_workers all;
  for (auto* const h : hubs)
    for (auto& [host, keys] : h->state().workers().by_host()) {
      if (!q.host.empty() && host != q.host) continue;
      for (auto& key : keys)
        if (q.task.empty() || q.task == name_of(key)) all[host].push_back({h, std::move(key)});
    }
  return all;
}

// Processes that hold values report only the name of their task. The name does not identify the
// worker if several clusters use it.
class held_values {
 public:
  explicit held_values(engine_services& services) {
    for (auto const& w : services.blobs.holders().table().workers(~std::size_t{}))
      bytes_[w.task] += w.bytes;
    std::size_t hubs = 0;
    services.pools.for_each([&](server::hub&) { ++hubs; });
    if (hubs == 1) return;
    services.pools.for_each([&](server::hub& h) {
      for (auto const& [host, keys] : h.state().workers().by_host())
        for (auto const& key : keys) ++owners_[name_of(key)];
    });
  }

  std::optional<std::uint64_t> of(std::string const& task) const {
    auto const owners = owners_.find(task);
    if (owners != owners_.end() && owners->second > 1) return {};
    auto const found = bytes_.find(task);
    return found == bytes_.end() ? 0 : found->second;
  }

 private:
  std::unordered_map<std::string, std::uint64_t> bytes_;
  std::unordered_map<std::string, std::size_t> owners_;
};

void add_machine(host_view& to, worker_on_host& w, server::hub& h) {
  auto const* const row = h.machines().find(name_of({w.task.job, w.task.index}));
  if (!row || !row->fresh(h.now())) return;
  for (auto const& user : row->newest.memory_users)
    if (user.pid == w.task.pid) w.process_memory = user.bytes;
  if (!to.seen) to.seen = row->newest;
}

host_view view_of(std::string const& host, std::vector<worker_key> const& workers,
                  held_values const& values) {
  host_view v{host, {}, {}, 0};
  for (auto const& p : workers) {
    if (v.workers.size() == host_query::workers_max) break;
    auto task = p.at->state().workers().find(p.key.first, p.key.second);
    if (!task) continue;
    auto& w = v.workers.emplace_back();
    w.task = std::move(*task);
    w.value_bytes = values.of(name_of(p.key));
    w.slowness = p.at->past().durations().of(p.key, p.at->now());
    add_machine(v, w, *p.at);
  }
  v.more = workers.size() - v.workers.size();
  return v;
}

// Counts for all workers of the page at once, because each count visits all streams of a cluster.
void count_failures(std::vector<server::hub*> const& hubs, host_page& page) {
  for (auto* const h : hubs) {
    std::map<core::lane_key, std::uint64_t*> counts;
    for (auto& host : page.hosts)
      for (auto& w : host.workers)
        if (w.task.cluster == h->state().configuration().cluster)
          counts.emplace(core::lane_key(w.task.job, w.task.index), &w.failed_last_hour);
    if (counts.empty()) continue;
    core::activity_filter f;
    f.from = h->now() - history::activity_log::kept_for;
    for (auto const& [key, count] : counts) f.lanes.push_back(key);
    auto const found = h->past().activity().minutes(f, {}, counts.size());
    std::map<std::uint32_t, std::uint64_t*> by_lane;
    for (auto const& l : found.names.lanes) by_lane.emplace(l.lane, counts.at({l.job, l.index}));
    for (auto const& m : found.minutes) *by_lane.at(m.lane) += m.failed;
  }
}

}  // namespace

host_page list_hosts(engine_services& services, std::vector<server::hub*> const& shown,
                     host_query const& q) {
  auto const all = workers_by_host(shown, q);
  held_values const values(services);
  host_page page;
  std::size_t workers = 0;
  std::uint64_t at = 0;
  for (auto const& [host, on_it] : all) {
    if (at++ < q.after) continue;
    auto const listed = std::min(on_it.size(), host_query::workers_max);
    if (page.hosts.size() == q.limit ||
        (!page.hosts.empty() && workers + listed > host_query::workers_max)) {
      page.next = at - 1;
      break;
    }
    workers += listed;
    page.hosts.push_back(view_of(host, on_it, values));
  }
  count_failures(shown, page);
  return page;
}

}  // namespace muster::web
