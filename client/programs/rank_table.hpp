// The ranks that a worker holds, from the order to start each until it is told to forget it, and
// what the server has still to be told of them. Pure; one thread, that of the engine.
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
  std::uint32_t pid = 0;  // 0: not started yet
  std::optional<v1::RankEnded> ended{};
  std::string not_preloaded{};
  std::vector<std::string> devices{};
  bool told_started = false, told_ended = false;  // to the server, on this stream
  bool asked_to_end = false;                      // by this worker
};

class rank_table {
 public:
  /// Null: it is not held.
  held_rank* find(rank_key const& key);
  /// REQUIRES: it is not held.
  held_rank& add(rank_key const& key, std::uint64_t launcher);
  /// Those of a launcher that have not ended.
  std::vector<rank_key> alive_of(std::uint64_t launcher) const;
  /// Those launchers that have ranks of an attempt which have not ended.
  std::set<std::uint64_t> launchers_of(std::uint64_t program, std::uint32_t attempt) const;
  std::set<std::uint64_t> launchers() const;
  std::set<std::pair<std::uint64_t, std::uint32_t>> attempts() const;

  void started(rank_key const& key, std::uint32_t pid, std::string not_preloaded = {});
  /// Those of the launcher that are named; where none are, all.
  void asked_to_end(std::uint64_t launcher,
                    google::protobuf::RepeatedField<std::uint32_t> const& named);
  /// Gives its devices back to the caller. A rank that its launcher has stopped though nobody had
  /// asked for that has failed: somebody has ended the launcher.
  std::vector<std::string> ended(rank_key const& key, v1::RankEnded what);
  /// Says its end once more.
  void say_again(rank_key const& key);
  /// One that is alive stays.
  void forget(rank_key const& key);

  /// A hello says all that there is.
  void offer(v1::ProgramsOffer& to);
  /// Which of them are alive and do not go on: to be killed. Those whose end it has told are
  /// forgotten.
  std::vector<rank_key> settle(v1::ProgramsWelcome const& answer);

  /// Adds what the server has not been told, up to about `bytes_max`.
  void report(v1::RankReports& to, std::size_t bytes_max);
  bool reports() const { return !untold_.empty(); }
  bool alive() const { return alive_ > 0; }
  bool settled() const { return alive_ == 0 && untold_.empty(); }

 private:
  std::map<rank_key, held_rank> held_;  // the server's limits bound it
  std::vector<rank_key> offered_;
  std::deque<rank_key> untold_;
  std::size_t alive_ = 0;
};

v1::RankName name_of(rank_key const& key);
rank_key key_of(v1::RankName const& name);

}  // namespace muster
