#include "server/core/blobs/holder_table.hpp"

#include <algorithm>

namespace muster::core {

void holder_table::open(holder_id id, holder_hello hello) {
  bool const fresh = !hello.task.empty() && hello.former == 0;
  if (fresh)
    for (auto& [name, of] : away_since_) {
      if (of.task != hello.task) continue;
      of.since = {};
      away_.emplace_front(time_point{}, name);
    }
  holders_[id].hello = std::move(hello);
}

void holder_table::close(holder_id id, time_point now) {
  auto const found = holders_.find(id);
  if (found == holders_.end()) return;
  for (auto const names = found->second.names; auto const& name : names)
    remove(id, places_.find(name), true, now);
  holders_.erase(found);
}

bool holder_table::begin(holder_id id, std::string_view name, std::uint64_t size, holder_id maker,
                         time_point now) {
  // The queue keeps dropped names until they are due, so the queue needs its own limit.
  if (places_.size() >= limits_.names_max || new_.size() >= 2 * limits_.names_max) return false;
  bool const output = is_worker(holders_.at(id));
  auto const it = places_.emplace(name, place{size, maker, output, {}}).first;
  bytes_ += size;
  add(id, it);
  away_since_.erase(it->first);
  if (!output) return true;
  ++outputs_;
  new_.emplace_back(now, name);
  return true;
}

void holder_table::add(holder_id id, places::iterator it) {
  auto& [name, p] = *it;
  auto& h = holders_.at(id);
  if (!p.by.empty()) {
    ++copies_;
    copy_bytes_ += p.size;
  }
  p.by.push_back(id);
  h.names.insert(name);
  h.bytes += p.size;
}

void holder_table::remove(holder_id id, places::iterator it, bool back, time_point now) {
  auto& p = it->second;
  auto& h = holders_.at(id);
  h.names.erase(it->first);
  h.bytes -= p.size;
  std::erase(p.by, id);
  bool const made_it = p.maker == id;
  if (made_it) p.maker = 0;
  if (!p.by.empty()) {
    --copies_;
    copy_bytes_ -= p.size;
    if (made_it) orphans_.emplace_back(now, it->first);
    return;
  }
  bytes_ -= p.size;
  outputs_ -= p.output;
  if (p.output && back) {
    away_.emplace_back(now, it->first);
    away_since_[it->first] = {now, h.hello.task};
  }
  places_.erase(it);
}

bool holder_table::is_its_own(holder_id id, places::iterator it) {
  auto& p = it->second;
  if (holds(id, it->first)) return true;
  auto const former = holders_.at(id).hello.former;
  auto const at = std::find(p.by.begin(), p.by.end(), former);
  if (former == 0 || at == p.by.end() || is_worker(holders_.at(id)) != p.output) return false;
  auto& before = holders_.at(former);
  before.names.erase(it->first);
  before.bytes -= p.size;
  auto& now = holders_.at(id);
  now.names.insert(it->first);
  now.bytes += p.size;
  *at = id;
  if (p.maker == former) p.maker = id;
  return true;
}

bool holder_table::hold(holder_id id, std::string_view name, std::uint64_t size, time_point now) {
  auto const it = places_.find(std::string(name));
  if (it == places_.end()) return begin(id, name, size, id, now);
  auto& p = it->second;
  if (p.size != size) return false;
  bool const own = is_its_own(id, it);
  bool const again = p.maker == 0 && p.output && is_worker(holders_.at(id));
  if (again) {
    if (!own) add(id, it);
    p.maker = id;
  }
  return own || again;
}

bool holder_table::copy(holder_id id, std::string_view name, std::uint64_t size, time_point now) {
  if (!is_worker(holders_.at(id))) return false;
  auto const it = places_.find(std::string(name));
  if (it == places_.end()) return begin(id, name, size, 0, now);
  auto const& p = it->second;
  if (p.size != size || !p.output) return false;
  if (is_its_own(id, it)) return true;
  // One place is reserved for the maker, which can reconnect.
  if (p.by.size() - (p.maker != 0) >= limits_.holders_max - 1) return false;
  add(id, it);
  return true;
}

// A maker drops values that are not needed. Other holders drop copies to free memory.
void holder_table::drop(holder_id id, std::string_view name, time_point now) {
  auto const it = places_.find(std::string(name));
  if (it != places_.end() && holds(id, name)) remove(id, it, it->second.maker != id, now);
}

holder_table::place const* holder_table::find(std::string_view name) const {
  auto const it = places_.find(std::string(name));
  return it == places_.end() ? nullptr : &it->second;
}

bool holder_table::holds(holder_id id, std::string_view name) const {
  auto const* p = find(name);
  return p && std::find(p->by.begin(), p->by.end(), id) != p->by.end();
}

std::vector<holder_id> holder_table::holders_round_robin(std::string_view name,
                                                         std::string_view host) {
  auto const it = places_.find(std::string(name));
  if (it == places_.end()) return {};
  auto& p = it->second;
  auto found = p.by;
  std::rotate(found.begin(), found.begin() + static_cast<long>(p.turn++ % found.size()),
              found.end());
  if (!host.empty())
    std::stable_partition(found.begin(), found.end(),
                          [&](holder_id id) { return of(id).host == host; });
  return found;
}

std::optional<holder_id> holder_table::choose_uploader(std::string_view name, time_point now) {
  auto const it = places_.find(std::string(name));
  if (it == places_.end()) return {};
  auto& p = it->second;
  bool const first = p.put_asked == time_point{};
  if (first || now >= p.put_asked + limits_.put_within) {
    p.put_turn += !first;
    p.put_asked = now;
  }
  auto const turn = p.put_turn % p.by.size();
  return turn == 0 && p.maker != 0 ? p.maker : p.by[turn];
}

std::vector<holder_id> holder_table::workers_to_drop(std::string_view name) const {
  auto const* p = find(name);
  return p && p->output ? p->by : std::vector<holder_id>();
}

std::vector<std::string> holder_table::take(line& from, time_point until, std::size_t most,
                                            line* then) {
  std::vector<std::string> due;
  while (!from.empty() && from.front().first <= until && due.size() < most) {
    due.push_back(from.front().second);
    if (then) then->push_back(std::move(from.front()));
    from.pop_front();
  }
  return due;
}

std::vector<std::string> holder_table::take_copied(time_point now, std::size_t most) {
  return take(new_, now - limits_.copied, most, &copied_);
}

std::vector<std::string> holder_table::take_unreferenced(time_point now, std::size_t most) {
  return take(copied_, now - limits_.told, most, nullptr);
}

std::vector<std::string> holder_table::take_lost(time_point now, std::size_t most) {
  auto const until = now - limits_.away;
  auto due = take(away_, until, most, nullptr);
  std::erase_if(due, [&](std::string const& name) {
    auto const it = away_since_.find(name);
    if (it == away_since_.end() || it->second.since > until)
      return true;  // the output returned, or was lost again later
    away_since_.erase(it);
    return false;
  });
  return due;
}

std::vector<std::string> holder_table::take_orphans(time_point now, std::size_t most) {
  auto due = take(orphans_, now - limits_.away, most, nullptr);
  std::erase_if(due, [this](std::string const& name) {
    auto const* p = find(name);
    return !p || p->maker != 0;
  });
  return due;
}

holder_counts holder_table::counts() const {
  return {holders_.size(), places_.size(), bytes_, outputs_, copies_, copy_bytes_};
}

std::vector<worker_holding> holder_table::workers(std::size_t most) const {
  std::vector<worker_holding> all;
  for (auto const& [id, h] : holders_)
    if (is_worker(h) && !h.names.empty()) all.push_back({h.hello.task, h.names.size(), h.bytes});
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.task < b.task;
  });
  all.resize(std::min(all.size(), most));
  return all;
}

