// The hub's part in running programs: records, orders to workers, clusters, steps and hangs. Owned
// by a hub; used only on the engine thread.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/history/programs/black_box.hpp"
#include "server/hub/programs/program_clusters.hpp"
#include "server/hub/programs/program_doctor.hpp"
#include "server/hub/programs/rank_steps.hpp"

namespace muster::server {

struct program_dependencies {
  /// Appends the records of a step to the journal. REQUIRES: set if jobs have a journal.
  std::function<void(std::vector<core::programs::fact> const&)> write = {};
  /// Stores an attempt's record; null removes it. May be empty.
  std::function<void(history::black_box::name const&, core::attempt_record const*)> write_record =
      {};
  program_clusters* clusters = nullptr;  // outlives the hub; null if programs have no clusters
};

class program_hub {
 public:
  using attempt = history::black_box::name;

  program_hub(hub& of, program_dependencies dependencies)
      : hub_(of), dependencies_(std::move(dependencies)) {}

  void deliver(core::effects const& fx);
  void forget_worker(core::stream_id worker);
  void tick();
  core::time_point due() const { return std::min(steps_.due(), doctor_.due()); }
  /// Called after the core has removed all programs, because their cluster was removed.
  void close();

  /// REQUIRES: nothing has been scheduled yet.
  void restore(std::vector<core::programs::restored_program> programs);
  /// Returns false if the core does not know the attempt. REQUIRES: its program has been restored.
  bool restore(attempt const& which, core::attempt_record what);
  /// Returns the blobs that unfinished programs use, as 64 hexadecimal digits each. Notifies the
  /// core of blobs that appeared or disappeared, according to `exists`.
  std::vector<std::string> refresh_uploads(std::function<bool(std::string const&)> const& exists);

  /// An attempt's barriers are complete once a later attempt begins.
  history::black_box& records() { return records_; }
  void record(core::rank_reports const& reports);
  void record_stacks(core::stream_id worker, attempt const& which,
                     std::vector<core::attempt_record::stack> where);
  /// An event without a time gets the current time.
  void record_event(attempt const& which, core::attempt_record::event what);
  void write_records();

  bool has_cluster(core::program_id program, std::uint32_t attempt) const {
    return dependencies_.clusters && dependencies_.clusters->serves(program, attempt);
  }
  std::string cluster_of(core::program_id program) const {
    return dependencies_.clusters ? dependencies_.clusters->of(program) : std::string();
  }
  /// Returns the cluster for a worker's tunnel. Returns PERMISSION_DENIED if no live rank has this
  /// key, or NOT_FOUND if the program has no cluster.
  muster::result<std::string> cluster_of(core::program_id program, std::uint32_t attempt,
                                         std::string_view tunnel_key) const;
  void inspect_cluster(core::program_id program, std::vector<std::uint32_t> const& ranks,
                       doctor::look& into) const;
  program_clusters::lateness lateness(core::program_id program, std::uint32_t attempt) const;

  rank_steps& steps() { return steps_; }
  rank_steps const& steps() const { return steps_; }
  program_doctor& doctor() { return doctor_; }

 private:
  void record_attempts(core::effects const& fx);
  void deliver_orders(core::effects const& fx);

  hub& hub_;
  program_dependencies const dependencies_;
  history::black_box records_;
  rank_steps steps_{hub_};
  program_doctor doctor_{hub_};
};

}  // namespace muster::server
