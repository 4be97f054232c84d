#include "server/core/programs/placer.hpp"

#include <algorithm>

#include "server/core/programs/shares.hpp"

namespace muster::core::programs {

// Limits the ranks of each worker to its free ports, minus `more_ports`. A worker without free
// ports does not prevent a start on other workers.
fleet placer::collect_fleet(program const& p, time_point now, fleet::amounts which, bool avoid,
                            std::uint32_t more_ports) const {
  auto f = fleet_for(p, hosts_, ledger_, limits_, now, which, avoid);
  for (auto& r : f.rooms) {
    auto const& h = hosts_.at(f.hosts[r.host]);
    std::size_t const wanted = r.ranks_max + std::size_t{more_ports};
    std::size_t const ports = which == fleet::amounts::free
                                  ? attempts_.ports_free(h, now, wanted)
                                  : std::min(wanted, h.last_port - h.first_port + std::size_t{1});
    if (ports >= wanted) continue;
    r.ranks_max = static_cast<std::uint32_t>(ports - std::min<std::size_t>(ports, more_ports));
    f.few_ports = true;
  }
  return f;
}

// The first rank needs additional ports, and only a complete plan shows which worker runs it.
bool placer::start_on(program& p, time_point now, bool avoid) {
  bool few_ports = false;
  for (auto const more_ports : {0u, attempts::ports_of_first}) {
    auto const f = collect_fleet(p, now, fleet::amounts::free, avoid, more_ports);
    auto const where = programs::place(*p.spec, f.rooms);
    few_ports = f.few_ports;
    if (more_ports == 0) p.room.would_fit = where.would_fit;
    if (where.ranks.empty()) break;
    if (!attempts_.begin(p, where, f.hosts, now)) continue;
    course_.begun(p);
    spares_.want(p);
    return true;
  }
  if (!few_ports) return false;
  auto const all = fleet_for(p, hosts_, ledger_, limits_, now, fleet::amounts::free, avoid);
  p.room.lacks_ports = !programs::place(*p.spec, all.rooms).ranks.empty();
  return false;
}

bool placer::start(program& p, time_point now) {
  spares_.release(p);
  p.room = {.looked = true, .fits_when_idle = true};
  if (start_on(p, now, true)) return true;
  auto const idle = collect_fleet(p, now, fleet::amounts::all, false).rooms;
  p.room.workers = static_cast<std::uint32_t>(idle.size());
  if (!programs::place(*p.spec, collect_fleet(p, now, fleet::amounts::all, true).rooms)
           .ranks.empty())
    return false;
  if (start_on(p, now, false)) return true;
  p.room.fits_when_idle = !programs::place(*p.spec, idle).ranks.empty();
  if (p.room.fits_when_idle) return false;
  auto const all = fleet_for(p, hosts_, ledger_, limits_, now, fleet::amounts::all, false);
  p.room.never = obstacle_of(*p.spec, idle, all.rooms);
  return false;
}

void placer::reserve(program const& p, time_point now) {
  auto f = collect_fleet(p, now, fleet::amounts::all, true);
  auto where = programs::place(*p.spec, f.rooms);
  if (where.ranks.empty()) {
    f = collect_fleet(p, now, fleet::amounts::all, false);
    where = programs::place(*p.spec, f.rooms);
  }
  std::vector<put_by> needs(f.hosts.size());
  for (auto const& r : where.ranks) {
    auto& at = needs[r.host];
    at.worker = hosts_.at(f.hosts[r.host]).stream;
    for (auto const& [name, amount] : p.spec->tasks[r.group].resources) {
      auto const same = [&, &of = name](auto const& m) { return m.first == of; };
      auto const it = std::find_if(at.missing.begin(), at.missing.end(), same);
      if (it == at.missing.end())
        at.missing.emplace_back(name, amount);
      else
        it->second += amount;
    }
  }
  std::erase_if(needs, [](put_by const& n) { return n.missing.empty(); });
  reserved_ = std::move(needs);
  reserved_for_ = p.id;
  top_up();
}

void placer::top_up() {
  for (auto& r : reserved_)
    for (auto& [name, missing] : r.missing) {
      auto const at = ledger_.find(r.worker);
      if (missing == 0 || !at.free) continue;
      auto const same = [&, &of = name](auto const& a) { return a.first == of; };
      auto const has = std::find_if(at.free->begin(), at.free->end(), same);
      auto const more = has == at.free->end() ? 0 : std::min(missing, has->second);
      if (more == 0 || !ledger_.take(r.worker, {{name, more}})) continue;
      r.amounts.emplace_back(name, more);
      missing -= more;
    }
}

void placer::release() {
  for (auto const& r : reserved_) ledger_.give_back(r.worker, r.amounts);
  reserved_.clear();
  reserved_for_ = {};
}

// Sets the time at which programs that wait for a point in time are tried again.
void placer::note_times(std::vector<program*> const& waiting, time_point now) {
  wake_ = never;
  for (auto* p : waiting) {
    p->room.pauses = p->not_before > now;
    if (p->room.pauses) wake_ = std::min(wake_, p->not_before);
    if (p->room.lacks_ports) wake_ = std::min(wake_, now + port_retry_interval);
  }
}

void placer::place(time_point now) {
  bool const changed = search_requested_ || ledger_.version() != seen_ || now >= wake_;
  if (!changed && now < due_) return;
  auto waiting = table_.waiting();
  due_ = wake_ = never;
  if (waiting.empty()) {
    release();
    spares_.keep(now);
    search_requested_ = false;
    seen_ = ledger_.version();
    return;
  }
  auto const others = waiting.size() - 1;
  if (changed) left_ = others;
  top_up();
  bool const complete = std::all_of(reserved_.begin(), reserved_.end(), [](put_by const& r) {
    return std::all_of(r.missing.begin(), r.missing.end(),
                       [](auto const& m) { return m.second == 0; });
  });
  if (!search_requested_ && now < next_check_at_ && (reserved_.empty() || !complete)) {
    seen_ = ledger_.version();
    due_ = next_check_at_;
    return;
  }
  release();
  waiting = in_turn(std::move(waiting), table_.all(), now);
  std::size_t tries = 0, passed = 0;
  for (; passed <= others && tries < tries_max; ++passed) {
    auto* const p = waiting[passed == 0 ? 0 : 1 + (turn_ + passed - 1) % others];
    if (p->not_before > now || p->lacks_upload() || start(*p, now)) continue;
    if (reserved_for_ == program_id{} && p->room.fits_when_idle) reserve(*p, now);
    ++tries;
  }
  next_check_at_ = now + search_interval;
  // After a change, each of the other programs is tried once, even without a further event.
  bool const all = passed > others;
  left_ = all ? 0 : left_ - std::min(passed - 1, left_);
  turn_ = all ? 0 : (turn_ + passed - 1) % others;
  if (left_ > 0) due_ = next_check_at_;
  note_times(table_.waiting(), now);
  if (all) spares_.keep(now);
  search_requested_ = false;
  seen_ = ledger_.version();
}

}  // namespace muster::core::programs
