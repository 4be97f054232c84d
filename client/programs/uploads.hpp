// Fills the ranks' working directories with an upload, on a separate thread, because the network
// and the disk can be slow. Works sequentially, so an upload shared by several ranks is downloaded
// once.
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
  /// Result of an order; `why_not` is empty on success.
  struct outcome {
    std::string why_not{};
    bool is_unavailable = false;
  };
  struct order {
    std::uint64_t id = 0;
    std::string hash, server;
    /// If `to` is empty, the upload is fetched in advance, after all other orders.
    std::vector<std::filesystem::path> to{};
    std::optional<std::pair<uid_t, gid_t>> owner{};
    std::function<void()> before{};       // function called on this object's thread; can throw
    std::function<void(outcome)> done{};  // called on this object's thread, unless forgotten
  };

  uploads(upload_cache_options cache, tls_options tls, std::string token);
  ~uploads() { close(); }
  uploads(uploads const&) = delete;

  /// Adds an order, at most one per ID. The number of ranks limits the number of orders.
  /// Thread-safe, as are the following functions.
  void provide(order o);
  /// Removes the order or cancels its download.
  void forget(std::uint64_t id);
  /// Discards all orders and waits for the thread to end.
  void close();

 private:
  void run();
  outcome perform(order const& o, upload_fetch& fetch);

  upload_cache cache_;  // unpacked uploads, used only by this object's thread
  tls_options const tls_;
  std::string const token_;
  std::mutex mutex_;  // protects the following members
  std::condition_variable changed_;
  std::deque<order> waiting_;
  std::uint64_t current_ = 0;
  std::shared_ptr<upload_fetch> fetching_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace muster
