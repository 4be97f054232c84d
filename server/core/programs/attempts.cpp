#include "server/core/programs/attempts.hpp"

#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.hpp"
#include "base/host_port.hpp"

namespace muster::core::programs {
namespace {

rank_state state_of(rank_end const& how) {
  if (how.stopped || how.lease_ran_out) return rank_state::stopped;
  return how.well() ? rank_state::succeeded : rank_state::failed;
}

}  // namespace

// Workers on the same machine share its ports. The first rank needs additional ports for process
// 0's own service and PyTorch's rendezvous.
bool attempts::ports_for(placement const& where, std::vector<host_number> const& on,
                         time_point now) {
  std::map<std::string, std::size_t> needed;
  for (std::size_t i = 0; i < where.ranks.size(); ++i)
    needed[hosts_.at(on[where.ranks[i].host]).address] += 1 + (i == 0 ? ports_of_first : 0);
  for (auto const n : on) {
    auto const& h = hosts_.at(n);
    auto const it = needed.find(h.address);
    if (it == needed.end()) continue;
    if (ports_free(h, now, it->second) < it->second) return false;
  }
  return true;
}

std::string attempts::address(attempt& a, host const& h, std::uint16_t* port, time_point now) {
  auto const taken = ports_.take(h.address, h.first_port, h.last_port, now);
  check(taken.has_value(), "a free port must be available, because ports were counted before");
  if (port)
    *port = *taken;
  else
    a.ports.emplace_back(h.address, *taken);
  return host_port{h.address, std::to_string(*taken)}.text();
}

void attempts::keep(program& p) {
  auto& past = p.before.emplace_back();
  past.about = std::move(p.now.about);
  for (auto const& r : p.now.ranks) past.seats.push_back({r.process, r.group, r.index});
  std::size_t seats = 0;
  for (auto it = p.before.rbegin(); it != p.before.rend(); ++it) {
    seats += it->seats.size();
    if (seats > ended_attempt::seats_max) it->seats = {};
  }
}

bool attempts::begin(program& p, placement const& where, std::vector<host_number> const& on,
                     time_point now) {
  if (!ports_for(where, on, now)) return false;
  if (p.attempts > 0) keep(p);
  if (p.before.size() >= limits_.attempts_kept) p.before.pop_front();
  p.now = {};
  auto& a = p.now;
  auto sheet = std::make_shared<attempt_sheet>();
  sheet->spec = p.spec;
  sheet->program = p.id;
  sheet->restart = p.attempts;
  sheet->attempt = ++p.attempts;
  sheet->tunnels = true;
  sheet->store = p.spec->store == store_place::server;
  std::map<host_number, std::vector<std::uint32_t>> ranks_of;
  std::set<std::string_view> names;  // several workers may share a host
  for (auto const& r : where.ranks) {
    auto const number = static_cast<std::uint32_t>(a.ranks.size());
    auto const n = on[r.host];
    auto& h = hosts_.at(n);
    auto const& group = p.spec->tasks[r.group];
    auto& made = a.ranks.emplace_back();
    made.group = r.group;
    made.index = r.index;
    made.on = n;
    made.process = h.incarnation;
    made.serves = serves(*p.spec, group.type, r.index);
    auto const reached_at = address(a, h, &made.port, now);
    made.seen.rank = number;
    made.seen.task = group.type + ":" + std::to_string(r.index);
    made.seen.worker = h.worker();
    made.seen.host = h.name;
    made.seen.address = reached_at;
    made.seen.resources = group.resources;
    sheet->tasks.push_back({r.group, r.index, reached_at});
    made.taken = ledger_.take(h.stream, group.resources);
    check(made.taken, "the planned resources must be available");
    hosts_.give(n, {p.id, p.attempts, number});
    ranks_of[n].push_back(number);
    names.insert(h.name);
    sheet->tunnels = sheet->tunnels && !h.tunnel_key.empty();
    sheet->store = sheet->store && sheet->tunnels && h.torch;
  }
  auto const& first = hosts_.at(a.ranks.front().on);
  sheet->own_service = address(a, first, nullptr, now);
  sheet->meeting_point = address(a, first, nullptr, now);
  a.sheet = std::move(sheet);
  a.alive = static_cast<std::uint32_t>(a.ranks.size());
  a.about.attempt = p.attempts;
  a.about.ranks = a.alive;
  a.about.hosts = static_cast<std::uint32_t>(names.size());
  a.about.begun = now;
  for (auto& [n, ranks] : ranks_of)
    out_.to(hosts_.at(n).stream).starts.push_back({a.sheet, std::move(ranks)});
  return true;
}

void attempts::stop(program& p, duration grace) {
  std::map<host_number, std::vector<std::uint32_t>> ranks_of;
  for (std::uint32_t i = 0; i < p.now.ranks.size(); ++i)
    if (p.now.ranks[i].alive) ranks_of[p.now.ranks[i].on].push_back(i);
  for (auto& [n, ranks] : ranks_of)
    if (auto const stream = hosts_.at(n).stream; stream != stream_id{})
      out_.to(stream).stops.push_back({p.id, p.attempts, std::move(ranks), grace, p.now.by_step});
}

void attempts::started(program& p, std::uint32_t rank, std::uint32_t pid, time_point now) {
  auto& r = p.now.ranks[rank];
  if (std::exchange(r.started, true)) return;
  ++p.now.started;
  r.seen.state = rank_state::running;
  r.seen.pid = pid;
  r.seen.started = r.restored ? p.now.about.begun : now;
}

void attempts::dead(program& p, std::uint32_t rank, rank_end const& how, time_point now) {
  auto& r = p.now.ranks[rank];
  check(r.alive, "the end of a rank must not be reported twice");
  r.alive = false;
  r.seen.state = state_of(how);
  r.well = how.well() && !how.lease_ran_out;
  r.seen.ended = now;
  r.seen.exit_status = how.exit_status;
  r.seen.signal = how.signal;
  r.seen.not_started = how.not_started;
  r.seen.out_of_memory = how.out_of_memory;
  out_.dead.push_back({p.id, p.attempts, rank});
  auto const& h = hosts_.at(r.on);
  auto const at = h.address;
  ports_.give_back(at, r.port, now);
  if (std::exchange(r.taken, false)) ledger_.give_back(h.stream, needs(p, rank));
  hosts_.remove_rank(r.on, {p.id, p.attempts, rank});
  if (--p.now.alive > 0) return;
  for (auto const& [address, port] : p.now.ports) ports_.give_back(address, port, now);
  p.now.ports.clear();
}

std::optional<std::uint32_t> attempts::out_of_reach(program const& p, time_point then) const {
  for (std::uint32_t i = 0; i < p.now.ranks.size(); ++i) {
    auto const& r = p.now.ranks[i];
    if (r.alive && hosts_.at(r.on).away_since <= then) return i;
  }
  return {};
}

bool attempts::retake_resources(program& p, std::uint32_t rank) {
  auto& r = p.now.ranks[rank];
  return r.taken = ledger_.take(hosts_.at(r.on).stream, needs(p, rank));
}

void attempts::order_again(program& p, std::uint32_t rank) {
  auto& starts = out_.to(hosts_.at(p.now.ranks[rank].on).stream).starts;
  if (starts.empty() || starts.back().sheet != p.now.sheet) starts.push_back({p.now.sheet, {}});
  starts.back().ranks.push_back(rank);
}

void attempts::stop_again(program& p, std::uint32_t rank, time_point now) {
  if (p.now.by_step && p.goal == goal::again) return;  // the ranks end by themselves
  out_.to(hosts_.at(p.now.ranks[rank].on).stream)
      .stops.push_back({p.id, p.attempts, {rank}, p.grace_at(now), p.now.by_step});
}

}  // namespace muster::core::programs
