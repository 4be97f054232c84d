#include "server/core/programs/spares.hpp"

#include <algorithm>

namespace muster::core::programs {
namespace {

program_tasks const& spared(program_spec const& spec) {
  return *std::max_element(spec.tasks.begin(), spec.tasks.end(),
                           [](auto const& a, auto const& b) { return a.max < b.max; });
}

}  // namespace

void spares::drop_ended() {
  for (auto it = wanting_.begin(); it != wanting_.end();) {
    auto* const p = table_.find(*it);
    bool const over = !p || ended(p->state);
    if (p && over) release(*p);
    it = over ? wanting_.erase(it) : std::next(it);
  }
}

void spares::keep(time_point now) {
  for (auto const id : wanting_)
    if (auto* const p = table_.find(id); p && !ended(p->state) && !p->waits()) fill(*p, now);
}

void spares::release(program& p) {
  auto const& each = spared(*p.spec).resources;
  for (auto const worker : p.spares) ledger_.give_back(worker, each);
  p.spares.clear();
}

void spares::lost(stream_id worker) {
  for (auto const id : wanting_)
    if (auto* const p = table_.find(id)) std::erase(p->spares, worker);
}

std::size_t spares::count() const {
  std::size_t sum = 0;
  for (auto const id : wanting_)
    if (auto const* const p = table_.find(id)) sum += p->spares.size();
  return sum;
}

// Returns how many additional ranks and spares the program can have on the worker.
std::uint32_t spares::left(program const& p, host_number n) const {
  if (p.spec->per_worker == 0) return limits_.worker_ranks_max;
  auto const& ranks = p.now.ranks;
  auto const there = std::count_if(ranks.begin(), ranks.end(),
                                   [n](rank const& r) { return r.alive && r.on == n; }) +
                     std::count(p.spares.begin(), p.spares.end(), hosts_.at(n).stream);
  return p.spec->per_worker - std::min(p.spec->per_worker, static_cast<std::uint32_t>(there));
}

void spares::fill(program& p, time_point now) {
  if (p.spares.size() >= p.spec->spares) return;
  std::set<host_number> own;
  for (auto const& r : p.now.ranks)
    if (r.alive) own.insert(r.on);
  for (bool const elsewhere : {true, false}) {
    auto const missing = p.spec->spares - static_cast<std::uint32_t>(p.spares.size());
    if (missing == 0) return;
    auto f = fleet_for(p, hosts_, ledger_, limits_, now, fleet::amounts::free, true);
    for (auto& r : f.rooms) r.ranks_max = std::min(r.ranks_max, left(p, f.hosts[r.host]));
    std::erase_if(f.rooms, [&](room const& r) {
      return r.ranks_max == 0 || own.contains(f.hosts[r.host]) == elsewhere;
    });
    program_spec wanted;
    wanted.per_worker = p.spec->per_worker;
    wanted.tasks = {spared(*p.spec)};
    wanted.tasks[0].min = 1;
    wanted.tasks[0].max = missing;
    for (auto const& seat : programs::place(wanted, f.rooms).ranks) {
      auto const worker = hosts_.at(f.hosts[seat.host]).stream;
      if (ledger_.take(worker, wanted.tasks[0].resources)) put_by(p, worker);
    }
  }
}

void spares::put_by(program& p, stream_id worker) {
  bool const first = std::count(p.spares.begin(), p.spares.end(), worker) == 0;
  p.spares.push_back(worker);
  if (first && !p.spec->upload.empty()) out_.to(worker).prepares.push_back({p.id, p.spec->upload});
}

}  // namespace muster::core::programs
