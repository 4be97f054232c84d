#include "tests/support/proxy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace muster::test {

namespace {

sockaddr_in loopback(int port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  return a;
}

struct link {
  int near = -1, far = -1;
};

// Closes with a reset instead of FIN.
void close_hard(link const& l) {
  linger const at_once{1, 0};
  for (int const fd : {l.near, l.far}) {
    if (fd < 0) continue;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(fd);
  }
}

// Returns false if the connection has ended.
bool forward(int from, int to, bool is_cut) {
  char bytes[16384];
  auto const n = recv(from, bytes, sizeof bytes, 0);
  if (n <= 0) return false;
  if (is_cut) return true;  // discards the bytes
  for (ssize_t sent = 0; sent < n;) {
    auto const k = send(to, bytes + sent, static_cast<std::size_t>(n - sent), MSG_NOSIGNAL);
    if (k <= 0) return false;
    sent += k;
  }
  return true;
}

}  // namespace

struct proxy::state {
  void serve();
  void accept_one();
  void change(bool cut_now, bool reset_links) {
    std::lock_guard const lock(mutex);
    if (reset_links) {
      for (auto const& l : links) close_hard(l);
      links.clear();
    }
    is_cut = cut_now;
    wake();
  }
  void wake() const {
    std::uint64_t const one = 1;
    [[maybe_unused]] auto const n = write(wake_fd, &one, sizeof one);
  }

  int target_port = 0, port = 0;
  std::string first;
  int listener = -1, wake_fd = -1;
  std::mutex mutex;  // protects all members below
  std::vector<link> links;
  bool is_cut = false, stopping = false;
  std::thread thread;
};

void proxy::state::accept_one() {
  link l;
  l.near = accept(listener, nullptr, nullptr);
  if (l.near < 0) return;
  l.far = socket(AF_INET, SOCK_STREAM, 0);
  auto const to = loopback(target_port);
  if (connect(l.far, reinterpret_cast<sockaddr const*>(&to), sizeof to) != 0) return close_hard(l);
  auto const sent = send(l.far, first.data(), first.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(first.size())) return close_hard(l);
  links.push_back(l);
}

void proxy::state::serve() {
  for (;;) {
    std::vector<pollfd> fds{{wake_fd, POLLIN, 0}, {listener, POLLIN, 0}};
    std::vector<link> polled;
    {
      std::lock_guard const lock(mutex);
      if (stopping) return;
      polled = links;
    }
    for (auto const& l : polled) {
      fds.push_back({l.near, POLLIN, 0});
      fds.push_back({l.far, POLLIN, 0});
    }
    poll(fds.data(), fds.size(), -1);  // change() and the destructor wake it
    std::lock_guard const lock(mutex);
    if (fds[0].revents != 0) {
      std::uint64_t n = 0;
      [[maybe_unused]] auto const got = read(wake_fd, &n, sizeof n);
      continue;  // the links may have changed
    }
    if (fds[1].revents != 0) accept_one();
    for (std::size_t i = 0; i < polled.size(); ++i) {
      auto const& l = polled[i];
      bool alive = true;
      if (fds[2 * i + 2].revents != 0) alive = forward(l.near, l.far, is_cut);
      if (alive && fds[2 * i + 3].revents != 0) alive = forward(l.far, l.near, is_cut);
      if (alive) continue;
      close_hard(l);
      std::erase_if(links, [&](link const& other) { return other.near == l.near; });
    }
  }
}

proxy::proxy(std::string const& target, std::string first) : state_(std::make_unique<state>()) {
  auto& s = *state_;
  s.first = std::move(first);
  s.target_port = std::stoi(target.substr(target.find(':') + 1));
  s.wake_fd = eventfd(0, EFD_CLOEXEC);
  s.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto at = loopback(0);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (bind(s.listener, address, size) != 0 || listen(s.listener, 64) != 0 ||
      getsockname(s.listener, address, &size) != 0)
    throw std::runtime_error("a proxy cannot listen");
  s.port = ntohs(at.sin_port);
  s.thread = std::thread([&s] { s.serve(); });
}

proxy::~proxy() {
  auto& s = *state_;
  {
    std::lock_guard const lock(s.mutex);
    s.stopping = true;
    s.wake();
  }
  s.thread.join();
  for (auto const& l : s.links) close_hard(l);
  close(s.listener);
  close(s.wake_fd);
}

std::string proxy::address() const {
  return "127.0.0.1:" + std::to_string(state_->port);
}

void proxy::reset() {
  state_->change(false, true);
}
void proxy::cut() {
  state_->change(true, false);
}
void proxy::sever() {
  state_->change(true, true);
}
void proxy::mend() {
  state_->change(false, true);
}

}  // namespace muster::test
