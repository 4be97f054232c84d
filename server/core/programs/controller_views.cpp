#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "server/core/programs/controller.hpp"
#include "server/core/programs/shares.hpp"

namespace muster::core::programs {
namespace {

status unknown(program_id id) {
  return {code::not_found, "there is no program " + text(id)};
}

std::uint32_t least_ranks(program_spec const& spec) {
  std::uint32_t sum = 0;
  for (auto const& t : spec.tasks) sum += t.min;
  return sum;
}

std::string closed(std::size_t count) {
  return count == 0 ? ""
                    : " (" + std::to_string(count) + " more cordoned, draining or disconnected)";
}

std::string spares_text(std::size_t count) {
  return count == 0 ? ""
                    : "; " + counted(count, "place") + " reserved as spares for running programs";
}

std::string never_fits(program const& p, std::string const& fit) {
  auto const& never = p.room.never;
  switch (never.what) {
    using enum obstacle::kind;
    case resource:
      return "no worker that runs programs has " + never.text;
    case labels:
      return "no worker that runs programs has the labels " + never.text;
    case per_worker:
      return fit + "; even when idle, they have too few resources with per_worker " +
             std::to_string(p.spec->per_worker);
    case ports:
      return fit + "; even when idle, they have too few ports in --program-ports";
    case room:
      break;
  }
  return fit + "; even when idle, they have too few resources";
}

}  // namespace

std::string controller::waits_for(program const& p) const {
  if (!p.waits()) return {};
  if (p.lacks_upload())
    return "its upload is missing on the server; upload it again with PUT /api/v1/blobs/" +
           p.spec->upload;
  auto const attached = hosts_.attached();
  if (attached.empty()) return "no worker that runs programs is connected";
  if (!p.spec->upload.empty() &&
      std::none_of(attached.begin(), attached.end(), [&](auto n) { return hosts_.at(n).unpacks; }))
    return "no worker that supports uploads is connected";
  if (p.room.pauses) return "it will start again after a pause";
  if (!p.room.looked) return "the server is placing other waiting programs first";
  if (p.room.workers == 0)
    return counted(attached.size(), "worker") + " that could run it " +
           (attached.size() == 1 ? "is" : "are") + " cordoned, draining or disconnected";
  auto const fit = "there is room for " + std::to_string(p.room.would_fit) + " of its " +
                   counted(least_ranks(*p.spec), "rank") + " on the " +
                   counted(p.room.workers, "worker") +
                   (p.room.workers == 1 ? " that runs programs" : " that run programs") +
                   closed(attached.size() - std::min<std::size_t>(attached.size(), p.room.workers));
  if (!p.room.fits_when_idle) return never_fits(p, fit);
  if (p.room.lacks_ports)
    return fit + "; too few of their --program-ports are free and have been unused for a minute";
  return fit +
         (placer_.reserved_for() == p.id ? "; resources that become free are reserved for it"
                                         : "") +
         spares_text(placer_.spare_places());
}

bool controller::cannot_start(program const& p) const {
  if (!p.waits()) return false;
  if (p.lacks_upload()) return true;
  auto const attached = hosts_.attached();
  auto const takes = [&](auto n) { return p.spec->upload.empty() || hosts_.at(n).unpacks; };
  if (std::none_of(attached.begin(), attached.end(), takes)) return true;
  if (p.room.pauses || !p.room.looked) return false;
  return p.room.workers == 0 || !p.room.fits_when_idle;
}

program_view controller::view_of(program const& p) const {
  program_view v;
  v.id = p.id;
  v.spec = *p.spec;
  for (auto& variable : v.spec.env) variable.second.clear();
  v.state = p.state;
  v.attempt = p.attempts;
  v.restarts = p.counted_restarts;
  v.ranks = static_cast<std::uint32_t>(p.now.ranks.size());
  v.started = p.now.started;
  v.alive = p.now.alive;
  v.spares = static_cast<std::uint32_t>(p.spares.size());
  v.created = p.created;
  v.finished = p.finished;
  v.cause = p.cause;
  v.stop_at = p.stop_at;
  if (p.state == program_state::running) v.hang = p.now.hang;
  v.waits_for = waits_for(p);
  v.cannot_start = cannot_start(p);
  return v;
}

result<program_view> controller::find(program_id id) const {
  auto const* p = table_.find(id);
  if (!p) return unknown(id);
  auto v = view_of(*p);
  v.lost_workers = lost_workers(*p);
  return v;
}

std::vector<lost_worker_view> controller::lost_workers(program const& p) const {
  std::vector<lost_worker_view> all;
  if (!hosts_.any_away()) return all;
  std::map<host_number, std::size_t> known;
  for (auto const& r : p.now.ranks) {
    if (!r.alive || hosts_.at(r.on).stream != stream_id{}) continue;
    auto const [it, added] = known.try_emplace(r.on, all.size());
    if (added) {
      auto const& h = hosts_.at(r.on);
      all.push_back({h.worker(), h.name, 0, h.away_since, h.lease_until, 0, {}, {}});
      if (p.goal == goal::run || p.goal == goal::again) all.back().next_attempt = p.attempts + 1;
    }
    ++all[it->second].ranks;
  }
  for (auto const stream : p.spares)
    if (auto const* h = hosts_.find(stream))
      for (auto& l : all)
        if (l.next_attempt > 0 &&
            std::find(l.next_hosts.begin(), l.next_hosts.end(), h->name) == l.next_hosts.end())
          l.next_hosts.push_back(h->name);
  return all;
}

bool controller::ends(program_id id) const {
  auto const* p = table_.find(id);
  return p && (p->state == program_state::stopping || ended(p->state));
}

result<std::vector<rank_view>> controller::ranks(program_id id) const {
  auto const* p = table_.find(id);
  if (!p) return unknown(id);
  std::vector<rank_view> all;
  bool const any_away = hosts_.any_away();
  for (auto const& r : p->now.ranks) {
    all.push_back(r.seen);
    all.back().worker_lost = any_away && r.alive && hosts_.at(r.on).stream == stream_id{};
  }
  return all;
}

result<std::vector<program_attempt_view>> controller::attempts_of(program_id id) const {
  auto const* p = table_.find(id);
  if (!p) return unknown(id);
  std::vector<program_attempt_view> all;
  for (auto const& past : p->before) all.push_back(past.about);
  if (p->attempts > 0) all.push_back(p->now.about);
  return all;
}

std::vector<program_view> controller::list(program_id before, std::size_t limit,
                                           std::optional<program_state> state,
                                           std::string_view wanted) const {
  auto const& all = table_.all();
  auto const small = lower(wanted);
  auto const has_text = [&](program const& p) {
    return small.empty() || lower(p.spec->name).find(small) != std::string::npos ||
           text(p.id).find(small) != std::string::npos;
  };
  auto it = before == program_id{} ? all.end() : all.lower_bound(before);
  std::vector<program_view> views;
  while (it != all.begin() && views.size() < limit) {
    auto const& p = (--it)->second;
    if ((!state || p.state == *state) && has_text(p)) views.push_back(view_of(p));
  }
  return views;
}

program_row controller::row_of(program const& p) const {
  program_row r;
  r.id = p.id;
  r.name = p.spec->name;
  r.state = p.state;
  r.attempt = p.attempts;
  r.restarts = p.counted_restarts;
  r.max_restarts = p.spec->max_restarts;
  r.ranks = static_cast<std::uint32_t>(p.now.ranks.size());
  r.started = p.now.started;
  r.alive = p.now.alive;
  r.created = p.created;
  r.finished = p.finished;
  if (p.cause) r.cause = p.cause->text;
  r.waits_for = waits_for(p);
  for (auto const& t : p.spec->tasks) r.tasks.push_back({t.type, t.min, t.max});
  return r;
}

std::vector<program_row> controller::rows(std::size_t limit) const {
  std::vector<program const*> newest;
  auto const& all = table_.all();
  for (auto it = all.rbegin(); it != all.rend(); ++it) newest.push_back(&it->second);
  auto const place = [](program const* p) {
    return ended(p->state) ? enum_size<program_state> : static_cast<std::size_t>(p->state);
  };
  std::stable_sort(newest.begin(), newest.end(),
                   [&](auto const* x, auto const* y) { return place(x) < place(y); });
  newest.resize(std::min(newest.size(), limit));
  std::vector<program_row> rows;
  for (auto const* p : newest) rows.push_back(row_of(*p));
  return rows;
}

waiting_programs_view controller::waiting(time_point now) const {
  waiting_programs_view found;
  auto const all = in_turn(table_.waiting(), table_.all(), now);
  for (auto const* p : all) {
    if (found.items.size() == waiting_programs_view::max) break;
    found.items.push_back({p->id, p->spec->name, p->spec->priority, least_ranks(*p->spec),
                           p->room.would_fit, p->room.workers,
                           p->attempts > 0 ? p->now.about.ended : p->created, waits_for(*p),
                           cannot_start(*p)});
  }
  found.all = all.size();
  return found;
}

std::vector<program_view> controller::failed_since(time_point since, std::size_t limit) const {
  std::vector<program_view> views;
  auto const& all = table_.ended();
  for (auto it = all.rbegin(); it != all.rend() && it->first > since && views.size() < limit; ++it)
    if (auto const& p = *table_.find(it->second); p.state == program_state::failed)
      views.push_back(view_of(p));
  return views;
}

program_counts controller::counts() const {
  program_counts c;
  for (auto const& [id, p] : table_.all()) ++c.by_state[static_cast<std::size_t>(p.state)];
  c.ranks_alive = hosts_.alive();
  return c;
}

controller::unfinished_programs controller::unfinished_of(std::string_view submitter) const {
  unfinished_programs u;
  for (auto const& [id, p] : table_.all()) {
    if (ended(p.state) || p.spec->submitted_by != submitter) continue;
    ++u.programs;
    u.ranks += most_ranks(*p.spec);
  }
  return u;
}

result<seat> controller::seat_of(rank_name const& rank) const {
  auto const* p = table_.find(rank.program);
  if (!p) return unknown(rank.program);
  auto const attempt = "attempt " + std::to_string(rank.attempt) + " of " + text(p->id);
  auto const refused = [](std::string why) { return status{code::not_found, std::move(why)}; };
  if (p->attempts == 0) return refused(text(p->id) + " has not started its first attempt");
  if (rank.attempt == 0 || rank.attempt > p->attempts)
    return refused("there is no " + attempt + "; the last attempt is " +
                   std::to_string(p->attempts));
  auto const no_rank = [&](std::size_t ranks) {
    return refused(attempt + " has no rank " + std::to_string(rank.rank) + "; it has " +
                   counted(ranks, "rank") + ", numbered from 0");
  };
  if (rank.attempt == p->attempts) {
    if (rank.rank >= p->now.ranks.size()) return no_rank(p->now.ranks.size());
    auto const& r = p->now.ranks[rank.rank];
    return seat{r.process, r.group, r.index};
  }
  auto const past = std::find_if(p->before.begin(), p->before.end(), [&](ended_attempt const& a) {
    return a.about.attempt == rank.attempt;
  });
  if (past == p->before.end())
    return refused(attempt + " was removed; only the newest " +
                   std::to_string(limits_.attempts_kept) + " attempts are stored");
  if (rank.rank >= past->about.ranks) return no_rank(past->about.ranks);
  if (rank.rank >= past->seats.size())
    return refused(
        "the workers that ran the ranks of " + attempt +
        " are not known: the server has restarted since then, or the attempt had too many ranks");
  return past->seats[rank.rank];
}

result<stream_id> controller::worker_of(rank_name const& rank) const {
  auto const at = seat_of(rank);
  if (!at) return at.error();
  return hosts_.stream_of(at->process);
}

std::string controller::task_of(rank_name const& rank) const {
  auto const at = seat_of(rank);
  if (!at) return {};
  return table_.find(rank.program)->spec->tasks[at->group].type + ":" + std::to_string(at->index);
}

bool controller::admits(program_id id, std::uint32_t attempt, std::string_view tunnel_key) const {
  auto const* p = table_.find(id);
  if (!p || p->attempts != attempt || tunnel_key.empty()) return false;
  auto const& ranks = p->now.ranks;
  return std::any_of(ranks.begin(), ranks.end(), [&](rank const& r) {
    return r.alive && hosts_.at(r.on).tunnel_key == tunnel_key;
  });
}

std::string controller::invalid() const {
  std::set<std::pair<std::string, std::uint16_t>> ports;
  std::uint32_t alive = 0;
  for (auto const& [id, p] : table_.all()) {
    std::uint32_t of_program = 0;
    for (std::uint32_t i = 0; i < p.now.ranks.size(); ++i) {
      auto const& r = p.now.ranks[i];
      if (!r.alive) continue;
      ++of_program;
      auto const& h = hosts_.at(r.on);
      if (!h.alive.contains({id, p.attempts, i}))
        return text(id) + " has a rank that its host does not list";
      if (!ports.emplace(h.address, r.port).second)
        return "two ranks on one host have the same port";
      if (!ports_.in_use(h.address, r.port))
        return "the port of a running rank is not marked as used";
    }
    if (of_program != p.now.alive) return text(id) + ": the number of live ranks is wrong";
    if (ended(p.state) && p.now.alive > 0) return text(id) + " has ended but still has live ranks";
    bool const runs = p.state == program_state::starting || p.state == program_state::running;
    if (runs && p.now.alive == 0) return text(id) + " is running without a live rank";
    if (runs != (p.goal == goal::run && !p.waits() && !ended(p.state)))
      return text(id) + " is " + std::string(name(p.state)) + ", which does not match its goal";
    alive += of_program;
  }
  if (alive != hosts_.alive()) return "a host lists a rank that belongs to no program";
  return {};
}

}  // namespace muster::core::programs
