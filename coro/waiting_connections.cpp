// A peek at each socket whenever more has come, and one timer for all.
#include "coro/waiting_connections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "coro/incoming.hpp"

namespace muster::coro {

namespace {

using boost::system::error_code;
using clock = std::chrono::steady_clock;

// The socket is readable only once so many bytes are there, or at its end: a client that trickles
// wakes nobody.
void set_readable_at(int socket, std::size_t bytes) {
  int const mark = static_cast<int>(bytes);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark);
}

}  // namespace

struct waiting_connections::waiting {
  tcp::socket socket;
  tcp::endpoint peer;
  std::shared_ptr<door const> through;
  clock::time_point until;
  std::size_t bytes_wanted = 1;
  half_open_table<waiting>::place place = {};
};

waiting_connections::waiting_connections(boost::asio::io_context& context, waiting_options options)
    : context_(context),
      options_(options),
      table_(options.per_address_max),
      sweep_timer_(context) {}

void waiting_connections::add(tcp::socket socket, tcp::endpoint const& peer,
                              std::shared_ptr<door const> through) {
  words_.resize(std::max(words_.size(), through->of_words.bytes_max));
  waiting first{std::move(socket), peer, std::move(through), clock::now() + options_.speak_timeout};
  auto const found = look(first);
  if (found == verdict::speaks) return hand_on(first);
  if (found == verdict::gone) return;
  auto const network = network_of(peer.address());
  if (auto* const surplus = table_.surplus(network))
    drop(*surplus, address_limit_);
  else if (table_.size() >= options_.all_max)
    make_room();
  auto w = std::make_shared<waiting>(std::move(first));
  w->place = table_.add(*w, network);
  now_ = table_.size();
  if (!sweeping_) sweep();
  wait(std::move(w));
}

waiting_connections::verdict waiting_connections::look(waiting& w) {
  auto const fd = w.socket.native_handle();
  auto const& of_words = w.through->of_words;
  auto const n = ::recv(fd, words_.data(), of_words.bytes_max, MSG_PEEK | MSG_DONTWAIT);
  if (n == 0) return verdict::gone;
  if (n < 0) return errno == EAGAIN || errno == EINTR ? verdict::waits : verdict::gone;
  auto const said = std::string_view(words_).substr(0, static_cast<std::size_t>(n));
  // Readable with fewer bytes than were to wake us: the client has closed its side.
  if (said.size() < w.bytes_wanted) return verdict::gone;
  auto const wanted = of_words.bytes_wanted(said);
  if (wanted == 0) return verdict::speaks;
  if (wanted == refused) return verdict::gone;
  w.bytes_wanted = wanted;
  set_readable_at(fd, wanted);
  return verdict::waits;
}

// Its own wait keeps it alive.
void waiting_connections::wait(std::shared_ptr<waiting> w) {
  auto& socket = w->socket;
  auto readable = [this, w = std::move(w)](error_code ec) mutable {
    if (ec || !w->socket.is_open()) return;
    auto const found = look(*w);
    if (found == verdict::waits) return wait(std::move(w));
    if (found == verdict::gone) return leave(*w);
    hand_on(*w);
  };
  socket.async_wait(tcp::socket::wait_read, std::move(readable));
}

void waiting_connections::hand_on(waiting& w) {
  if (w.bytes_wanted != 1) set_readable_at(w.socket.native_handle(), 1);
  auto socket = std::move(w.socket);
  leave(w);
  w.through->spoken(std::move(socket), w.peer);
}

void waiting_connections::leave(waiting& w) {
  table_.remove(w.place);
  now_ = table_.size();
  error_code ignored;
  w.socket.close(ignored);
}

void waiting_connections::drop(waiting& w, counter& reason) {
  ++reason;
  leave(w);
}

bool waiting_connections::make_room() {
  auto* const oldest = table_.oldest();
  if (oldest != nullptr) drop(*oldest, made_room_);
  return oldest != nullptr;
}

void waiting_connections::clear() {
  while (auto* const oldest = table_.oldest()) leave(*oldest);
  sweep_timer_.cancel();
}

// All wait for the same time, so the oldest one's end is the next.
void waiting_connections::sweep() {
  auto const now = clock::now();
  auto* oldest = table_.oldest();
  for (; oldest != nullptr && oldest->until <= now; oldest = table_.oldest())
    drop(*oldest, expired_);
  sweeping_ = oldest != nullptr;
  if (!sweeping_) return;
  sweep_timer_.expires_at(oldest->until);
  sweep_timer_.async_wait([this](error_code) { sweep(); });
}

connection_counts waiting_connections::counts() const {
  connection_counts c;
  c.half_open = now_;
  c.header_timeout = expired_;
  c.address_limit = address_limit_;
  c.made_room = made_room_;
  return c;
}

}  // namespace muster::coro
