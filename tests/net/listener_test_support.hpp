// A raw client socket, and a listener that keeps its accepted connections.
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "server/net/port_listener.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::net::test {

using namespace std::chrono_literals;

// The start of a client's data: the fixed part and empty settings.
inline std::string const preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

struct client : muster::test::raw_socket {
  client() = default;
  explicit client(std::uint16_t port, char const* from = "127.0.0.1")
      : raw_socket(port, {.from = from}) {}
  void connect(std::uint16_t port) { EXPECT_TRUE(reaches(port)); }
  void send(std::string_view bytes) { EXPECT_TRUE(raw_socket::send(bytes)); }
};

// A listener on a port of 127.0.0.1, and its accepted connections.
class listening {
 public:
  explicit listening(port_listener_options options = {}, char const* address = "127.0.0.1",
                     wire spoken = wire::plaintext)
      : listener_(std::move(options)) {
    auto const take = [this](accepted_socket a) {
      std::lock_guard lock(mutex_);
      accepted_.push_back(std::move(a));
      changed_.notify_one();
    };
    auto const bound = listener_.listen("test", address, 0, take, spoken);
    EXPECT_TRUE(bound) << bound.error().message;
    if (bound) port_ = bound->port;
    listener_.start();
  }
  ~listening() { stop(); }
  void stop() { listener_.stop(); }

  // Returns the next accepted connection, or nullopt after ten seconds.
  std::optional<accepted_socket> next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, 10s, [this] { return !accepted_.empty(); })) return {};
    auto a = std::move(accepted_.front());
    accepted_.pop_front();
    return a;
  }
  bool nothing_yet() {
    std::lock_guard lock(mutex_);
    return accepted_.empty();
  }
  // Polls every millisecond, since a listener sends no events. Returns false after ten seconds.
  bool has(std::uint64_t half_open) {
    for (int i = 0; i < 10'000 && counts().half_open != half_open; ++i)
      std::this_thread::sleep_for(1ms);
    return counts().half_open == half_open;
  }
  connection_counts counts() const { return listener_.counts(); }
  std::uint16_t port() const { return port_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<accepted_socket> accepted_;
  std::uint16_t port_ = 0;
  port_listener listener_;
};

inline std::string received(accepted_socket const& a) {
  std::string bytes(4096, '\0');
  auto const n = ::recv(a.socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  bytes.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return bytes;
}

inline port_listener_options patient() {
  port_listener_options o;
  o.waiting.first_data_timeout = 1h;
  return o;
}

}  // namespace muster::net::test
