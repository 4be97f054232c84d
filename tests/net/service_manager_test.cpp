#include "server/net/service_manager.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace muster::net {
namespace {

int listening_socket(char const* address = "127.0.0.1") {
  int const fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  ::inet_pton(AF_INET, address, &at.sin_addr);
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  EXPECT_EQ(::listen(fd, 8), 0);
  return fd;
}

std::uint16_t port_of(int fd) {
  sockaddr_in at{};
  socklen_t size = sizeof at;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size), 0);
  return ntohs(at.sin_port);
}

bool same_file(int a, int b) {
  return a >= 0 && port_of(a) == port_of(b);
}

// Places sockets at descriptors from 3 on, as the protocol requires, if these are free.
struct given : testing::Test {
  ~given() override {
    for (char const* name :
         {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "FDSTORE"})
      ::unsetenv(name);
    for (int const fd : opened) ::close(fd);
  }
  service_manager start(std::vector<int> const& sockets, char const* names,
                        pid_t pid = ::getpid()) {
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      int const at = 3 + static_cast<int>(i);
      EXPECT_TRUE(sockets[i] == at || ::dup2(sockets[i], at) == at);
    }
    ::setenv("LISTEN_PID", std::to_string(pid).c_str(), 1);
    ::setenv("LISTEN_FDS", std::to_string(sockets.size()).c_str(), 1);
    if (names != nullptr) ::setenv("LISTEN_FDNAMES", names, 1);
    return service_manager::from_environment();
  }
  // Keeps the descriptors from 3 on free.
  int make(char const* address = "127.0.0.1") {
    int const low = listening_socket(address);
    int const fd = ::fcntl(low, F_DUPFD_CLOEXEC, 100);
    ::close(low);
    opened.push_back(fd);
    return fd;
  }
  std::vector<int> opened;
};

TEST_F(given, sockets_are_found_by_name_whatever_their_port) {
  int const a = make(), b = make();
  auto m = start({a, b}, "grpc:cluster-train");
  EXPECT_TRUE(m.holds_sockets());
  EXPECT_EQ(std::getenv("LISTEN_FDS"), nullptr) << "children must not use them";
  EXPECT_EQ(m.take("grpc", "127.0.0.2", 0), -1) << "of another address";
  EXPECT_EQ(m.take("grpc", "127.0.0.1", 1), -1) << "of another port";
  int const t = m.take("cluster-train", "127.0.0.1", 0);
  EXPECT_TRUE(same_file(t, b));
  EXPECT_EQ(m.take("cluster-train", "127.0.0.1", 0), -1) << "once";
  int const g = m.take("grpc", "127.0.0.1", port_of(a));
  EXPECT_TRUE(same_file(g, a));
  EXPECT_NE(::fcntl(g, F_GETFD) & FD_CLOEXEC, 0);
  ::close(t);
  ::close(g);
}

TEST_F(given, sockets_without_names_are_found_by_address) {
  int const a = make();
  auto m = start({a}, nullptr);
  EXPECT_EQ(m.take("http", "127.0.0.1", 0), -1);
  int const h = m.take("http", "127.0.0.1", port_of(a));
  EXPECT_TRUE(same_file(h, a));
  ::close(h);
}

TEST_F(given, of_another_process_are_ignored) {
  auto m = start({make()}, "grpc", ::getpid() + 1);
  EXPECT_FALSE(m.holds_sockets());
  EXPECT_EQ(m.take("grpc", "127.0.0.1", 0), -1);
  ::close(3);
}

TEST_F(given, invalid_variables_yield_no_sockets) {
  int pipes[2];
  ASSERT_EQ(::pipe(pipes), 0);
  int const high = ::fcntl(pipes[0], F_DUPFD_CLOEXEC, 100);
  ::close(pipes[0]);
  ::close(pipes[1]);
  opened.push_back(high);
  auto m = start({high}, "grpc");
  EXPECT_FALSE(m.holds_sockets());
  ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
  ::setenv("LISTEN_FDS", "99999999999999999999", 1);
  EXPECT_FALSE(service_manager::from_environment().holds_sockets());
}

TEST_F(given, unclaimed_sockets_are_closed) {
  int const a = make();
  auto m = start({a}, "old");
  m.drop_rest();
  EXPECT_EQ(m.take("old", "127.0.0.1", 0), -1);
  EXPECT_TRUE(m.holds_sockets()) << "sockets opened later";
}

TEST(service_notifications, report_kept_and_dropped_sockets) {
  int const heard = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  auto const name = "@muster-test-" + std::to_string(::getpid());
  std::memcpy(at.sun_path, name.data(), name.size());
  at.sun_path[0] = '\0';
  auto const size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  ASSERT_EQ(::bind(heard, reinterpret_cast<sockaddr*>(&at), size), 0);
  ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  ::setenv("FDSTORE", "64", 1);
  auto const m = service_manager::from_environment();
  EXPECT_TRUE(m.holds_sockets());
  int const socket = listening_socket();
  m.keep("cluster-a", socket);
  m.drop("cluster-b");
  m.ready();
  for (std::string const wanted :
       {"FDSTORE=1\nFDNAME=cluster-a", "FDSTOREREMOVE=1\nFDNAME=cluster-b", "READY=1"}) {
    char text[256];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    iovec part{text, sizeof text};
    msghdr message{};
    message.msg_iov = &part, message.msg_iovlen = 1;
    message.msg_control = control, message.msg_controllen = sizeof control;
    auto const n = ::recvmsg(heard, &message, MSG_DONTWAIT);
    ASSERT_GT(n, 0) << wanted;
    EXPECT_EQ(std::string(text, static_cast<std::size_t>(n)), wanted);
    auto* const header = CMSG_FIRSTHDR(&message);
    EXPECT_EQ(header != nullptr, wanted.starts_with("FDSTORE=1")) << wanted;
    if (header == nullptr) continue;
    int got = -1;
    std::memcpy(&got, CMSG_DATA(header), sizeof got);
    EXPECT_TRUE(same_file(got, socket));
    ::close(got);
  }
  ::close(socket);
  ::close(heard);
}

TEST(service_notifications, are_skipped_without_a_service_manager) {
  service_manager const m;
  EXPECT_FALSE(m.holds_sockets());
  m.ready();
  m.keep("x", -1);
  m.drop("x");
}

}  // namespace
}  // namespace muster::net
