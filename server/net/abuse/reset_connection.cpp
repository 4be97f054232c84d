#include "server/net/abuse/reset_connection.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <charconv>
#include <memory>
#include <string_view>

#include "base/process/file_descriptor.hpp"
#include "server/net/incoming.hpp"

namespace muster::net {
namespace {

/// Resets a TCP connection and drops its unread data: on Linux, connecting to AF_UNSPEC does this.
/// After a shutdown, the peer could still block in `send` once the socket's window is full.
bool reset(int socket) {
  sockaddr const nobody{.sa_family = AF_UNSPEC, .sa_data = {}};
  return ::connect(socket, &nobody, sizeof nobody) == 0;
}

/// Resets a connection through a copy of its descriptor, because the descriptor's number can be
/// reused at any time. An empty name matches any peer.
std::string cut(int socket, std::string const& name) {
  file_descriptor const copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) return {};
  auto const peer = endpoint_of(copy.get());
  if (peer.port() == 0 || (!name.empty() && grpc_name(text_of(peer)) != name)) return {};
  return reset(copy.get()) ? text_of(peer) : std::string();
}

int number_in(std::string_view text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

std::string grpc_name(std::string const& peer) {
  if (!peer.starts_with('[')) return "ipv4:" + peer;
  auto const end = peer.rfind(']');
  return "ipv6:%5B" + peer.substr(1, end - 1) + "%5D" + peer.substr(end + 1);
}

std::string reset_socket(int socket) {
  return cut(socket, {});
}

std::vector<int> open_descriptors() {
  std::vector<int> found;
  std::unique_ptr<DIR, int (*)(DIR*)> const all(::opendir("/proc/self/fd"), ::closedir);
  while (auto const* const entry = all ? ::readdir(all.get()) : nullptr)
    if (int const fd = number_in(entry->d_name); fd >= 0) found.push_back(fd);
  return found;
}

std::string reset_connection(std::string const& name) {
  if (int const fd = adopted_socket(name); fd >= 0) return cut(fd, {});
  auto const port = number_in(std::string_view(name).substr(name.rfind(':') + 1));
  for (int const fd : open_descriptors()) {
    if (endpoint_of(fd).port() != port) continue;
    if (auto peer = cut(fd, name); !peer.empty()) return peer;
  }
  return {};
}

}  // namespace muster::net
