// A client made of a plain socket, and a listener that keeps what it has handed on.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "net/port_listener.hpp"

namespace muster::net::test {

using namespace std::chrono_literals;

// What a client sends first: the fixed part and empty settings.
inline std::string const preface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);

class client {
 public:
  client() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(fd_.get(), 0);
    timeval const limit{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  explicit client(std::uint16_t port, char const* from = "127.0.0.1") : client() {
    sockaddr_in own{};
    own.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    connect(port);
  }
  bool reaches(std::uint16_t port) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  void connect(std::uint16_t port) { EXPECT_TRUE(reaches(port)); }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // The server closed it, within ten seconds. What it had not read makes that a reset.
  bool closed() {
    char byte = 0;
    auto const n = ::recv(fd_.get(), &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  bool open() {
    char byte = 0;
    return ::recv(fd_.get(), &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }

 private:
  file_descriptor fd_;
};

// A listener on a port of 127.0.0.1 and what it has handed on.
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

  // The next connection that was handed on; nothing after ten seconds.
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
  // Asked again each millisecond, since a listener announces nothing. False after ten seconds.
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
  o.waiting.speak_timeout = 1h;
  return o;
}

}  // namespace muster::net::test
