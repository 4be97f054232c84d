// Reproduces peculiarities that torch's clients rely on. Creating a key wakes the clients that wait
// for the key, even if the key is deleted again. Numbers are stored as text. Queue names are
// separate from key names.
#include "server/torch/key_space.hpp"

#include <algorithm>
#include <charconv>

namespace muster::torch {
namespace {

// Parses like std::stoll, which torch's server uses: "7x" becomes 7.
std::optional<std::int64_t> number_in(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t\n\v\f\r");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t n = 0;
  auto const [at, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc{}) return std::nullopt;
  return n;
}

std::int64_t wrapped_sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

}  // namespace

void waiter::each_key(std::function<void(std::string_view key)> const& f) const {
  for (auto const& p : places_)
    if (!p.has_come) f(p.line->first);
}

key_space::~key_space() {
  all_.entries -= entries();
  all_.bytes -= bytes_;
  all_.awaited -= awaited_;
}

void key_space::more(std::size_t entries, std::size_t bytes) {
  all_.entries += entries;
  all_.bytes += bytes;
  bytes_ += bytes;
}

void key_space::less(std::size_t entries, std::size_t bytes) {
  all_.entries -= entries;
  all_.bytes -= bytes;
  bytes_ -= bytes;
}

std::string& key_space::place_of(std::string_view key) {
  auto const it = keys_.lower_bound(key);
  if (it != keys_.end() && it->first == key) return it->second;
  more(1, key.size() + entry_bytes);
  return keys_.emplace_hint(it, key, std::string())->second;
}

void key_space::set(std::string_view key, std::string_view value) {
  auto& there = place_of(key);
  less(0, there.size());
  more(0, value.size());
  there.assign(value);
  wake(waiting_, key, false);
}

std::string const* key_space::find(std::string_view key) const {
  auto const it = keys_.find(key);
  return it == keys_.end() ? nullptr : &it->second;
}

std::string key_space::compare_set(std::string_view key, std::string_view expected,
                                   std::string_view desired) {
  auto const* there = find(key);
  if (there ? *there != expected : !expected.empty()) return there ? *there : std::string(expected);
  set(key, desired);
  return std::string(desired);
}

std::optional<std::int64_t> key_space::add(std::string_view key, std::int64_t delta) {
  std::int64_t n = 0;
  if (auto const* there = find(key)) {
    auto const found = number_in(*there);
    if (!found) return std::nullopt;
    n = *found;
  }
  n = wrapped_sum(n, delta);
  set(key, std::to_string(n));
  return n;
}

void key_space::append(std::string_view key, std::string_view value) {
  place_of(key).append(value);
  more(0, value.size());
  wake(waiting_, key, false);
}

bool key_space::erase(std::string_view key) {
  auto const it = keys_.find(key);
  if (it == keys_.end()) return false;
  less(1, key.size() + it->second.size() + entry_bytes);
  keys_.erase(it);
  return true;
}

bool key_space::is_there(std::string_view key) const {
  return keys_.contains(key) || queues_.contains(key);
}

void key_space::push(std::string_view queue, std::string_view value) {
  auto it = queues_.find(queue);
  if (it == queues_.end()) it = queues_.emplace(queue, std::deque<std::string>()).first;
  it->second.emplace_back(value);
  ++queued_;
  more(1, queue.size() + value.size() + entry_bytes);
  wake(waiting_, queue, true);
}

std::size_t key_space::length(std::string_view queue) const {
  auto const it = queues_.find(queue);
  return it == queues_.end() ? 0 : it->second.size();
}

std::string key_space::pop(std::string_view queue) {
  auto const it = queues_.find(queue);
  auto value = std::move(it->second.front());
  it->second.pop_front();
  --queued_;
  less(1, queue.size() + value.size() + entry_bytes);
  if (it->second.empty()) queues_.erase(it);
  return value;
}

void key_space::park(waiter& w, waiter::lines& all, std::string_view key, core::time_point now) {
  auto it = all.find(key);
  if (it == all.end()) it = all.emplace(key, waiter::line()).first;
  it->second.emplace(++last_number_, &w);
  w.places_.push_back({it, last_number_});
  w.since_ = now;
  ++w.missing_;
  ++awaited_;
  ++all_.awaited;
}

bool key_space::wait(waiter& w, std::vector<std::string_view> const& keys, core::time_point now) {
  w.barrier_ = false;
  for (auto const key : keys)
    if (!is_there(key)) park(w, waiting_, key, now);
  return !w.waits();
}

std::optional<bool> key_space::arrive(waiter& w, std::string_view key, std::int64_t world,
                                      core::time_point now) {
  auto const count = add(key, 1);
  if (!count) return std::nullopt;
  if (*count >= world) {
    wake(at_barriers_, key, false);
    return true;
  }
  w.barrier_ = true;
  park(w, at_barriers_, key, now);
  return false;
}

void key_space::wake(waiter::lines& all, std::string_view key, bool one) {
  if (all.empty()) return;
  auto const it = all.find(key);
  if (it == all.end()) return;
  auto& line = it->second;
  while (!line.empty()) {
    auto const [number, w] = *line.begin();
    line.erase(line.begin());
    --awaited_;
    --all_.awaited;
    auto const place = std::lower_bound(w->places_.begin(), w->places_.end(), number,
                                        [](auto const& p, auto n) { return p.number < n; });
    place->has_come = true;
    if (--w->missing_ == 0) {
      w->places_.clear();
      woken_(*w);
    }
    if (one) break;
  }
  if (line.empty()) all.erase(it);
}

void key_space::withdraw(waiter& w) {
  auto& all = w.barrier_ ? at_barriers_ : waiting_;
  for (auto const& p : w.places_) {
    if (p.has_come) continue;
    p.line->second.erase(p.number);
    --awaited_;
    --all_.awaited;
    if (p.line->second.empty()) all.erase(p.line);
  }
  w.places_.clear();
  w.missing_ = 0;
}

void key_space::each_line(
    std::function<void(std::string_view key, std::vector<waiter*> const&)> const& f) const {
  std::vector<waiter*> who;
  for (auto const* all : {&waiting_, &at_barriers_})
    for (auto const& [key, line] : *all) {
      who.clear();
      for (auto const& [number, w] : line) who.push_back(w);
      f(key, who);
    }
}

std::string key_space::invalid() const {
  std::size_t bytes = 0, queued = 0, awaited = 0;
  for (auto const& [key, value] : keys_) bytes += key.size() + value.size() + entry_bytes;
  for (auto const& [key, queue] : queues_) {
    if (queue.empty()) return "an empty queue is still stored";
    queued += queue.size();
    for (auto const& value : queue) bytes += key.size() + value.size() + entry_bytes;
  }
  for (auto const* all : {&waiting_, &at_barriers_})
    for (auto const& [key, line] : *all) {
      if (line.empty()) return "a list of waiting clients is empty but still stored";
      if (all == &waiting_ && keys_.contains(key))
        return "a client is waiting for a key that exists";
      awaited += line.size();
    }
  if (bytes != bytes_) return "the size of the key space is wrong";
  if (queued != queued_) return "the number of queue entries is wrong";
  return awaited == awaited_ ? "" : "the number of awaited keys is wrong";
}

}  // namespace muster::torch
