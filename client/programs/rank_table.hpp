// The ranks that a worker holds, from the start order to the order to forget them, and their
// pending reports. Does no I/O. Used only on the engine thread.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/worker.pb.h"

namespace muster {

struct rank_key {
  std::uint64_t program = 0;
  std::uint32_t attempt = 0, rank = 0;
  auto operator<=>(rank_key const&) const = default;
};

struct held_rank {
  std::uint64_t launcher = 0;
  std::uint32_t pid = 0;  // 0 if the rank has not been started
  std::optional<v1::RankEnded> ended{};
  std::string not_preloaded{};
  std::vector<std::string> devices{};
  bool start_was_reported = false,
       end_was_reported = false;  // whether the events were reported on this stream
  bool asked_to_end = false;
};

class rank_table {
 public:
  /// Returns nullptr if the worker does not hold the rank.
  held_rank* find(rank_key const& key);
  /// @pre The worker does not hold the rank.
  held_rank& add(rank_key const& key, std::uint64_t launcher);
  /// Returns the launcher's ranks that have not exited.
  std::vector<rank_key> alive_of(std::uint64_t launcher) const;
  /// Returns the launchers that have ranks of this attempt that have not exited.
  std::set<std::uint64_t> launchers_of(std::uint64_t program, std::uint32_t attempt) const;
  std::set<std::uint64_t> launchers() const;
  std::set<std::pair<std::uint64_t, std::uint32_t>> attempts() const;

  void started(rank_key const& key, std::uint32_t pid, std::string not_preloaded = {});
  /// Marks the named ranks, or all ranks of the launcher if none is named, as requested to stop.
  void asked_to_end(std::uint64_t launcher,
                    google::protobuf::RepeatedField<std::uint32_t> const& named);
  /// Records a rank's exit and returns the rank's devices. A rank that was stopped without a
  /// request counts as failed, because its launcher was terminated from outside.
  std::vector<std::string> ended(rank_key const& key, v1::RankEnded what);
  void report_again(rank_key const& key);
  /// Removes the rank unless it is running.
  void forget(rank_key const& key);

  /// Adds all ranks to a hello. The hello replaces pending reports.
  void offer(v1::ProgramsOffer& to);
  /// Applies the answer to offer(). Returns the running ranks that must be killed. Removes ranks
  /// that the server did not keep and whose exit was reported.
  std::vector<rank_key> settle(v1::ProgramsWelcome const& answer);

  /// Adds pending reports, up to about `bytes_max`.
  void report(v1::RankReports& to, std::size_t bytes_max);
  bool reports() const { return !unreported_.empty(); }
  bool alive() const { return alive_ > 0; }
  bool settled() const { return alive_ == 0 && unreported_.empty(); }

 private:
  std::map<rank_key, held_rank> held_;  // the server limits the number of ranks
  std::vector<rank_key> offered_;
  std::deque<rank_key> unreported_;
  std::size_t alive_ = 0;
};

v1::RankName name_of(rank_key const& key);
rank_key key_of(v1::RankName const& name);

}  // namespace muster
