#include "server/history/machines/machines.hpp"

#include <algorithm>
#include <utility>

namespace muster::history {
namespace {

static_assert(sizeof(machine_sample) <= 60);

template <class T>
float or_unknown(std::optional<T> const& figure) {
  return figure ? static_cast<float>(*figure) : -1.0f;
}

machine_sample sample_of(machine const& m, time_point now) {
  machine_sample s;
  s.at = static_cast<std::uint32_t>(
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
  s.cpu = or_unknown(m.cpu);
  s.memory = or_unknown(m.memory);
  s.received = or_unknown(m.received), s.sent = or_unknown(m.sent);
  s.read = or_unknown(m.read), s.written = or_unknown(m.written);
  double busy = 0, memory = 0;
  std::size_t busy_known = 0, memory_known = 0;
  for (auto const& g : m.gpus) {
    if (g.busy) busy += *g.busy, ++busy_known;
    if (g.memory) memory += static_cast<double>(*g.memory), ++memory_known;
  }
  if (busy_known > 0) s.gpu = static_cast<float>(busy / static_cast<double>(busy_known));
  if (memory_known > 0) s.gpu_memory = static_cast<float>(memory);
  return s;
}

}  // namespace

// Returns null if the table is full.
machines::row* machines::row_of(std::string const& task) {
  auto at = rows_.find(task);
  if (at == rows_.end()) {
    if (rows_.size() >= machines_max && !make_room()) return nullptr;
    at = rows_.emplace(task, row{}).first;
  }
  return &at->second;
}

void machines::chart(row& r, machine_sample const& s) {
  if (!r.charted && charted_ < charts_max) r.charted = true, ++charted_;
  if (!r.charted) return;
  if (r.ring.size() < samples_max) return r.ring.push_back(s);
  r.ring[r.next] = s;
  r.next = (r.next + 1) % samples_max;
}

void machines::restore(std::string const& task, std::string const& host, machine_sample const& s) {
  auto* const r = row_of(task);
  if (!r) return;
  chart(*r, s);
  r->newest.host = host;
  r->seen = time_point(std::chrono::seconds(s.at));
  r->gone = true;
}

void machines::report(std::string const& task, machine seen, time_point now) {
  auto* const found = row_of(task);
  if (!found) return;
  auto& r = *found;
  chart(r, sample_of(seen, now));
  if (memory_part(seen) < near_limit)
    r.near_samples = 0;
  else if (r.near_samples++ == 0)
    r.near_since = now;
  r.newest = std::move(seen);
  r.seen = now;
  r.gone = false;
}

void machines::remove_machine(std::string const& task) {
  if (auto const at = rows_.find(task); at != rows_.end()) {
    at->second.gone = true;
    at->second.near_samples = 0;
  }
}

machines::row const* machines::find(std::string const& task) const {
  auto const at = rows_.find(task);
  return at == rows_.end() ? nullptr : &at->second;
}

bool machines::make_room() {
  auto oldest = rows_.end();
  for (auto at = rows_.begin(); at != rows_.end(); ++at)
    if (at->second.gone && (oldest == rows_.end() || at->second.seen < oldest->second.seen))
      oldest = at;
  if (oldest == rows_.end()) return false;
  if (oldest->second.charted) --charted_;
  rows_.erase(oldest);
  return true;
}

std::vector<machine_sample> machines::samples(row const& r) {
  std::vector<machine_sample> all(r.ring);
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(r.next), all.end());
  return all;
}

}  // namespace muster::history
