// Which tasks a cluster consists of, and where each is reached: the ClusterSpec of TensorFlow.
//
// A value; copies are independent. Jobs are sorted by name, tasks by index. A job is dense when its
// indices are 0…n-1. Every fault is a cluster_error that names the job and the index.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace muster {

class cluster_spec {
 public:
  /// Address by task index.
  using tasks = std::map<int, std::string>;
  using job_map = std::map<std::string, tasks>;

  /// Limits, so that a mistyped index or a hostile reply cannot fill the memory: jobs of one
  /// cluster, tasks of all of them together, bytes of a job's name and of an address. More:
  /// cluster_error::code::invalid, naming the limit.
  static constexpr std::size_t jobs_max = 1024;
  static constexpr std::size_t tasks_max = 1'000'000;
  static constexpr std::size_t name_bytes_max = 256;
  static constexpr std::size_t address_bytes_max = 1024;

  cluster_spec() = default;
  /// invalid: a job without a name, a negative index, an empty address.
  explicit cluster_spec(job_map jobs);

  /// {"worker": ["a:1", "b:1"], "ps": {"0": "c:1", "3": "d:1"}}. invalid: anything else; the line
  /// says what `origin` is, e.g. "TF_CONFIG: cluster.worker[1] is not a string".
  static cluster_spec from_json(std::string_view text, std::string const& origin = "cluster spec");
  /// Dense jobs as lists, sparse ones as objects, empty ones as {}.
  std::string to_json() const;

  /// No jobs at all.
  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;
  bool has_job(std::string_view job) const { return jobs_.contains(job); }
  bool has_task(std::string_view job, int index) const;
  /// Tasks of all jobs together.
  std::size_t size() const;

  // missing: "no such job in cluster: 'ps' (there are chief, worker)", or "no task with index 3 in
  // job 'ps'".
  std::size_t num_tasks(std::string_view job) const { return this->job(job).size(); }
  std::vector<int> task_indices(std::string_view job) const;
  std::string const& task_address(std::string_view job, int index) const;
  /// One entry per index up to the highest; none in the gaps.
  std::vector<std::optional<std::string>> job_tasks(std::string_view job) const;
  bool is_dense(std::string_view job) const;
  tasks const& job(std::string_view name) const;

  std::map<std::string, tasks, std::less<>> const& by_job() const { return jobs_; }

  bool operator==(cluster_spec const&) const = default;

 private:
  std::map<std::string, tasks, std::less<>> jobs_;
};

}  // namespace muster
