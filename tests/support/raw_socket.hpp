// A plain TCP client for 127.0.0.1 with a time limit on every wait.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

namespace muster::test {

inline std::uint16_t port_of(std::string const& address) {
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

struct raw_socket_options {
  char const* from = nullptr;
  int receive_buffer = 0;  // 0: system default
  int seconds = 10;        // time limit of every wait
};

class raw_socket {
 public:
  explicit raw_socket(raw_socket_options o = {})
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    EXPECT_GE(fd_, 0);
    set(SOL_SOCKET, SO_RCVTIMEO, timeval{o.seconds, 0});
    set(SOL_SOCKET, SO_SNDTIMEO, timeval{o.seconds, 0});
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    if (o.receive_buffer > 0) set(SOL_SOCKET, SO_RCVBUF, o.receive_buffer);
    if (!o.from) return;
    auto own = at(0);
    ::inet_pton(AF_INET, o.from, &own.sin_addr);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
  }
  explicit raw_socket(std::uint16_t port, raw_socket_options o = {}) : raw_socket(o) {
    EXPECT_TRUE(reaches(port));
  }
  ~raw_socket() { close(); }
  raw_socket(raw_socket const&) = delete;

  bool reaches(std::uint16_t port) {
    auto to = at(port);
    return ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  /// Returns false if the peer has closed the connection.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      auto const n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// Returns 1 to `n` bytes, or none at the end, after a reset or at the time limit.
  std::string receive(std::size_t n = 65536) {
    std::string bytes(n, '\0');
    auto const got = ::recv(fd_, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return bytes;
  }
  /// Returns everything that was read.
  std::string receive_until(std::string_view what) {
    std::string all;
    while (all.find(what) == std::string::npos) {
      auto const more = receive();
      if (more.empty()) break;
      all += more;
    }
    return all;
  }
  std::string receive_all() {
    std::string all;
    for (auto more = receive(); !more.empty(); more = receive()) all += more;
    return all;
  }
  /// Returns true if the peer closes the connection within the time limit.
  bool ends() {
    receive_all();
    return closed();
  }
  /// Returns true if the peer closes without sending. Unread bytes turn the close into a reset.
  bool closed() {
    char byte = 0;
    auto const n = ::recv(fd_, &byte, 1, 0);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  }
  bool open() {
    char byte = 0;
    return ::recv(fd_, &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
  }
  int descriptor() const { return fd_; }
  void shut_down_send() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  static sockaddr_in at(std::uint16_t port) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(port);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return a;
  }
  template <class T>
  void set(int level, int name, T const& value) {
    ::setsockopt(fd_, level, name, &value, sizeof value);
  }

  int fd_;
};

}  // namespace muster::test
