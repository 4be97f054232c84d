#include "server/net/inspect/connection_guard.hpp"

#include <malloc.h>
#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "server/net/abuse/reset_connection.hpp"

namespace muster::net {
namespace {

// Default of fs.nr_open on Linux. Unused pages of the table use no memory.
constexpr std::size_t sockets_max = std::size_t{1} << 20;
constinit std::array<std::atomic<guarded_connection*>, sockets_max> table{};

std::uint64_t inode_of(int socket) {
  struct stat s {};
  return ::fstat(socket, &s) == 0 ? s.st_ino : 0;
}

thread_local guarded_connection* session_owner = nullptr;

void own_session(void*, void*, CRYPTO_EX_DATA* data, int index, long, void*) {
  if (session_owner != nullptr) CRYPTO_set_ex_data(data, index, session_owner);
}

int session_index() {
  static int const index = SSL_get_ex_new_index(0, nullptr, own_session, nullptr, nullptr);
  return index;
}

}  // namespace

guarded_connection* guarded(int socket) noexcept {
  auto const at = static_cast<std::size_t>(socket);
  return at < sockets_max ? table[at].load(std::memory_order_acquire) : nullptr;
}

void closing(int socket) noexcept {
  auto const at = static_cast<std::size_t>(socket);
  if (at >= sockets_max || table[at].load(std::memory_order_relaxed) == nullptr) return;
  if (auto* const c = table[at].exchange(nullptr)) c->ended();
}

guarded_connection* guarded_session(void const* ssl) noexcept {
  return static_cast<guarded_connection*>(
      SSL_get_ex_data(static_cast<SSL const*>(ssl), session_index()));
}

connection_guard::tls_scope::tls_scope(int socket) {
  session_index();  // must run before the first session is created
  session_owner = guarded(socket);
}

connection_guard::tls_scope::~tls_scope() {
  session_owner = nullptr;
}

connection_guard::connection_guard(guard_options options) : options_(std::move(options)) {}

connection_guard::~connection_guard() {
  for (auto const& [socket, c] : connections_) {
    auto* own = c.get();  // another guard may already use the descriptor
    table[static_cast<std::size_t>(socket)].compare_exchange_strong(own, nullptr);
  }
}

bool connection_guard::add(int socket, std::string const& peer, std::string const& client, bool tls,
                           bool admitted) {
  if (socket < 0 || static_cast<std::size_t>(socket) >= sockets_max) return false;
  auto s = options_.judge(client);
  if (admitted && s == standing::anonymous) s = standing::admitted;
  auto c = std::make_unique<guarded_connection>(*this, socket, peer, tls, s);
  std::scoped_lock const lock(mutex_);
  auto& place = connections_[socket];
  if (place) {
    release(*place);
    forget_peer(*place);
  }
  table[static_cast<std::size_t>(socket)].store(c.get(), std::memory_order_release);
  place = std::move(c);
  if (s == standing::anonymous) {
    if (!peer.empty()) anonymous_[grpc_name(peer)] = socket;
    anonymous_["fd:" + std::to_string(socket)] = socket;
    anonymous_count_ = anonymous_.size();
  }
  return true;
}

void connection_guard::forget_peer(guarded_connection const& c) {
  auto const forget = [&](std::string const& name) {
    auto const it = anonymous_.find(name);
    if (it != anonymous_.end() && it->second == c.socket_) anonymous_.erase(it);
  };
  forget(grpc_name(c.peer_));
  forget("fd:" + std::to_string(c.socket_));
  anonymous_count_ = anonymous_.size();
}

void connection_guard::call_ended(std::string const& grpc_peer) {
  if (anonymous_count_ == 0) return;
  std::scoped_lock const lock(mutex_);
  auto const it = anonymous_.find(grpc_peer);
  if (it == anonymous_.end()) return;
  auto& c = *connections_.at(it->second);
  if (c.standing_ != standing::anonymous) return forget_peer(c);
  std::scoped_lock const own(c.mutex_);
  if (c.cut_) return;
  c.inspector_.call_ended();
  charge(c, standing::anonymous);
}

// REQUIRES: the connection's mutex is held.
void connection_guard::charge(guarded_connection& c, standing was) {
  auto const now = c.inspector_.held();
  if (now == c.held_ && c.standing_ == was) return;  // most reads end with a complete message
  auto const before = c.held_.exchange(now);
  held_ += static_cast<std::int64_t>(now) - static_cast<std::int64_t>(before);
  auto const open =
      c.standing_ == standing::identified ? std::int64_t{0} : static_cast<std::int64_t>(now);
  open_ += open - c.open_held_.exchange(open);
  if (c.cut_) release(c);  // another thread can release the connection before the bytes are added
}

// Subtracts the bytes of a connection that gRPC no longer reads. Takes no lock, because a forked
// process also closes descriptors.
void connection_guard::release(guarded_connection& c) {
  c.cut_ = true;
  auto const held = static_cast<std::int64_t>(c.held_.exchange(0));
  abandoned_ += static_cast<std::uint64_t>(held);
  held_ -= held;
  open_ -= c.open_held_.exchange(0);
}

void connection_guard::return_memory() {
  constexpr std::uint64_t worth_it = 8 << 20;
  constexpr std::chrono::seconds until_freed{2};  // gRPC frees the memory after a short delay
  auto const now = std::chrono::steady_clock::now();
  if (abandoned_ < worth_it) noticed_ = now;
  if (now - noticed_ < until_freed) return;
  abandoned_ = 0;
  ::malloc_trim(0);
}

void connection_guard::make_room() {
  std::scoped_lock const lock(mutex_);
  auto const max = static_cast<std::int64_t>(options_.memory_max);
  while (held_ > max || open_ > max / 2) {
    guarded_connection* most = nullptr;
    // Identified connections are closed only if all other connections together use little memory.
    bool const spare = open_ > max / 2 || open_ > max / 8;
    for (auto const& [socket, c] : connections_) {
      if (c->cut_ || c->held_ == 0) continue;
      if (spare && c->standing_ == standing::identified) continue;
      if (most == nullptr || c->held_ > most->held_) most = c.get();
    }
    if (most == nullptr) return;
    auto const held = most->held_.load();
    release(*most);
    if (inode_of(most->socket_) == most->inode_) reset_socket(most->socket_);
    note_cut(*most, memory_,
             "its unfinished messages used " + std::to_string(held) +
                 " bytes, more than those of any other connection, and all connections together "
                 "exceeded --connection-memory-max");
  }
}

void connection_guard::note_cut(guarded_connection const& c, std::atomic<std::uint64_t>& reason,
                                std::string const& why) {
  ++reason;
  options_.cut(c.peer_, why);
}

guard_counts connection_guard::counts() const {
  guard_counts c;
  c.held_bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, held_));
  c.memory_max = options_.memory_max;
  c.header_block = header_block_;
  c.before_token = before_token_;
  c.memory = memory_;
  return c;
}