std::string holder_table::invalid() const {
  std::uint64_t bytes = 0, outputs = 0, places = 0, copies = 0, copy_bytes = 0, listed = 0;
  for (auto const& [id, h] : holders_) listed += h.names.size();
  for (auto const& [name, p] : places_) {
    if (p.by.empty()) return "a value without a holder is still listed";
    if (p.by.size() > limits_.holders_max) return "a value has too many holders";
    if (p.maker != 0 && !holds(p.maker, name))
      return "the worker that created a value does not hold it";
    if (!p.output && p.by.size() > 1) return "an argument has more than one holder";
    if (away_since_.contains(name)) return "a value that has a holder is marked as unavailable";
    for (auto const id : p.by) {
      auto const by = holders_.find(id);
      if (by == holders_.end() || !by->second.names.contains(name))
        return "a holder does not list a value that it holds";
      if (is_worker(by->second) != p.output)
        return "a worker holds an argument, or a client holds an output";
    }
    bytes += p.size;
    outputs += p.output;
    places += p.by.size();
    copies += p.by.size() - 1;
    copy_bytes += p.size * (p.by.size() - 1);
  }
  bool const same = bytes == bytes_ && outputs == outputs_ && listed == places &&
                    copies == copies_ && copy_bytes == copy_bytes_;
  return same ? "" : "the counters do not match the held values";
}

}  // namespace muster::core
