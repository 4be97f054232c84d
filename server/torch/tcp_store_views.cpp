#include <algorithm>
#include <set>

#include "server/torch/rank_keys.hpp"
#include "server/torch/tcp_store.hpp"
#include "server/torch/tcp_store_state.hpp"

namespace muster::torch {
namespace {

constexpr std::size_t named_waiters = 16;

}  // namespace

attempt_view tcp_store::view_of(space const& s) const {
  return {s.number, s.cause, s.began, s.connections, s.keys.entries(), s.keys.bytes()};
}

connection_view tcp_store::view_of(connection const& c) const {
  connection_view v;
  v.id = c.id;
  v.peer = c.peer;
  v.attempt = c.space->number;
  v.since = c.since;
  if (c.reader.has_begun()) v.numbering = name(c.reader.speaks());
  v.rank = c.rank;
  v.pid = c.pid;
  v.waits_for = c.keys();
  if (c.waits()) v.waits_since = c.waiter::since();
  return v;
}

tcp_store_view tcp_store::view(std::size_t limit) const {
  tcp_store_view v;
  v.connections = connections_.size();
  std::vector<connection const*> all;
  for (auto const& [id, c] : connections_) all.push_back(c.get());
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->id < b->id; });
  auto const has_room = [&](auto const& list) {
    v.more = v.more || list.size() >= limit;
    return list.size() < limit;
  };
  for (auto const* c : all) {
    if (!has_room(v.shown)) break;
    v.shown.push_back(view_of(*c));
  }

  std::set<std::uint32_t> missing;
  for (auto const& s : {current_, before_}) {
    if (!s) continue;
    v.attempts.push_back(view_of(*s));
    s->keys.each_line([&](std::string_view key, std::vector<waiter*> const& who) {
      bool const barrier = who.front()->at_barrier();
      auto const rank = barrier ? std::nullopt : rank_of_key(key);
      if (rank && s == current_) missing.insert(*rank);
      if (!has_room(v.waits)) return;
      wait_view w{s->number, std::string(key), barrier, rank, who.front()->since(), who.size(), {}};
      for (auto const* one : who) {
        w.since = std::min(w.since, one->since());
        if (w.connections.size() < named_waiters)
          w.connections.push_back(static_cast<connection const*>(one)->id);
      }
      v.waits.push_back(std::move(w));
    });
  }
  v.expected = expected_;
  if (!current_) return v;
  for (std::uint32_t rank = 0; rank < expected_ && current_->connections > 0; ++rank)
    if (!current_->ranks.contains(rank)) missing.insert(rank);
  for (auto const& [rank, owner] : current_->ranks) {
    if (!has_room(v.ranks)) break;
    v.ranks.push_back(
        {rank, owner.connection, owner.peer, owner.pid, connections_.contains(owner.connection)});
  }
  for (auto const rank : missing) {
    if (!has_room(v.missing)) break;
    v.missing.push_back(rank);
  }
  return v;
}

std::optional<std::vector<key_view>> tcp_store::keys(std::uint64_t attempt, std::string_view prefix,
                                                     std::string_view after,
                                                     std::size_t limit) const {
  for (auto const& s : {current_, before_}) {
    if (!s || s->number != attempt) continue;
    std::vector<key_view> found;
    auto const& all = s->keys.all();
    auto it = after.empty() || after < prefix ? all.lower_bound(prefix) : all.upper_bound(after);
    for (; it != all.end() && it->first.starts_with(prefix) && found.size() < limit; ++it)
      found.push_back({it->first, it->second.size()});
    return found;
  }
  return std::nullopt;
}

std::string tcp_store::invalid() const {
  usage sum;
  std::set<space const*> spaces{current_.get(), before_.get()};
  std::size_t unfinished = 0, unread = 0;
  for (auto const& [id, c] : connections_) {
    spaces.insert(c->space.get());
    unfinished += c->counted_kept;
    unread += c->counted_unread;
  }
  std::size_t connections = 0;
  for (auto const* s : spaces) {
    if (s == nullptr) continue;
    if (auto problem = s->keys.invalid(); !problem.empty()) return problem;
    sum.entries += s->keys.entries();
    sum.bytes += s->keys.bytes();
    connections += s->connections;
  }
  if (sum.entries != usage_.entries || sum.bytes != usage_.bytes)
    return "the total size of the key spaces is wrong";
  if (connections != connections_.size())
    return "the number of connections of the key spaces is wrong";
  if (unfinished != unfinished_ || unread != unread_)
    return "the memory counters do not match the connections";
  return {};
}

}  // namespace muster::torch
