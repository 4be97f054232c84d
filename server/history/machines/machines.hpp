// Latest state of the workers' hosts, and one hour of samples for charts. The hub adds the data.
// Used only on the engine thread.
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

/// Negative values are unknown.
struct machine_sample {
  std::uint32_t at = 0;  // Unix seconds
  float cpu = -1;        // cores
  float memory = -1;
  float gpu = -1;  // utilisation of all GPUs, 0 to 1
  float gpu_memory = -1;
  float received = -1, sent = -1, read = -1, written = -1;  // bytes per second
};

class machines {
 public:
  /// One hour with a sample every five seconds.
  static constexpr std::size_t samples_max = 720;
  /// Machines with samples (27 MB). For further machines, only the latest state is stored.
  static constexpr std::size_t charts_max = 1'024;
  /// At the limit, a machine that has left is dropped. If all machines are present, a new machine
  /// is not stored.
  static constexpr std::size_t machines_max = 16'384;
  /// Maximum age of a state that counts as current.
  static constexpr duration fresh_for = std::chrono::seconds(20);
  /// Number of consecutive samples above near_limit that raise an alert.
  static constexpr std::size_t near_limit_after = 3;
  static constexpr double near_limit = 0.95;

  struct row {
    machine newest{};
    time_point seen{};
    bool gone = false;
    std::size_t near_samples = 0;
    time_point near_since{};
    bool charted = false;
    std::size_t next = 0;  // sample to overwrite next
    std::vector<machine_sample> ring{};

    bool fresh(time_point now) const { return !gone && now - seen <= fresh_for; }
    bool is_near_limit(time_point now) const {
      return fresh(now) && near_samples >= near_limit_after;
    }
  };

  /// `task` is a task such as "worker:3", or empty for the server itself.
  void report(std::string const& task, machine seen, time_point now);
  void remove_machine(std::string const& task);
  /// Samples must be restored oldest first, before the machine reports.
  void restore(std::string const& task, std::string const& host, machine_sample const& s);
  row const* find(std::string const& task) const;
  std::map<std::string, row> const& all() const { return rows_; }
  /// @pre The row has a sample.
  static machine_sample const& newest_sample(row const& r) {
    return r.next > 0 ? r.ring[r.next - 1] : r.ring.back();
  }
  static std::vector<machine_sample> samples(row const& r);

 private:
  row* row_of(std::string const& task);
  void chart(row& r, machine_sample const& s);
  bool make_room();

  std::map<std::string, row> rows_;
  std::size_t charted_ = 0;
};

}  // namespace muster::history
