// A client of HTTP/2 by hand that begins calls and resets each at once, as those of CVE-2023-44487
// do.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

namespace muster::test {

class rapid_resets {
 public:
  /// Connects to "127.0.0.1:PORT" and says the preface.
  explicit rapid_resets(std::string const& address)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    timeval const limit{20, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 &&
                 send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, ""));
  }
  ~rapid_resets() { ::close(fd_); }
  rapid_resets(rapid_resets const&) = delete;

  bool connected() const { return connected_; }
  /// False: the connection is gone.
  bool begin_and_reset(std::string const& method, int times) {
    std::string all;
    for (int i = 0; i < times; ++i, stream_ += 2) {
      all += frame(1, 4, stream_, head(method));                 // HEADERS, whole
      all += frame(0, 0, stream_, std::string(5, '\0'));         // DATA: an empty message
      all += frame(3, 0, stream_, std::string("\0\0\0\x8", 4));  // RST_STREAM: CANCEL
    }
    return send(all);
  }
  /// Waits for the server to close the connection; false: it does not for 20 s.
  bool ends() {
    char some[4096];
    ssize_t n = 0;
    while ((n = ::recv(fd_, some, sizeof some, 0)) > 0) {
    }
    return n == 0 || errno == ECONNRESET;
  }
  /// True: the server has closed the connection; false: it answers a ping.
  bool is_cut() {
    if (!send(frame(6, 0, 0, "12345678"))) return true;
    std::string said;
    char some[4096];
    for (;;) {
      auto const n = ::recv(fd_, some, sizeof some, 0);
      if (n <= 0) return true;
      said.append(some, static_cast<std::size_t>(n));
      if (said.find(frame(6, 1, 0, "12345678")) != said.npos) return false;
    }
  }

 private:
  static std::string frame(char type, char flags, std::uint32_t stream, std::string const& body) {
    auto const byte = [](std::size_t n) { return static_cast<char>(n & 0xff); };
    std::string f{0, byte(body.size() >> 8), byte(body.size()), type, flags};
    for (int shift = 24; shift >= 0; shift -= 8) f += byte(stream >> shift);
    return f + body;
  }
  // HPACK without tables: indexed fields of the static one, and literals.
  static std::string head(std::string const& method) {
    auto const text = [](std::string const& t) { return static_cast<char>(t.size()) + t; };
    return "\x83\x86\x04" + text(method) + "\x01" + text("localhost") + "\x0f\x10" +
           text("application/grpc") + std::string(1, '\0') + text("te") + text("trailers");
  }
  bool send(std::string const& all) {
    for (std::size_t at = 0; at < all.size();) {
      auto const n = ::send(fd_, all.data() + at, all.size() - at, MSG_NOSIGNAL);
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }

  int const fd_;
  bool connected_ = false;
  std::uint32_t stream_ = 1;
};

}  // namespace muster::test
