// Posts notifications to the configured addresses. Owned by the app. Has its own thread, because
// receivers can be slow. For security, addresses never come from the network, answers are
// discarded, redirects are not followed, and TLS certificates are verified.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "app/webhooks/webhook_settings.hpp"
#include "base/http_client/http_client.hpp"
#include "base/notice_totals.hpp"
#include "base/status.hpp"
#include "server/disk/store_thread.hpp"

namespace muster::server {

/// Returns "t=UNIX,v1=HEX", the HMAC-SHA256 of "UNIX.BODY".
std::string signature(std::string const& secret, std::int64_t unix_seconds, std::string_view body);

class webhook_sender {
 public:
  /// Maximum number of waiting notifications. Further notifications are dropped and counted.
  static constexpr std::size_t waiting_max = 100;
  static constexpr int tries_max = 3;

  /// Called on the sender's thread when sending to an address starts to fail, or succeeds again.
  using tell = std::function<void(bool works, std::string text)>;

  webhook_sender(webhook_settings settings, tell told);
  ~webhook_sender() { stop(); }

  /// Starts the thread. Returns FAILED_PRECONDITION if the secret file is unusable.
  /// @pre Addresses are configured.
  muster::status start();
  // Thread-safe.
  void send(std::string body);
  notice_totals counts() const { return {posted_, failed_, dropped_}; }
  void stop();

 private:
  void post(std::string const& body);
  muster::status try_to_post(std::string const& url, std::string const& body);
  bool pause(int tries);

  webhook_settings const settings_;
  tell const tell_;
  std::string secret_;
  std::atomic<std::size_t> waiting_ = 0;
  std::atomic<std::uint64_t> posted_ = 0, failed_ = 0, dropped_ = 0;
  std::mutex mutex_;
  std::condition_variable stops_;
  bool stopping_ = false;
  // Members that only the sender's thread uses.
  http_client client_;
  std::vector<bool> fails_;
  store_thread<std::string> thread_;  // last member, because it uses all other members
};

}  // namespace muster::server
