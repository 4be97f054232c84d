// Sockets found by who is at their other end.
#include "net/abuse/cut_connection.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

#include "net/incoming.hpp"
#include "process/file_descriptor.hpp"

namespace muster::net {
namespace {

using boost::asio::ip::tcp;

// As gRPC 1.51 calls it; not tried with a newer one.
std::string grpc_name(tcp::endpoint const& peer) {
  auto const text = text_of(peer);
  if (!text.starts_with('[')) return "ipv4:" + text;
  auto const end = text.rfind(']');
  return "ipv6:%5B" + text.substr(1, end - 1) + "%5D" + text.substr(end + 1);
}

/// By a copy: the number may be another connection's any time. Without a name it is whoever's.
std::string cut(int socket, std::string const& name) {
  file_descriptor const copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return {};
  auto const peer = endpoint_of(copy.get());
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
  file_descriptor const copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return {};
  auto who = cut(copy.get(), {});
  if (!who.empty()) drop_unread(copy.get());
  return who;
}

std::vector<int> open_descriptors() {
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const all(::opendir("/proc/self/fd"), ::closedir);
  while (auto const* const entry = all ? ::readdir(all.get()) : nullptr)
    if (int const fd = number_in(entry->d_name); fd >= 0) found.push_back(fd);
  return found;
}

std::string cut_connection(std::string const& name) {
  if (int const fd = adopted_socket(name); fd >= 0) return cut(fd, {});
  auto const port = number_in(std::string_view(name).substr(name.rfind(':') + 1));
  for (int const fd : open_descriptors()) {
    if (endpoint_of(fd).port() != port) continue;
    if (auto peer = cut(fd, name); !peer.empty()) return peer;
  }
  return {};
}

}  // namespace muster::net
