// Uses epoll on copies of the sockets, so the owner can read or close the original descriptors.
#include "server/net/connection_ends.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <system_error>
#include <utility>

#include "server/net/incoming.hpp"

namespace muster::net {
namespace {

constexpr std::uint64_t stop_number = 0;

file_descriptor opened(int fd, char const* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return file_descriptor(fd);
}

bool add(int poll, int fd, std::uint32_t events, std::uint64_t number) {
  epoll_event e{};
  e.events = events;
  e.data.u64 = number;
  return ::epoll_ctl(poll, EPOLL_CTL_ADD, fd, &e) == 0;
}

}  // namespace

connection_ends::connection_ends(handler ended)
    : ended_(std::move(ended)),
      poll_(opened(::epoll_create1(EPOLL_CLOEXEC), "epoll")),
      wake_(opened(::eventfd(0, EFD_CLOEXEC), "eventfd")) {
  add(poll_.get(), wake_.get(), EPOLLIN, stop_number);
  thread_ = std::thread([this] { run(); });
}

connection_ends::~connection_ends() {
  ::eventfd_write(wake_.get(), 1);
  thread_.join();
}

std::uint64_t connection_ends::watch(int socket, std::string const& peer) {
  file_descriptor copy(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0 || text_of(endpoint_of(copy.get())) != peer) return 0;
  std::lock_guard const lock(mutex_);
  auto const number = ++last_;
  if (!add(poll_.get(), copy.get(), EPOLLRDHUP | EPOLLONESHOT, number)) return 0;
  watched_.emplace(number, std::move(copy));
  return number;
}

void connection_ends::forget(std::uint64_t watch) {
  std::lock_guard const lock(mutex_);
  auto const it = watched_.find(watch);
  if (it == watched_.end()) return;
  // Closing the copy does not remove it from the epoll set, because the owner's descriptor refers
  // to the same file.
  ::epoll_ctl(poll_.get(), EPOLL_CTL_DEL, it->second.get(), nullptr);
  watched_.erase(it);
}

void connection_ends::run() {
  for (;;) {
    epoll_event events[64];
    int const n = ::epoll_wait(poll_.get(), events, 64, -1);
    for (int i = 0; i < n; ++i) {
      auto const number = events[i].data.u64;
      if (number == stop_number) return;
      bool known = false;
      {
        std::lock_guard const lock(mutex_);
        known = watched_.contains(number);
      }
      if (!known) continue;
      forget(number);
      ended_(number);
    }
  }
}

}  // namespace muster::net
