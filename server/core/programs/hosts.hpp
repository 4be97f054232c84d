// Workers that run ranks, identified by the incarnation of their process. A worker is kept while
// ranks may be alive on it, even if it is disconnected.
//
// States of a worker:
//
//   connected ──stream ends──► disconnected ──the same process reconnects──► connected
//                                │ └─the lease expires: all its ranks are dead──► forgotten
//                                └───no rank is alive──► forgotten
//
// The server counts the lease slightly longer than the worker, because clock rates differ.
//
// Owned by the controller. The numbers of connected workers and of ranks limit the size of the
// table.
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
  std::string job;
  std::int64_t index = 0;
  core::incarnation incarnation{};
  std::string name;    // machine name
  stream_id stream{};  // not set while disconnected
  time_point away_since = never;
  std::string address;
  std::string tunnel_key;  // may be empty
  std::uint16_t first_port = 0, last_port = 0;
  bool unpacks = false;
  bool preloads = false;
  bool torch = false;
  duration lease{};
  time_point lease_until{};
  std::set<rank_name> alive;  // ranks not known to be dead

  std::string worker() const { return job + ":" + std::to_string(index); }
};

struct arrival {
  stream_id stream{};
  std::string job;
  std::int64_t index = 0;
  core::incarnation incarnation{};
  std::string host;
};

class host_table {
 public:
  host_number attach(arrival const& who, programs_offer const& offer, time_point now);
  /// Restores a worker as disconnected, with a new lease. Leaves a known worker unchanged.
  host_number restore(placement_fact::place const& was, time_point now);
  /// Records that the stream has ended. Ignored if another stream has replaced this stream.
  void worker_disconnected(stream_id stream, time_point now);
  void renew(host& h, time_point now) { h.lease_until = now + h.lease + h.lease / 8; }
  /// Returns whether the remaining lease permits new ranks. Workers renew the lease after each
  /// quarter.
  static bool fresh(host const& h, time_point now) { return h.lease_until > now + h.lease / 2; }

  host* find(stream_id stream);
  host const* find(stream_id stream) const;
  host& at(host_number n) { return hosts_.at(n); }
  host const& at(host_number n) const { return hosts_.at(n); }
  bool any_away() const { return hosts_.size() > by_stream_.size(); }
  /// Returns the connected workers, ordered by task.
  std::vector<host_number> attached() const;
  /// Returns 0 if the worker is disconnected or unknown.
  stream_id stream_of(core::incarnation process) const {
    auto const it = by_incarnation_.find(process);
    return it == by_incarnation_.end() ? stream_id{} : hosts_.at(it->second).stream;
  }

  void give(host_number n, rank_name const& rank);
  void remove_rank(host_number n, rank_name const& rank);
  /// Returns the first lease expiry of a worker with ranks, or an earlier time.
  time_point due() const { return due_; }
  std::vector<rank_name> run_out(time_point now);

  std::uint32_t alive() const { return alive_; }
  std::size_t size() const { return hosts_.size(); }

 private:
  void remove_if_unused(host_number n);
  host_number number_of(core::incarnation process);

  std::map<host_number, host> hosts_;
  std::unordered_map<stream_id, host_number> by_stream_;
  std::unordered_map<core::incarnation, host_number> by_incarnation_;
  std::uint32_t last_ = 0;
  std::uint32_t alive_ = 0;
  time_point due_ = never;  // not updated when leases are renewed
};

}  // namespace muster::core::programs
