#include "client/blobs/peer_giving.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <boost/endian/conversion.hpp>
#include <optional>

#include "client/blobs/memory.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t ticket_bytes = 32;
// Pause after a connection could not be accepted because no descriptor was available.
constexpr std::chrono::milliseconds peer_pause{100};
// Minimum receiver speed in bytes per second, after the first ten seconds.
constexpr double rate_min = 1 << 20;

std::chrono::milliseconds taken_within(std::uint64_t size) {
  return std::chrono::milliseconds(10'000 +
                                   static_cast<int>(1'000 * static_cast<double>(size) / rate_min));
}

using addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

addresses resolved(peer_address const& at, int type, int flags) {
  addrinfo hints{};
  hints.ai_socktype = type;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  auto const port = std::to_string(at.port);
  if (int const failed = getaddrinfo(at.host.c_str(), port.c_str(), &hints, &found); failed != 0)
    throw peer_error(at.host + ": " + gai_strerror(failed));
  return {found, &freeaddrinfo};
}

peer_address here(int socket) {
  sockaddr_storage at{};
  socklen_t length = sizeof at;
  auto* const any = reinterpret_cast<sockaddr*>(&at);
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  if (getsockname(socket, any, &length) != 0 ||
      getnameinfo(any, length, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    throw std::system_error(errno, std::generic_category(), "getsockname");
  return {host, static_cast<std::uint16_t>(std::stoi(port))};
}

file_descriptor listening_at(peer_address const& at) {
  auto const found = resolved(at, SOCK_STREAM, AI_PASSIVE);
  auto made = opened(socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  int const on = 1;
  setsockopt(made.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(made.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(made.get(), SOMAXCONN) != 0)
    throw std::system_error(errno, std::generic_category(), at.text());
  return made;
}

}  // namespace

peer_address listen_address(std::string const& listen, std::string const& server) {
  if (!listen.empty()) return peer_address::parse(listen);
  auto to = peer_address::parse(server);
  if (to.port == 0) to.port = 1;
  auto const found = resolved(to, SOCK_DGRAM, 0);
  auto const probe = opened(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
  if (connect(probe.get(), found->ai_addr, found->ai_addrlen) != 0)  // sends nothing
    throw std::system_error(errno, std::generic_category(), server);
  return {here(probe.get()).host, 0};
}

peer_value_server::peer_value_server(opener held, peer_address const& at,
                                     std::string const& advertise, peer_giving_limits limits)
    : held_(std::move(held)),
      limits_(limits),
      listening_(listening_at(at)),
      mark_(listening_.get()) {
  auto const mine = here(listening_.get());
  auto told = advertise.empty() ? mine : peer_address::parse(advertise);
  if (told.port == 0) told.port = mine.port;
  address_ = told.text();
  thread_ = std::thread([this] { accept(); });
}

peer_value_server::~peer_value_server() {
  {
    std::lock_guard const held(mutex_);
    closed_ = true;
    for (auto const& s : serving_)
      if (s.socket >= 0) shutdown(s.socket, SHUT_RDWR);
    changed_.notify_all();
  }
  shutdown(listening_.get(), SHUT_RDWR);
  thread_.join();
  for (auto& s : serving_) s.thread.join();
}

void peer_value_server::use_certificate(std::string const& certificate, std::string const& key) {
  auto made = certificate.empty() ? nullptr : giving_tls(certificate, key);
  std::lock_guard const held(mutex_);
  tls_ = std::move(made);
}

void peer_value_server::expect(std::string const& bytes, std::string const& name) {
  std::lock_guard const held(mutex_);
  auto const now = clock::now();
  if (by_bytes_.contains(bytes)) return;
  tickets_.push_back({bytes, name, now + limits_.ticket_age});
  by_bytes_.emplace(bytes, std::prev(tickets_.end()));
  forget_old(now);
  changed_.notify_all();
}

void peer_value_server::forget_old(clock::time_point now) {
  while (!tickets_.empty() &&
         (tickets_.size() > limits_.tickets_max || tickets_.front().until < now)) {
    by_bytes_.erase(tickets_.front().bytes);
    tickets_.pop_front();
  }
}

bool peer_value_server::is_expected(std::string const& bytes, std::string const& name) {
  std::unique_lock held(mutex_);
  changed_.wait_for(held, limits_.ticket_comes_within,
                    [&] { return closed_ || by_bytes_.contains(bytes); });
  forget_old(clock::now());
  auto const node = by_bytes_.extract(bytes);
  if (closed_ || !node) return false;
  bool const good = node.mapped()->name == name;
  tickets_.erase(node.mapped());
  return good;
}

void peer_value_server::accept() {
  for (;;) {
    file_descriptor socket(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    bool const none_left = !socket && errno != EINTR && errno != ECONNABORTED;
    std::unique_lock held(mutex_);
    if (none_left) changed_.wait_for(held, peer_pause, [this] { return closed_; });
    if (closed_) return;
    join_those_over();
    if (socket && serving_.size() < limits_.served_at_once) begin(std::move(socket));
  }
}

void peer_value_server::join_those_over() {
  for (auto it = serving_.begin(); it != serving_.end();) {
    if (it->over) it->thread.join();
    it = it->over ? serving_.erase(it) : std::next(it);
  }
}

void peer_value_server::begin(file_descriptor socket) {
  auto& s = serving_.emplace_back();
  s.socket = socket.get();
  try {
    s.thread =
        std::thread([this, &s, mine = std::move(socket)]() mutable { serve(s, std::move(mine)); });
  } catch (std::system_error const&) {  // the other process then fetches the value from the server
    serving_.pop_back();
  }
}

void peer_value_server::serve(served& s, file_descriptor socket) {
  {
    no_broken_pipes const here;
    std::optional<peer_socket> to;
    to.emplace(std::move(socket), limits_.stall);
    try {
      std::unique_lock held(mutex_);
      auto const tls = tls_;
      held.unlock();
      give(*to, tls);
    } catch (std::exception const&) {  // the other process then fetches the value from the server
    }
    std::lock_guard const held(mutex_);
    s.socket = -1;
    to.reset();
  }
  std::lock_guard const held(mutex_);
  s.over = true;
}

void peer_value_server::give(peer_socket& to, tls_context const& tls) {
  auto const by = clock::now() + limits_.hello_within;
  if (tls) to.speak_tls(tls, true, by);
  std::string said(ticket_bytes + name_bytes, '\0');
  to.receive_all(said.data(), said.size(), by);
  auto const name = said.substr(ticket_bytes);
  if (!is_expected(said.substr(0, ticket_bytes), name)) return;
  auto const fd = held_(name);
  if (!fd) return;
  auto const size = content_size(fd.get());
  auto const head = boost::endian::native_to_little(size);
  auto const never = clock::time_point::max();
  to.send({reinterpret_cast<char const*>(&head), sizeof head}, never);
  if (to.is_tls()) return to.send(mapping(fd.get()).bytes(), never);
  to.send_file(fd.get(), size);
  to.wait_for_end(clock::now() + taken_within(size));
}

}  // namespace muster::detail
