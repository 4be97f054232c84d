// Questions to workers until they are answered. Owned by a hub; engine thread only.
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
  /// Questions that wait at one time. More: RESOURCE_EXHAUSTED.
  static constexpr std::size_t waiting_max = 1'024;

  /// `what` is asked for: "logs".
  explicit worker_questions(std::string what) : what_(std::move(what)) {}

  /// The number of the question; 0: too many wait, and the handler was told so.
  std::uint64_t expect(core::stream_id stream, handler done) {
    if (waiting_.size() >= waiting_max) {
      done(muster::status{
          code::resource_exhausted,
          std::to_string(waiting_max) + " questions for " + what_ + " wait for workers"});
      return 0;
    }
    waiting_.emplace(++last_, waiting{stream, std::move(done)});
    return last_;
  }
  /// Only who was asked may answer.
  void answered(core::stream_id stream, std::uint64_t number, muster::result<Answer> answer) {
    auto const it = waiting_.find(number);
    if (it == waiting_.end() || it->second.stream != stream) return;
    auto node = waiting_.extract(it);
    node.mapped().done(std::move(answer));
  }
  /// Nobody waits for the answer any more.
  void forget(std::uint64_t number) { waiting_.erase(number); }
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
    handler done;
  };
  std::string const what_;
  std::map<std::uint64_t, waiting> waiting_;
  std::uint64_t last_ = 0;
};

}  // namespace muster::server
