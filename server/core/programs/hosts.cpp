#include "server/core/programs/hosts.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace muster::core::programs {

host_number host_table::number_of(core::incarnation process) {
  auto const [known, added] = by_incarnation_.try_emplace(process, host_number{last_ + 1});
  if (added) ++last_;
  return known->second;
}

host_number host_table::restore(placement_fact::place const& was, time_point now) {
  auto const n = number_of(was.incarnation);
  auto const [it, added] = hosts_.try_emplace(n);
  if (!added) return n;
  auto& h = it->second;
  h.job = was.job;
  h.index = was.index;
  h.incarnation = was.incarnation;
  h.name = was.host;
  h.address = was.address;
  h.first_port = static_cast<std::uint16_t>(was.first_port);
  h.last_port = static_cast<std::uint16_t>(was.last_port);
  h.lease = was.lease;
  h.away_since = now;
  renew(h, now);
  return n;
}

host_number host_table::attach(arrival const& who, programs_offer const& offer, time_point now) {
  auto const n = number_of(who.incarnation);
  auto& h = hosts_[n];
  if (h.stream != stream_id{}) by_stream_.erase(h.stream);
  h.job = who.job;
  h.index = who.index;
  h.incarnation = who.incarnation;
  h.name = who.host;
  h.stream = who.stream;
  h.away_since = never;
  if (h.alive.empty())
    h.address = offer.address;  // ports of living ranks belong to the old
                                // address
  h.tunnel_key = offer.tunnel_key;
  h.first_port = static_cast<std::uint16_t>(offer.first_port);
  h.last_port = static_cast<std::uint16_t>(offer.last_port);
  h.unpacks = offer.unpacks;
  h.preloads = offer.preloads;
  h.torch = offer.torch;
  h.lease = offer.lease;
  renew(h, now);
  by_stream_[who.stream] = n;
  return n;
}

void host_table::worker_disconnected(stream_id stream, time_point now) {
  auto const it = by_stream_.find(stream);
  if (it == by_stream_.end()) return;
  auto const n = it->second;
  by_stream_.erase(it);
  hosts_.at(n).stream = {};
  hosts_.at(n).away_since = now;
  remove_if_unused(n);
}

host const* host_table::find(stream_id stream) const {
  auto const it = by_stream_.find(stream);
  return it == by_stream_.end() ? nullptr : &hosts_.at(it->second);
}

host* host_table::find(stream_id stream) {
  return const_cast<host*>(std::as_const(*this).find(stream));
}

std::vector<host_number> host_table::attached() const {
  std::vector<host_number> all;
  for (auto const& [stream, n] : by_stream_) all.push_back(n);
  auto const task_of = [this](host_number n) {
    auto const& h = hosts_.at(n);
    return std::tuple(std::string_view(h.job), h.index, n);
  };
  std::sort(all.begin(), all.end(),
            [&](host_number a, host_number b) { return task_of(a) < task_of(b); });
  return all;
}

void host_table::give(host_number n, rank_name const& rank) {
  auto& h = hosts_.at(n);
  alive_ += h.alive.insert(rank).second;
  due_ = std::min(due_, h.lease_until);
}

void host_table::remove_rank(host_number n, rank_name const& rank) {
  alive_ -= static_cast<std::uint32_t>(hosts_.at(n).alive.erase(rank));
  remove_if_unused(n);
}

void host_table::remove_if_unused(host_number n) {
  auto const it = hosts_.find(n);
  if (it->second.stream != stream_id{} || !it->second.alive.empty()) return;
  by_incarnation_.erase(it->second.incarnation);
  hosts_.erase(it);
}

std::vector<rank_name> host_table::run_out(time_point now) {
  std::vector<rank_name> dead;
  if (now < due_) return dead;
  due_ = never;
  for (auto const& [n, h] : hosts_) {
    if (h.alive.empty()) continue;
    if (h.lease_until <= now)
      dead.insert(dead.end(), h.alive.begin(), h.alive.end());
    else
      due_ = std::min(due_, h.lease_until);
  }
  return dead;
}

}  // namespace muster::core::programs
