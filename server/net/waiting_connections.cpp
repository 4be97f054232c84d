#include "server/net/waiting_connections.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "server/net/incoming.hpp"
#include "server/net/proxied/proxy_header.hpp"

namespace muster::net {

namespace {

using boost::system::error_code;
using clock = std::chrono::steady_clock;

// Makes the socket readable only when it ends or this many bytes have arrived, so that single bytes
// do not wake the thread.
void set_readable_at(int socket, std::size_t bytes) {
  int const mark = static_cast<int>(bytes);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark);
}

}  // namespace

struct waiting_connections::waiting {
  tcp::socket socket;
  tcp::endpoint peer;
  tcp::endpoint client;  // the client behind a relay, otherwise the peer
  std::shared_ptr<port_rules const> through;
  clock::time_point until;
  std::size_t bytes_needed = 1;
  half_open_table<waiting>::place place = {};
  bool header_is_known = false;  // whether the header was read or is known to be missing
};

waiting_connections::waiting_connections(boost::asio::io_context& context, waiting_options options,
                                         proxy_rules rules)
    : options_(options),
      rules_(std::move(rules)),
      table_(options.per_address_max),
      sweep_timer_(context),
      silent_(options.silent) {}

void waiting_connections::add(tcp::socket socket, tcp::endpoint const& peer,
                              std::shared_ptr<port_rules const> through) {
  peek_buffer_.resize(
      std::max({peek_buffer_.size(), through->of_words.bytes_max, proxy_header_bytes_max}));
  waiting first{std::move(socket), peer, peer, std::move(through), {}};
  auto const found = look(first);
  if (found == verdict::speaks) return hand_on(first);
  if (found == verdict::gone) return note_silent_client(first.client);
  auto w = std::make_shared<waiting>(std::move(first));
  place(*w);
  wait(std::move(w));
}

// Adds a connection to the table. Called again, with a new deadline, once the relay has sent its
// header, so the table remains ordered by deadline.
void waiting_connections::place(waiting& w) {
  table_.remove(w.place);
  auto const network = network_of(w.client.address());
  if (auto* const surplus = table_.surplus(network))
    drop(*surplus, address_limit_);
  else if (table_.size() >= options_.all_max)
    make_room();
  w.until = clock::now() + options_.first_data_timeout;
  w.place = table_.add(w, network);
  now_ = table_.size();
  if (!sweeping_) sweep();
}

// Returns an empty string if no data has arrived. Closes the socket if the connection has ended.
std::string_view waiting_connections::peek(waiting& w, std::size_t bytes_max) {
  auto const fd = w.socket.native_handle();
  auto const n = ::recv(fd, peek_buffer_.data(), bytes_max, MSG_PEEK | MSG_DONTWAIT);
  if (n > 0) return std::string_view(peek_buffer_).substr(0, static_cast<std::size_t>(n));
  error_code ignored;
  if (n == 0 || (errno != EAGAIN && errno != EINTR)) w.socket.close(ignored);
  return {};
}

waiting_connections::verdict waiting_connections::await_bytes(waiting& w, std::size_t wanted) {
  w.bytes_needed = wanted;
  set_readable_at(w.socket.native_handle(), wanted);
  return verdict::waits;
}

waiting_connections::verdict waiting_connections::look(waiting& w) {
  if (!w.header_is_known) {
    auto const found = look_for_header(w);
    if (found != verdict::speaks) return found;
  }
  auto const& of_words = w.through->of_words;
  auto const said = peek(w, of_words.bytes_max);
  if (said.empty()) return w.socket.is_open() ? verdict::waits : verdict::gone;
  // Fewer bytes than the threshold mean that the client has closed its side.
  if (said.size() < w.bytes_needed) return verdict::gone;
  auto const wanted = of_words.bytes_needed(said);
  if (wanted == 0) return verdict::speaks;
  if (wanted == refused) return verdict::gone;
  return await_bytes(w, wanted);
}

// Only trusted relays can send a header. Relays can omit the header, because they also connect for
// health checks, whose data cannot be confused with a header.
waiting_connections::verdict waiting_connections::look_for_header(waiting& w) {
  auto const said = peek(w, proxy_header_bytes_max);
  if (said.empty()) return w.socket.is_open() ? verdict::waits : verdict::gone;
  if (said.size() < w.bytes_needed) return verdict::gone;
  auto const header = read_proxy_header(said);
  using state = proxy_header::state;
  bool const believed = rules_.believed && rules_.believed(w.peer.address());
  if (!believed && header.is != state::none) {
    if (said.size() < proxy_signature_bytes) return verdict::speaks;  // too short to decide
    return refuse_header(w, "the sender is in none of the networks of --proxy-from");
  }
  if (header.is == state::wrong) return refuse_header(w, header.problem);
  if (header.is == state::partial) return await_bytes(w, header.bytes);
  w.header_is_known = true;
  if (header.is == state::none) return verdict::speaks;
  if (w.bytes_needed != 1) set_readable_at(w.socket.native_handle(), w.bytes_needed = 1);
  ::recv(w.socket.native_handle(), peek_buffer_.data(), header.bytes, MSG_DONTWAIT);
  w.client = behind(w.peer, header);
  if (w.place.number != 0) place(w);
  return verdict::speaks;
}

waiting_connections::verdict waiting_connections::refuse_header(waiting const& w,
                                                                std::string const& problem) {
  constexpr auto pause = std::chrono::seconds(10);
  auto const now = clock::now();
  if (last_logged_ != clock::time_point() && now - last_logged_ < pause) {
    ++unlogged_;
    return verdict::gone;
  }
  auto const others =
      unlogged_ ? "; " + std::to_string(unlogged_) + " earlier headers were refused as well"
                : std::string();
  last_logged_ = now, unlogged_ = 0;
  rules_.complain("a PROXY header from " + text_of(w.peer) + " was refused: " + problem + others);
  return verdict::gone;
}

// The pending wait keeps `w` alive.
void waiting_connections::wait(std::shared_ptr<waiting> w) {
  auto& socket = w->socket;
  auto readable = [this, w = std::move(w)](error_code ec) mutable {
    if (ec || !w->socket.is_open()) return;
    auto const found = look(*w);
    if (found == verdict::waits) return wait(std::move(w));
    if (found == verdict::gone) {
      note_silent_client(w->client);
      return leave(*w);
    }
    hand_on(*w);
  };
  socket.async_wait(tcp::socket::wait_read, std::move(readable));
}

void waiting_connections::hand_on(waiting& w) {
  if (w.bytes_needed != 1) set_readable_at(w.socket.native_handle(), 1);
  auto socket = std::move(w.socket);
  leave(w);
  w.through->spoken(std::move(socket), w.peer, w.client);
}

void waiting_connections::leave(waiting& w) {
  table_.remove(w.place);
  now_ = table_.size();
  error_code ignored;
  w.socket.close(ignored);
}

void waiting_connections::note_silent_client(tcp::endpoint const& peer) {
  auto const network = network_of(peer.address());
  if (!silent_.note(std::to_string(network), leaky_counts::clock::now())) return;
  auto const text = text_of(peer);
  options_.silent_flood(text.substr(0, text.rfind(':')));
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

// All timeouts are equal, so the oldest connection expires first.
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

}  // namespace muster::net
