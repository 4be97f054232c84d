#include "server/net/loopback_pair.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

namespace muster::net {
namespace {

muster::status refused(char const* what) {
  return {code::resource_exhausted,
          std::string(what) + ": " + std::generic_category().message(errno)};
}

file_descriptor socket_of(int flags) {
  return file_descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
}

sockaddr* plain(sockaddr_in& a) {
  return reinterpret_cast<sockaddr*>(&a);
}

bool same(sockaddr_in const& a, sockaddr_in const& b) {
  return a.sin_port == b.sin_port && a.sin_addr.s_addr == b.sin_addr.s_addr;
}

void hurry(int fd) {
  int const on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

// Maximum delay that other processes on this host can cause by connecting to the listener.
constexpr timeval stranger_patience{0, 100'000};
constexpr int strangers_max = 16;

}  // namespace

muster::result<loopback> loopback_pair() {
  file_descriptor const listener = socket_of(0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (!listener || ::bind(listener.get(), plain(at), size) != 0 ||
      ::setsockopt(listener.get(), SOL_SOCKET, SO_RCVTIMEO, &stranger_patience,
                   sizeof stranger_patience) != 0 ||
      ::listen(listener.get(), 8) != 0 || ::getsockname(listener.get(), plain(at), &size) != 0)
    return refused("no port of 127.0.0.1");
  loopback made;
  made.dialled = socket_of(SOCK_NONBLOCK);
  sockaddr_in own{}, peer{};
  if (!made.dialled ||
      (::connect(made.dialled.get(), plain(at), sizeof at) != 0 && errno != EINPROGRESS) ||
      ::getsockname(made.dialled.get(), plain(own), &(size = sizeof own)) != 0)
    return refused("no connection to 127.0.0.1");
  for (int strangers = 0; !same(own, peer); ++strangers) {
    made.served = file_descriptor(::accept4(listener.get(), plain(peer), &(size = sizeof peer),
                                            SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!made.served || strangers == strangers_max) return refused("no connection from 127.0.0.1");
  }
  hurry(made.dialled.get());
  hurry(made.served.get());
  return made;
}

}  // namespace muster::net
