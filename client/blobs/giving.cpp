// Packets are answered as they arrive. Processes that do not read their answers are disconnected.
#include "client/blobs/giving.hpp"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <boost/asio/post.hpp>

#include "client/blobs/memory.hpp"

namespace muster::detail {
namespace {

using boost::asio::posix::stream_descriptor;

// Pause after a connection could not be accepted because no descriptor was available.
constexpr std::chrono::milliseconds accepting_pause{100};

std::size_t names_that_fit() {
  rlimit of{};
  if (getrlimit(RLIMIT_NOFILE, &of) != 0 || of.rlim_cur == RLIM_INFINITY)
    return memory_server::names_max;
  return std::min<std::size_t>(memory_server::names_max, of.rlim_cur / 4);
}

}  // namespace

memory_server::memory_server(boost::asio::io_context& loop, std::size_t bytes_max)
    : loop_(loop),
      bytes_max_(bytes_max),
      names_here_max_(names_that_fit()),
      socket_name_("muster-" + absl::BytesToHexString(random_name().substr(0, 16))),
      listening_(loop, listen_at(socket_name_, connections_max).release()),
      mark_(listening_.native_handle()),
      pause_(loop) {
  boost::asio::post(loop_, [this] { accept(); });
}

bool memory_server::reserve(std::size_t size) {
  std::lock_guard held(mutex_);
  if (size > bytes_max_ - bytes_ || held_.size() + reserved_ >= names_here_max_) return false;
  bytes_ += size;
  ++reserved_;
  return true;
}

bool memory_server::has_room(std::size_t size, std::size_t without) {
  std::lock_guard held(mutex_);
  return size <= bytes_max_ && bytes_ - without <= bytes_max_ - size;
}

void memory_server::unreserve(std::size_t size) {
  std::lock_guard held(mutex_);
  bytes_ -= size;
  --reserved_;
}

void memory_server::add(std::string const& name, file_descriptor fd, std::size_t size) {
  std::lock_guard held(mutex_);
  --reserved_;
  closed_in_forks mark(fd.get());
  held_.insert_or_assign(name, content{std::move(fd), std::move(mark), size});
}

bool memory_server::drop(std::string const& name) {
  {
    std::lock_guard held(mutex_);
    auto const node = held_.extract(name);
    if (!node) return false;
    bytes_ -= node.mapped().size;
  }
  boost::asio::post(loop_, [this, name] { report_dropped(name); });
  return true;
}

memory_server::occupancy memory_server::used() {
  std::lock_guard held(mutex_);
  return {bytes_, bytes_max_, held_.size(), names_here_max_};
}

std::vector<std::pair<std::string, std::size_t>> memory_server::held() {
  std::lock_guard held(mutex_);
  std::vector<std::pair<std::string, std::size_t>> all;
  for (auto const& [name, what] : held_) all.emplace_back(name, what.size);
  return all;
}

file_descriptor memory_server::opened(std::string const& name) {
  std::lock_guard held(mutex_);
  auto const it = held_.find(name);
  if (it == held_.end()) return {};
  return file_descriptor(fcntl(it->second.fd.get(), F_DUPFD_CLOEXEC, 0));
}

void memory_server::close() {
  boost::system::error_code ignored;
  pause_.cancel();
  mark_.reset();
  listening_.close(ignored);
  for (auto const& p : peers_) {
    p->mark.reset();
    p->socket.close(ignored);
  }
  peers_.clear();
}

void memory_server::accept() {
  listening_.async_wait(stream_descriptor::wait_read, [this](boost::system::error_code failed) {
    if (!failed) take_connection();
  });
}

void memory_server::take_connection() {
  file_descriptor socket(
      accept4(listening_.native_handle(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && errno != EAGAIN && errno != ECONNABORTED) {
    pause_.expires_after(accepting_pause);
    return pause_.async_wait([this](boost::system::error_code failed) {
      if (!failed) accept();
    });
  }
  if (socket && peers_.size() < static_cast<std::size_t>(connections_max) &&
      is_of_same_user(socket.get())) {
    auto const made = std::make_shared<peer>(loop_, std::move(socket));
    peers_.insert(made);
    listen_to(made);
  }
  accept();
}

void memory_server::listen_to(std::shared_ptr<peer> const& p) {
  p->socket.async_wait(stream_descriptor::wait_read, [this, p](boost::system::error_code failed) {
    if (failed || !peers_.contains(p)) return;
    if (answer(*p))
      listen_to(p);
    else
      peers_.erase(p);
  });
}

// Returns false if the connection must be closed.
bool memory_server::answer(peer& p) {
  unix_packet asked;
  auto const read = read_packet(p.socket.native_handle(), asked);
  if (read == packet_read::nothing_yet) return true;
  if (read == packet_read::hung_up || (asked.said != 'G' && asked.said != 'O')) return false;
  std::lock_guard held(mutex_);  // prevents other threads from closing the descriptor
  auto const it = held_.find(asked.name);
  if (it == held_.end()) return send_packet(p.socket.native_handle(), 'N', asked.name);
  if (asked.said == 'G') p.names.insert(asked.name);
  return send_packet(p.socket.native_handle(), 'A', asked.name, it->second.fd.get());
}

void memory_server::report_dropped(std::string const& name) {
  std::erase_if(peers_, [&name](std::shared_ptr<peer> const& p) {
    return p->names.erase(name) > 0 && !send_packet(p->socket.native_handle(), 'D', name);
  });
}

}  // namespace muster::detail
