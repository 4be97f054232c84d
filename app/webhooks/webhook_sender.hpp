// Posts notices to the addresses that the operator has named at the start. Owned by the app; has a
// thread of its own, since the other side may be slow. Nothing that comes over the network can name
// an address, an answer is read and thrown away, no redirect is followed, and TLS is verified.
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

/// "t=UNIX,v1=HEX": the HMAC-SHA256 of "UNIX.BODY".
std::string signature(std::string const& secret, std::int64_t unix_seconds, std::string_view body);

class webhook_sender {
 public:
  /// Notices that wait. Full: what comes then is dropped and counted.
  static constexpr std::size_t waiting_max = 100;
  static constexpr int tries_max = 3;

  /// What people are told when an address does not answer, or does again; from its thread.
  using tell = std::function<void(bool works, std::string text)>;

  webhook_sender(webhook_settings settings, tell told);
  ~webhook_sender() { stop(); }

  /// FAILED_PRECONDITION: the file of the secret. REQUIRES: there are addresses.
  muster::status start();
  // Any thread.
  void send(std::string body);
  notice_totals counts() const { return {posted_, failed_, dropped_}; }
  /// What waits is abandoned.
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
  bool stopping_ = false;  // by mutex_
  // Of its thread.
  http_client client_;
  std::vector<bool> fails_;           // by address
  store_thread<std::string> thread_;  // last: it uses the others
};

}  // namespace muster::server
