// What workers see of their machines: the newest of each, and an hour of what charts show. Told
// from outside, the core learns nothing of it. Engine thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "server/core/api/time.hpp"

namespace muster::history {

using namespace muster::core;

/// Negative: not known.
struct machine_sample {
  std::uint32_t at = 0;  // Unix seconds
  float cpu = -1;        // cores
  float memory = -1;
  float gpu = -1;  // of all together, 0 to 1
  float gpu_memory = -1;
  float received = -1, sent = -1, read = -1, written = -1;  // in a second
};

class machines {
 public:
  /// An hour at one in five seconds.
  static constexpr std::size_t samples_max = 720;
  /// Machines with samples; of others the newest alone is kept. 27 MB.
  static constexpr std::size_t charts_max = 1'024;
  /// Beyond it one that is gone makes room, or nothing is kept of a new one.
  static constexpr std::size_t machines_max = 16'384;
  /// What is older is not how it is now.
  static constexpr duration fresh_for = std::chrono::seconds(20);
  /// As many in a row with so much of the memory in use are an alert.
  static constexpr std::size_t near_limit_after = 3;
  static constexpr double near_limit = 0.95;

  struct row {
    machine newest{};
    time_point seen{};
    bool gone = false;
    std::size_t near_samples = 0;  // in a row
    time_point near_since{};
    bool charted = false;
    std::size_t next = 0;  // that is overwritten, once the ring is full
    std::vector<machine_sample> ring{};

    bool fresh(time_point now) const { return !gone && now - seen <= fresh_for; }
    bool is_near_limit(time_point now) const {
      return fresh(now) && near_samples >= near_limit_after;
    }
  };

  /// Of a task, "worker:3"; of the server itself: empty.
  void report(std::string const& task, machine seen, time_point now);
  void gone(std::string const& task);
  /// What was seen before, oldest first, of one that is not there yet.
  void restore(std::string const& task, std::string const& host, machine_sample const& s);
  /// Null: it has said nothing, or was forgotten.
  row const* find(std::string const& task) const;
  std::map<std::string, row> const& all() const { return rows_; }
  /// REQUIRES: there is one.
  static machine_sample const& newest_sample(row const& r) {
    return r.next > 0 ? r.ring[r.next - 1] : r.ring.back();
  }
  /// Oldest first.
  static std::vector<machine_sample> samples(row const& r);

 private:
  row* row_of(std::string const& task);
  void chart(row& r, machine_sample const& s);
  bool make_room();

  std::map<std::string, row> rows_;
  std::size_t charted_ = 0;
};

}  // namespace muster::history
