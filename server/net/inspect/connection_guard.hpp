// Bounds what gRPC buffers for the connections of a server. gRPC 1.51 reads the sockets that it was
// given by itself and has no hook for that, so the process's own `recvmsg`, `SSL_read`
// and `close` (intercepted_reads.cpp) stand before the system's: they show the bytes of guarded
// connections to a frame_inspector, and report a broken connection to gRPC where a limit is
// exceeded. Over TLS the inspector sees the decrypted bytes. `sendmsg` and `SSL_write` show which
// streams the server ends. Not tried with a newer gRPC.
//
//   added --> anonymous --token, or certificate--> identified
//                 \--over a limit, or chosen to make room--> cut --> forgotten with its descriptor
//
// Owned by the accepting_server. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "server/net/inspect/frame_inspector.hpp"
#include "server/net/inspect/sent_frames.hpp"

namespace muster::net {

/// How far a client is trusted.
enum class standing {
  anonymous,   // at most `anonymous_bytes_max` are read before it shows a token
  admitted,    // served without a token, for example because of its address
  identified,  // showed a token or a certificate, or the server asks for none
};

struct guard_options {
  inspection_limits limits;
  /// Bytes that all connections together may hold. Connections that are not identified may hold
  /// half of it. Beyond, the connection that holds most is closed; identified ones come last.
  std::size_t memory_max = std::size_t{1} << 30;
  /// The standing of a client before it says anything; "10.0.0.3:4711". Any thread.
  std::function<standing(std::string const& client)> judge = [](auto const&) {
    return standing::identified;
  };
  /// Whether the value of an `authorization` field identifies a client. Any thread.
  frame_inspector::identify is_token = [](std::string_view) { return false; };
  /// Whether the common name of a verified client certificate does. Any thread.
  std::function<bool(std::string const& name)> is_certificate = [](auto const&) { return false; };
  /// A connection was closed, and why. Any thread.
  std::function<void(std::string const& peer, std::string const& why)> cut = [](auto const&,
                                                                                auto const&) {};
};

struct guard_counts {
  std::uint64_t held_bytes = 0;  // now, of all connections
  std::uint64_t memory_max = 0;
  // Connections that were closed since the start, by why.
  std::uint64_t header_block = 0, before_token = 0, memory = 0;
};

class guarded_connection;

class connection_guard {
 public:
  explicit connection_guard(guard_options options);
  /// REQUIRES: gRPC reads none of the connections any more.
  ~connection_guard();
  connection_guard(connection_guard const&) = delete;

  /// Guards a connection that gRPC is about to be given. The last one with this descriptor is
  /// forgotten.
  /// @param peer "10.0.0.3:4711"; empty if `socket` has no address.
  /// @param client the peer, or the client of a relay.
  /// @param admitted whether the client has been let in by whoever made the connection.
  /// @return false if the descriptor is too large for the table: the connection must be closed.
  [[nodiscard]] bool add(int socket, std::string const& peer, std::string const& client, bool tls,
                         bool admitted = false);

  /// A call of this peer, in gRPC's words, is over.
  void call_ended(std::string const& grpc_peer);

  [[nodiscard]] guard_counts counts() const;

  /// Returns to the system the memory of connections that were closed while they held much. To be
  /// called again and again, by one thread that may take its time.
  void return_memory();

  /// While it lives, TLS sessions that this thread makes belong to the connection of `socket`.
  class tls_scope {
   public:
    explicit tls_scope(int socket);
    ~tls_scope();
    tls_scope(tls_scope const&) = delete;
  };

 private:
  friend class guarded_connection;

  void charge(guarded_connection& c, standing was);
  void release(guarded_connection& c);
  void make_room();
  void note_cut(guarded_connection const& c, std::atomic<std::uint64_t>& reason,
                std::string const& why);
  void forget_peer(guarded_connection const& c);

  guard_options const options_;
  std::atomic<std::int64_t> held_ = 0;        // of all
  std::atomic<std::int64_t> open_ = 0;        // of those that are not identified
  std::atomic<std::uint64_t> abandoned_ = 0;  // bytes of closed connections, since return_memory
  std::chrono::steady_clock::time_point noticed_{};  // by return_memory
  std::atomic<std::uint64_t> header_block_ = 0, before_token_ = 0, memory_ = 0;

  std::mutex mutex_;  // protects the following; taken before that of a connection
  // As many as the process has descriptors.
  std::unordered_map<int, std::unique_ptr<guarded_connection>> connections_;
  std::unordered_map<std::string, int> anonymous_;  // by gRPC's name of the peer
  std::atomic<std::size_t> anonymous_count_ = 0;
};

/// The entry of one descriptor. Reader and writer are whichever threads gRPC reads and writes with,
/// one of each at a time.
class guarded_connection {
 public:
  guarded_connection(connection_guard& guard, int socket, std::string peer, bool tls, standing s);

  /// Bytes that gRPC is about to be given. False: the connection is to be reported as broken.
  bool received(std::string_view bytes);
  /// Bytes that the system has taken from gRPC.
  void sent(std::string_view bytes);
  /// The stream of bytes has ended, broke, or is closed.
  void ended();
  /// A verified client certificate has this common name.
  void shown(std::string const& certificate);
  [[nodiscard]] bool is_tls() const { return tls_; }
  [[nodiscard]] bool is_cut() const { return cut_; }
  /// Whether its client's certificate was looked at; true from then on.
  bool certificate_looked_at() { return std::exchange(looked_at_, true); }

 private:
  friend class connection_guard;

  connection_guard& guard_;
  int const socket_;
  std::string const peer_;
  bool const tls_;
  std::uint64_t const inode_;  // of the socket, as the descriptor is used again
  bool looked_at_ = false;     // the reader's
  sent_frames sent_;           // the writer's
  std::atomic<bool> cut_ = false;
  std::atomic<std::size_t> held_ = 0;
  std::atomic<std::int64_t> open_held_ = 0;  // of that, what counts as not identified
  std::atomic<standing> standing_;
  std::mutex mutex_;  // protects the following
  frame_inspector inspector_;
};

/// @return the guarded connection with this descriptor, or null. Any thread.
guarded_connection* guarded(int socket) noexcept;
/// The descriptor is about to be closed, and may be anything else's afterwards. Takes no lock. Any
/// thread.
void closing(int socket) noexcept;
/// @return the guarded connection of a TLS session (`SSL*`), or null.
guarded_connection* guarded_session(void const* ssl) noexcept;

}  // namespace muster::net
