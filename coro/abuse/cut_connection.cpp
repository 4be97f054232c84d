// Sockets found by who is at their other end.
#include "coro/abuse/cut_connection.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>
#include <memory>
#include <string_view>

#include "coro/incoming.hpp"
#include "coro/unique_fd.hpp"

namespace muster::coro {
namespace {

using boost::asio::ip::tcp;

tcp::endpoint peer_of(int socket) {
  tcp::endpoint peer;
  auto size = static_cast<socklen_t>(peer.capacity());
  if (::getpeername(socket, peer.data(), &size) != 0 || size > peer.capacity()) return {};
  auto const family = peer.data()->sa_family;
  if (family != AF_INET && family != AF_INET6) return {};
  peer.resize(size);
  return peer;
}

// As gRPC calls it.
std::string grpc_name(tcp::endpoint const& peer) {
  auto const text = text_of(peer);
  if (!text.starts_with('[')) return "ipv4:" + text;
  auto const end = text.rfind(']');
  return "ipv6:%5B" + text.substr(1, end - 1) + "%5D" + text.substr(end + 1);
}

/// By a copy: the number may be another connection's any time. Without a name it is whoever's.
std::string cut(int socket, std::string const& name) {
  unique_fd const copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return {};
  auto const peer = peer_of(copy.get());
  if (peer.port() == 0 || (!name.empty() && grpc_name(peer) != name)) return {};
  return ::shutdown(copy.get(), SHUT_RDWR) == 0 ? text_of(peer) : std::string();
}

void drop_unread(int socket) {
  std::array<char, 64 << 10> bytes;
  constexpr int times = 1'024;  // 64 MiB: nothing can come any more, so there is not as much
  for (int i = 0; i < times; ++i)
    if (::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT) <= 0) return;
}

int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string cut_socket(int socket) {
  unique_fd const copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return {};
  auto who = cut(copy.get(), {});
  if (!who.empty()) drop_unread(copy.get());
  return who;
}

std::string cut_connection(std::string const& name) {
  constexpr std::string_view adopted = "fd:";
  if (name.starts_with(adopted))
    return cut(number_in(std::string_view(name).substr(adopted.size())), {});
  auto const port = number_in(std::string_view(name).substr(name.rfind(':') + 1));
  std::unique_ptr<DIR, int (*)(DIR*)> const all(::opendir("/proc/self/fd"), ::closedir);
  if (!all) return {};
  while (auto const* const entry = ::readdir(all.get())) {
    auto const fd = number_in(entry->d_name);
    if (fd < 0 || peer_of(fd).port() != port) continue;
    if (auto peer = cut(fd, name); !peer.empty()) return peer;
  }
  return {};
}

}  // namespace muster::coro
