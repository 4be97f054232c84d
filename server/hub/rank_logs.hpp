// Questions to workers for what ranks have printed, which lies on the workers' disks, until they
// are answered. Owned by a hub; engine thread only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "server/core/api/ranks.hpp"

namespace muster::server {

struct rank_log_query {
  std::uint64_t number = 0;
  core::rank_name rank{};
  std::uint64_t offset = 0;
  bool from_end = false;  // it counts backwards
  std::uint32_t bytes_max = 0;
};

struct rank_log {
  bool known = false;        // its worker has it
  std::uint64_t offset = 0;  // of the first byte
  std::string data;
  std::uint64_t size = 0;  // of all
  bool complete = false;   // nothing will be added
  std::string task{};      // whose it is, "worker:3"
};

class rank_logs {
 public:
  using handler = std::function<void(muster::result<rank_log>)>;
  /// Questions that wait at one time. More: RESOURCE_EXHAUSTED.
  static constexpr std::size_t waiting_max = 1'024;

  /// The number of the question about the log of `task`; 0: too many wait, and the handler was told
  /// so.
  std::uint64_t expect(core::stream_id stream, std::string task, handler done) {
    if (waiting_.size() >= waiting_max) {
      done(muster::status{code::resource_exhausted,
                          std::to_string(waiting_max) + " questions for logs wait for workers"});
      return 0;
    }
    waiting_.emplace(++last_, waiting{stream, std::move(task), std::move(done)});
    return last_;
  }
  /// Only who was asked may answer.
  void answered(core::stream_id stream, std::uint64_t number, muster::result<rank_log> log) {
    auto const it = waiting_.find(number);
    if (it == waiting_.end() || it->second.stream != stream) return;
    auto node = waiting_.extract(it);
    if (log) log->task = std::move(node.mapped().task);
    node.mapped().done(std::move(log));
  }
  /// The worker is gone.
  void gone(core::stream_id stream) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (it->second.stream != stream) {
        ++it;
        continue;
      }
      auto done = std::move(it->second.done);
      it = waiting_.erase(it);
      done(muster::status{code::unavailable, "the worker's connection broke; ask again"});
    }
  }

 private:
  struct waiting {
    core::stream_id stream{};
    std::string task;
    handler done;
  };
  std::map<std::uint64_t, waiting> waiting_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::server
