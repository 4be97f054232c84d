// A port of 127.0.0.1 that the system gives to nobody else.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <system_error>

namespace muster::test {

/// Holds a bound socket that does not listen. A program that names the port can listen on it, but
/// the system does not choose it for other programs, also while a server restarts.
class reserved_port {
 public:
  reserved_port() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    int const on = 1;
    ::setsockopt(fd_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    if (::bind(fd_, address, size) != 0 || ::getsockname(fd_, address, &size) != 0)
      throw std::system_error(errno, std::generic_category(), "no port is free");
    number_ = ntohs(at.sin_port);
  }
  reserved_port(reserved_port const&) = delete;
  ~reserved_port() { ::close(fd_); }

  std::uint16_t number() const { return number_; }
  std::string address() const { return "127.0.0.1:" + std::to_string(number_); }

 private:
  int fd_;
  std::uint16_t number_ = 0;
};

}  // namespace muster::test
