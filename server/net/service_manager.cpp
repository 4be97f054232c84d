#include "server/net/service_manager.hpp"

#include <absl/strings/str_split.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "server/net/incoming.hpp"

namespace muster::net {
namespace {

namespace ip = boost::asio::ip;

constexpr int first_socket = 3;
constexpr int inherited_sockets_max = 4'096;  // sockets above this limit are ignored

std::string taken_from_environment(char const* name) {
  auto const* value = std::getenv(name);
  std::string text = value == nullptr ? "" : value;
  ::unsetenv(name);
  return text;
}

int number(std::string_view text) {
  int n = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  return error == std::errc{} && end == text.data() + text.size() ? n : 0;
}

bool is_of(int socket, std::string_view address, std::uint16_t port) {
  auto const bound = endpoint_of(socket, ::getsockname);
  if (bound.port() == 0 || (port != 0 && bound.port() != port)) return false;
  if (address == "0.0.0.0" || address == "::") return bound.address().is_unspecified();
  auto const ip = bound.address();
  return (ip.is_v6() ? ip::address_v6(ip.to_v6().to_bytes()).to_string() : ip.to_string()) ==
         address;
}

bool listens(int socket) {
  int yes = 0;
  socklen_t size = sizeof yes;
  return ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &yes, &size) == 0 && yes != 0;
}

}  // namespace

service_manager service_manager::from_environment() {
  service_manager m;
  m.notify_ = taken_from_environment("NOTIFY_SOCKET");
  auto const stored = number(taken_from_environment("FDSTORE"));
  auto const pid = taken_from_environment("LISTEN_PID");
  auto const count = number(taken_from_environment("LISTEN_FDS"));
  auto const listed = taken_from_environment("LISTEN_FDNAMES");
  std::vector<std::string> const names = absl::StrSplit(listed, ':');
  // The sockets are meant for this process only if LISTEN_PID is its process ID.
  auto const mine =
      pid == std::to_string(::getpid()) ? std::clamp(count, 0, inherited_sockets_max) : 0;
  for (int i = 0; i < mine; ++i) {
    int const fd = first_socket + i;
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || !listens(fd)) continue;
    auto const at = static_cast<std::size_t>(i);
    m.held_.push_back({at < names.size() ? names[at] : std::string(), file_descriptor(fd)});
  }
  m.holds_ = (stored > 0 && !m.notify_.empty()) || !m.held_.empty();
  return m;
}

service_manager::service_manager(service_manager&& other) noexcept
    : holds_(other.holds_),
      notify_(std::move(other.notify_)),
      held_(std::exchange(other.held_, {})) {}

int service_manager::take(std::string_view name, std::string_view address, std::uint16_t port) {
  std::lock_guard const lock(mutex_);
  auto const named = [&](held const& h) {
    return h.name == name && is_of(h.socket.get(), address, port);
  };
  auto const same = [&](held const& h) {
    return port != 0 && is_of(h.socket.get(), address, port);
  };
  auto found = std::find_if(held_.begin(), held_.end(), named);
  if (found == held_.end()) found = std::find_if(held_.begin(), held_.end(), same);
  if (found == held_.end()) return -1;
  int const socket = found->socket.release();
  held_.erase(found);
  return socket;
}

void service_manager::keep(std::string_view name, int socket) const {
  send("FDSTORE=1\nFDNAME=" + std::string(name), socket);
}

void service_manager::drop(std::string_view name) const {
  send("FDSTOREREMOVE=1\nFDNAME=" + std::string(name), -1);
}

void service_manager::drop_rest() {
  std::lock_guard const lock(mutex_);
  for (auto const& h : held_)
    if (!h.name.empty()) drop(h.name);
  held_.clear();
}

void service_manager::send(std::string const& text, int socket) const {
  send_notice(notify_, text, socket);
}

// If no process listens at the address, the message is lost.
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
  file_descriptor const fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return;
  // Only a watchdog message can be dropped, because another message follows.
  int const wait = text == sign_of_life ? MSG_DONTWAIT : 0;
  [[maybe_unused]] auto const sent = ::sendmsg(fd.get(), &message, MSG_NOSIGNAL | wait);
}

}  // namespace muster::net
