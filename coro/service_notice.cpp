// A datagram and, where there is one, a descriptor in its control part.
#include "coro/service_notice.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>

#include "coro/unique_fd.hpp"

namespace muster::coro {

// Whoever does not listen does not keep.
void send_notice(std::string const& address, std::string const& text, int socket) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof to.sun_path) return;
  std::memcpy(to.sun_path, address.data(), address.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';
  iovec part{const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (socket >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    auto* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &socket, sizeof(int));
  }
  unique_fd const fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return;
  // The next sign of life is as good as this one; a socket that is lost is not.
  int const wait = text == sign_of_life ? MSG_DONTWAIT : 0;
  [[maybe_unused]] auto const sent = ::sendmsg(fd.get(), &message, MSG_NOSIGNAL | wait);
}

}  // namespace muster::coro
