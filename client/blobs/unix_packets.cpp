#include "client/blobs/unix_packets.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>

#include "client/blobs/memory.hpp"

namespace muster::detail {
namespace {

struct address {
  sockaddr_un at{};
  socklen_t size = 0;
};

// Precondition: the name is short enough. The server's limit is 100 bytes.
address address_of(std::string const& name) {
  address a;
  a.at.sun_family = AF_UNIX;
  std::memcpy(a.at.sun_path + 1, name.data(), std::min(name.size(), sizeof a.at.sun_path - 1));
  a.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                  std::min(name.size(), sizeof a.at.sun_path - 1));
  return a;
}

union ancillary {
  cmsghdr aligned;
  char bytes[CMSG_SPACE(sizeof(int))];
};

file_descriptor make_socket() {
  return opened(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "socket");
}

}  // namespace

file_descriptor listen_at(std::string const& socket_name, int backlog) {
  auto made = make_socket();
  auto const a = address_of(socket_name);
  if (bind(made.get(), reinterpret_cast<sockaddr const*>(&a.at), a.size) != 0 ||
      listen(made.get(), backlog) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot listen on a Unix socket");
  return made;
}

// A non-blocking socket either connects immediately, or fails if the holder has too many waiting
// connections.
file_descriptor connect_to(std::string const& socket_name, std::string& why) {
  file_descriptor made(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  auto const a = address_of(socket_name);
  if (!made || connect(made.get(), reinterpret_cast<sockaddr const*>(&a.at), a.size) != 0) {
    why = std::strerror(errno);
    return {};
  }
  if (is_of_same_user(made.get())) return made;
  why = "the socket belongs to another user";
  return {};
}

bool is_of_same_user(int socket) {
  ucred of{};
  socklen_t size = sizeof of;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &of, &size) == 0 && of.uid == geteuid();
}

bool send_packet(int socket, char said, std::string_view name, int fd) {
  auto bytes = said + std::string(name);
  iovec part{bytes.data(), bytes.size()};
  ancillary beside{};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (fd >= 0) {
    m.msg_control = beside.bytes;
    m.msg_controllen = sizeof beside.bytes;
    auto* const head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  return sendmsg(socket, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

packet_read read_packet(int socket, unix_packet& into) {
  char bytes[1 + name_bytes + 1];
  iovec part{bytes, sizeof bytes};
  ancillary beside{};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = beside.bytes;
  m.msg_controllen = sizeof beside.bytes;
  into = {};
  auto const size = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return packet_read::nothing_yet;
  if (size > 0)
    if (auto const* head = CMSG_FIRSTHDR(&m);
        head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
      // The padding can contain two descriptors.
      for (std::size_t at = 0; CMSG_LEN(at + sizeof(int)) <= head->cmsg_len; at += sizeof(int)) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
        into.fd = file_descriptor(fd);
      }
    }
  if (size != static_cast<ssize_t>(1 + name_bytes)) return packet_read::hung_up;
  into.said = bytes[0];
  into.name.assign(bytes + 1, name_bytes);
  return packet_read::got;
}

}  // namespace muster::detail
