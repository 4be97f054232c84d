// Tasks of a cluster and their addresses, like TensorFlow's ClusterSpec. A job is a role, such as
// worker.
//
// Jobs are sorted by name, tasks by index. A job is dense if its indices are 0 to n-1. Errors are
// cluster_error and name the job and the index.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class cluster_spec {
 public:
  using tasks = std::map<int, std::string>;
  using job_map = std::map<std::string, tasks>;

  /// Limits on the number of jobs, the number of tasks of all jobs, and the bytes of a job name and
  /// of an address. Beyond a limit, functions throw cluster_error (invalid), which names the limit.
  /// A mistyped index or a hostile reply therefore cannot exhaust memory.
  static constexpr std::size_t jobs_max = 1024;
  static constexpr std::size_t tasks_max = 1'000'000;
  static constexpr std::size_t name_bytes_max = 256;
  static constexpr std::size_t address_bytes_max = 1024;

  cluster_spec() = default;
  /// @throws cluster_error (invalid) for a job without a name, a negative index or an empty address
  explicit cluster_spec(job_map jobs);

  /// Parses {"worker": ["a:1", "b:1"], "ps": {"0": "c:1", "3": "d:1"}}.
  /// @param text JSON object of roles
  /// @param origin beginning of error messages, such as "TF_CONFIG"
  /// @throws cluster_error (invalid) if the text is malformed
  static cluster_spec from_json(std::string_view text, std::string const& origin = "cluster spec");
  /// Returns JSON with dense jobs as lists, sparse jobs as objects, and empty jobs as {}.
  std::string to_json() const;

  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;
  bool has_job(std::string_view job) const { return jobs_.contains(job); }
  bool has_task(std::string_view job, int index) const;
  std::size_t size() const;

  // These functions throw cluster_error (missing) if the job or the index is unknown, for example
  // "no such job in cluster: 'ps' (its jobs are chief, worker)".
  std::size_t num_tasks(std::string_view job) const { return this->job(job).size(); }
  std::vector<int> task_indices(std::string_view job) const;
  std::string const& task_address(std::string_view job, int index) const;
  /// Returns one entry for each index up to the highest index. Unused indices have nullopt.
  std::vector<std::optional<std::string>> job_tasks(std::string_view job) const;
  bool is_dense(std::string_view job) const;
  tasks const& job(std::string_view name) const;

  std::map<std::string, tasks, std::less<>> const& by_job() const { return jobs_; }

  bool operator==(cluster_spec const&) const = default;

 private:
  std::map<std::string, tasks, std::less<>> jobs_;
};

}  // namespace muster