guarded_connection::guarded_connection(connection_guard& guard, int socket, std::string peer,
                                       bool tls, standing s)
    : guard_(guard),
      socket_(socket),
      peer_(std::move(peer)),
      tls_(tls),
      inode_(inode_of(socket)),
      standing_(s),
      inspector_(guard.options_.limits, s == standing::anonymous) {
  if (s == standing::identified) inspector_.set_identified();
}

bool guarded_connection::received(std::string_view bytes) {
  using finding = frame_inspector::finding;
  auto found = finding::none;
  std::size_t held = 0;
  {
    std::scoped_lock const lock(mutex_);
    if (cut_) return false;
    auto const was = standing_.load();
    found = inspector_.read(bytes, guard_.options_.is_token);
    if (inspector_.is_identified()) standing_ = standing::identified;
    guard_.charge(*this, was);
    held = inspector_.held();
  }
  auto const& limits = guard_.options_.limits;
  if (found == finding::header_block_too_long) {
    guard_.release(*this);
    guard_.note_cut(*this, guard_.header_block_,
                    "a header block was longer than " +
                        std::to_string(limits.header_block_bytes_max) + " bytes");
  } else if (found == finding::too_much_before_token) {
    guard_.release(*this);
    guard_.note_cut(*this, guard_.before_token_,
                    "it sent more than " + std::to_string(limits.anonymous_bytes_max) +
                        " bytes without presenting a valid token");
  } else if (held > 0) {
    auto const max = static_cast<std::int64_t>(guard_.options_.memory_max);
    if (guard_.held_ > max || guard_.open_ > max / 2) guard_.make_room();
  }
  return !cut_;
}

void guarded_connection::sent(std::string_view bytes) {
  sent_.read(bytes, [this](std::uint32_t stream) {
    std::scoped_lock const lock(mutex_);
    if (cut_) return;
    inspector_.stream_ended(stream);
    guard_.charge(*this, standing_);
  });
}

void guarded_connection::ended() {
  if (!cut_) guard_.release(*this);
}

void guarded_connection::shown(std::string const& certificate) {
  if (standing_ == standing::identified || !guard_.options_.is_certificate(certificate)) return;
  std::scoped_lock const lock(mutex_);
  if (cut_) return;
  auto const was = standing_.load();
  inspector_.set_identified();
  standing_ = standing::identified;
  guard_.charge(*this, was);
}

}  // namespace muster::net
