// Workers that take ranks, for as long as ranks may be alive on them: also while they are away. One
// is known by the incarnation of its process.
//
//   attached ──stream ends──► away ──the same process──► attached
//      │                       │ └─its lease has run out: nothing of it lives──► forgotten
//      └────no rank is alive───┴───────────────────────────────────────────────► forgotten when
//      away
//
// The lease is counted a bit longer here than there, for clocks that run at other rates.
//
// Owned by the controller. Limit: the workers that are attached, and those with ranks, whose number
// the ranks of all programs bound.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/core/api/program_facts.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::core::programs {

enum class host_number : std::uint32_t {};

struct host {
  std::string job;  // its task
  std::int64_t index = 0;
  core::incarnation incarnation{};
  std::string name;    // of the machine
  stream_id stream{};  // none: it is away…
  time_point away_since = never;
  std::string address;
  std::string tunnel_key;  // empty: it opens no tunnels
  std::uint16_t first_port = 0, last_port = 0;
  bool unpacks = false;   // uploads
  bool preloads = false;  // modules
  bool torch = false;     // tunnels to stores
  duration lease{};
  time_point lease_until{};
  std::set<rank_name> alive;  // ranks that are not known to be dead

  std::string worker() const { return job + ":" + std::to_string(index); }
};

/// Who comes.
struct arrival {
  stream_id stream{};
  std::string job;
  std::int64_t index = 0;
  core::incarnation incarnation{};
  std::string host;
};

class host_table {
 public:
  /// Known from before, or new. Its lease begins anew.
  host_number attach(arrival const& who, programs_offer const& offer, time_point now);
  /// One of an earlier process of this server, away until it comes: its lease begins now. What is
  /// known of the same process already stays.
  host_number restore(placement_fact::place const& was, time_point now);
  /// Its stream has ended. Nothing when another one has taken its place.
  void away(stream_id stream, time_point now);
  void renew(host& h, time_point now) { h.lease_until = now + h.lease + h.lease / 8; }
  /// Its lease is such that ranks may be started there: workers renew it every quarter.
  static bool fresh(host const& h, time_point now) { return h.lease_until > now + h.lease / 2; }

  host* find(stream_id stream);
  host const* find(stream_id stream) const;
  host& at(host_number n) { return hosts_.at(n); }
  host const& at(host_number n) const { return hosts_.at(n); }
  /// Whether some have ranks and no stream.
  bool any_away() const { return hosts_.size() > by_stream_.size(); }
  /// Those with a stream, by task.
  std::vector<host_number> attached() const;
  /// None: it is away, or forgotten.
  stream_id stream_of(core::incarnation process) const {
    auto const it = by_incarnation_.find(process);
    return it == by_incarnation_.end() ? stream_id{} : hosts_.at(it->second).stream;
  }

  /// It is to run this rank.
  void give(host_number n, rank_name const& rank);
  /// A rank is dead.
  void bury(host_number n, rank_name const& rank);
  /// Not after the first lease of one with ranks runs out.
  time_point due() const { return due_; }
  /// The ranks of those whose lease has run out.
  std::vector<rank_name> run_out(time_point now);

  std::uint32_t alive() const { return alive_; }
  std::size_t size() const { return hosts_.size(); }

 private:
  void forget_if_gone(host_number n);
  host_number number_of(core::incarnation process);

  std::map<host_number, host> hosts_;
  std::unordered_map<stream_id, host_number> by_stream_;
  std::unordered_map<core::incarnation, host_number> by_incarnation_;
  std::uint32_t last_ = 0;
  std::uint32_t alive_ = 0;  // ranks on all of them
  time_point due_ = never;   // leases that are renewed do not move it
};

}  // namespace muster::core::programs
