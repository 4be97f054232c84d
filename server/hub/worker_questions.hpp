// Queries to workers that wait for an answer. Owned by a hub; used only on the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/status.hpp"
#include "server/core/api/ids.hpp"

namespace muster::server {

template <class Answer>
class worker_questions {
 public:
  using handler = std::function<void(muster::result<Answer>)>;
  /// Maximum number of pending queries. At the limit, new queries fail with RESOURCE_EXHAUSTED.
  static constexpr std::size_t waiting_max = 1'024;

  /// `subject` is a word for error messages, such as "logs".
  explicit worker_questions(std::string subject) : subject_(std::move(subject)) {}

  /// Returns a new query's number. At the limit, passes the error to `done` and returns 0.
  std::uint64_t expect(core::stream_id stream, handler done) {
    if (waiting_.size() >= waiting_max) {
      done(muster::status{code::resource_exhausted,
                          std::to_string(waiting_max) + " requests for " + subject_ +
                              " are already waiting for workers, which is the limit; try again"});
      return 0;
    }
    waiting_.emplace(++last_, waiting{stream, std::move(done)});
    return last_;
  }
  /// Ignores an answer unless it comes from the queried worker.
  void deliver(core::stream_id stream, std::uint64_t number, muster::result<Answer> answer) {
    auto const it = waiting_.find(number);
    if (it == waiting_.end() || it->second.stream != stream) return;
    auto node = waiting_.extract(it);
    node.mapped().done(std::move(answer));
  }
  void forget(std::uint64_t number) { waiting_.erase(number); }
  void forget_worker(core::stream_id stream) {
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (it->second.stream != stream) {
        ++it;
        continue;
      }
      auto done = std::move(it->second.done);
      it = waiting_.erase(it);
      done(muster::status{code::unavailable, "the worker's connection broke; try again"});
    }
  }

 private:
  struct waiting {
    core::stream_id stream{};
    handler done;
  };
  std::string const subject_;
  std::map<std::uint64_t, waiting> waiting_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::server
