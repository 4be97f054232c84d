// The `jobs` topic: running jobs and recent jobs that finished or failed (history::live_jobs),
// newest first. Used on the web thread.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "server/core/api/views.hpp"
#include "web/live/topic.hpp"

namespace muster::web {

class jobs_topic final : public changing_rows<core::session_id> {
 public:
  jobs_topic() : changing_rows(topic_name::jobs) {}

  /// REQUIRES: each job occurs once.
  void update(std::vector<core::job_view> jobs, core::time_point now);

 private:
  struct entry {
    core::job_view view;
    std::uint64_t changed = 0;
  };

  void write_body(json_out& out, std::uint64_t const* from) const override;

  std::map<core::session_id, entry, std::greater<>> jobs_;
};

}  // namespace muster::web
