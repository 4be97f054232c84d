// Working directories of ranks with the content of an upload. On a thread of its own, since the
// network and the disk may take their time: one after another, so what several ranks or programs
// have in common comes once.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/programs/upload_cache.hpp"
#include "client/programs/upload_fetch.hpp"

namespace muster {

class uploads {
 public:
  /// Why it cannot be had; no words: it is there.
  struct outcome {
    std::string why_not{};
    bool not_given = false;  // see upload_not_given
  };
  struct order {
    std::uint64_t id = 0;
    std::string hash, server;
    std::vector<std::filesystem::path> to{};  // none: it is got ahead of need, after all others
    std::optional<std::pair<uid_t, gid_t>> owner{};
    std::function<void()> before{};       // by the thread of this object; may throw
    std::function<void(outcome)> done{};  // by that thread, unless it was forgotten
  };

  uploads(upload_cache_options cache, tls_options tls, std::string token);
  ~uploads() { close(); }
  uploads(uploads const&) = delete;

  /// Any thread, as all below. An id waits once; what waits is bounded by the ranks of a
  /// worker.
  void provide(order o);
  /// Nobody waits for it any more: it is not begun, or given up.
  void forget(std::uint64_t id);
  /// Forgets all, and returns when nothing is done any more.
  void close();

 private:
  void run();
  outcome perform(order const& o, upload_fetch& fetch);

  upload_cache cache_;  // the thread's
  tls_options const tls_;
  std::string const token_;
  std::mutex mutex_;  // protects all below
  std::condition_variable changed_;
  std::deque<order> waiting_;
  std::uint64_t current_ = 0;
  std::shared_ptr<upload_fetch> fetching_;  // for the current one
  bool over_ = false;
  std::thread thread_;
};

}  // namespace muster
