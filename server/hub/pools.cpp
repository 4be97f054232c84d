#include "server/hub/pools.hpp"

#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "server/core/programs/controller.hpp"
#include "server/core/queries/value_queries.hpp"
#include "server/core/queries/worker_queries.hpp"

namespace muster::server {
namespace {

// Bits reserved for the call IDs of one hub.
constexpr unsigned call_bits = 40;

// ID chunks reserved for one cluster.
constexpr std::uint32_t spare_chunks = 8'192;

}  // namespace

pools::pools(hub& main, core::server_wide& wide, pools_dependencies e)
    : main_(main),
      wide_(wide),
      dependencies_(std::move(e)),
      log_bytes_max_(main.logs().limits().bytes_max) {}

muster::result<hub*> pools::of(cluster_id c) {
  if (!dependencies_.main || c == dependencies_.main()) return &main_;
  if (auto* known = existing(c)) return known;
  if (stopped_) return muster::status{muster::code::unavailable, "the server is shutting down"};
  if (wide_.chunks + spare_chunks > core::server_wide::chunks_max)
    return wrong_field("cluster", "the server has no ids left for the closures of another cluster",
                       0, muster::code::resource_exhausted);
  auto made = dependencies_.make(c, {&wide_, ++made_ << call_bits});
  auto* const raw = made.get();
  others_.emplace(c, std::move(made));
  share_logs();
  return raw;
}

muster::result<hub*> pools::named(std::string_view cluster) {
  if (cluster.empty()) return &main_;
  if (dependencies_.find) {
    auto const c = dependencies_.find(cluster);
    if (c) return of(*c);
  }
  if (cluster == "default") return &main_;
  return muster::status{muster::code::not_found,
                        "there is no cluster '" + std::string(cluster) + "'"};
}

hub* pools::existing(cluster_id c) {
  if (!dependencies_.main || c == dependencies_.main()) return &main_;
  auto const it = others_.find(c);
  return it == others_.end() ? nullptr : it->second.get();
}

void pools::forget(core::call_id call) {
  for_each([call](hub& h) { h.forget(call); });  // IDs are unique across hubs
}

void pools::moved(core::values_moved m) {
  if (others_.empty()) return main_.apply(m);
  std::unordered_map<hub*, core::values_moved> by_hub;
  for (auto& one : m.moves) by_hub[&of(one.closure)].moves.push_back(std::move(one));
  for (auto& [h, some] : by_hub) h->apply(some);
}

void pools::make_room() {
  for_each([](hub& h) {
    if (h.state().values().too_many_bytes()) h.on_deadline();
  });
}

std::string pools::in_use(cluster_id c) {
  auto* const h = existing(c);
  if (!h || h == &main_) return {};
  auto const now = h->state().overview(h->now());
  auto const workers = h->state().workers().connected();
  auto const jobs = now.jobs_queued + now.jobs_running + now.sessions;
  auto const programs = h->state().programs().unfinished();
  std::string text;
  if (workers > 0) text = counted(workers, "worker", "workers");
  if (jobs > 0)
    text += (text.empty() ? "" : " and ") +
            counted(jobs, "unfinished job or session", "unfinished jobs or sessions");
  if (programs > 0)
    text += (text.empty() ? "" : " and ") +
            counted(programs, "unfinished program", "unfinished programs");
  return text;
}

void pools::remove(cluster_id c, std::string const& why) {
  auto const node = others_.extract(c);
  if (!node) return;
  node.mapped()->close(why);
  share_logs();
}

void pools::stop() {
  stopped_ = true;
  for_each([](hub& h) { h.apply(core::stop{}); });
}

void pools::share_logs() {
  auto const share = log_bytes_max_ / (others_.size() + 1);
  for_each([share](hub& h) { h.logs().limit_bytes(share); });
}

}  // namespace muster::server
