// Bounds the memory that gRPC uses to buffer a server's connections. gRPC 1.51 reads its sockets
// itself and has no hook for a limit. The process therefore replaces `recvmsg`, `SSL_read` and
// `close` (intercepted_reads.cpp). The replacements pass the decrypted data of guarded connections
// to a frame_inspector. If a limit is exceeded, they report a broken connection to gRPC. `sendmsg`
// and `SSL_write` show which streams the server ends. States of a connection:
//
//   added --> anonymous --token or certificate--> identified
//                 \--over a limit, or closed to free memory--> cut --descriptor closed--> removed
//
// Owned by the accepting_server. Thread-safe.
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

enum class standing {
  anonymous,   // can send at most `anonymous_bytes_max` bytes before it sends a token
  admitted,    // served without a token, for example because of its address
  identified,  // sent a token or certificate, or the server requires none
};

struct guard_options {
  inspection_limits limits;
  /// Maximum total bytes of all connections. Connections that are not identified can use half of
  /// this limit. Beyond a limit, the largest connection is closed, identified connections last.
  std::size_t memory_max = std::size_t{1} << 30;
  /// Returns the initial standing of a client, such as "10.0.0.3:4711". Called on any thread.
  std::function<standing(std::string const& client)> judge = [](auto const&) {
    return standing::identified;
  };
  /// Returns whether an `authorization` value identifies a client. Called on any thread.
  frame_inspector::identify is_token = [](std::string_view) { return false; };
  /// Returns whether a verified client certificate's common name identifies a client. Called on any
  /// thread.
  std::function<bool(std::string const& name)> is_certificate = [](auto const&) { return false; };
  /// Called on any thread after a connection was closed.
  std::function<void(std::string const& peer, std::string const& why)> cut = [](auto const&,
                                                                                auto const&) {};
};

struct guard_counts {
  std::uint64_t held_bytes = 0;
  std::uint64_t memory_max = 0;
  std::uint64_t header_block = 0, before_token = 0, memory = 0;
};

class guarded_connection;

class connection_guard {
 public:
  explicit connection_guard(guard_options options);
  /// REQUIRES: gRPC no longer reads any of the connections.
  ~connection_guard();
  connection_guard(connection_guard const&) = delete;

  /// Guards a connection before it is passed to gRPC. Replaces an earlier connection that had this
  /// descriptor.
  /// @param peer "10.0.0.3:4711"; empty if `socket` has no address.
  /// @param client The client behind a relay, otherwise the peer.
  /// @param admitted Whether the caller has already authorized the client.
  /// @return false if the descriptor is too large for the table. The caller must then close the
  ///   connection.
  [[nodiscard]] bool add(int socket, std::string const& peer, std::string const& client, bool tls,
                         bool admitted = false);

  void call_ended(std::string const& grpc_peer);

  [[nodiscard]] guard_counts counts() const;

  /// Returns the memory of closed connections to the system if it exceeds 8 MiB. Called
  /// periodically by one thread, which can block.
  void return_memory();

  /// While this object exists, TLS sessions that this thread creates belong to the connection of
  /// `socket`.
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
  std::atomic<std::int64_t> held_ = 0;        // bytes of all connections
  std::atomic<std::int64_t> open_ = 0;        // bytes of connections that are not identified
  std::atomic<std::uint64_t> abandoned_ = 0;  // bytes of connections closed since return_memory
  std::chrono::steady_clock::time_point noticed_{};  // used only by return_memory
  std::atomic<std::uint64_t> header_block_ = 0, before_token_ = 0, memory_ = 0;

  std::mutex mutex_;  // guards the following members; locked before a connection's mutex
  // Bounded by the process's limit of descriptors.
  std::unordered_map<int, std::unique_ptr<guarded_connection>> connections_;
  std::unordered_map<std::string, int> anonymous_;  // descriptors by the peer's gRPC name
  std::atomic<std::size_t> anonymous_count_ = 0;
};

/// A guarded connection, found by its descriptor. gRPC uses at most one reader and one writer
/// thread at a time.
class guarded_connection {
 public:
  guarded_connection(connection_guard& guard, int socket, std::string peer, bool tls, standing s);

  /// Inspects data before gRPC receives it. Returns false if the connection must be reported as
  /// broken.
  bool received(std::string_view bytes);
  void sent(std::string_view bytes);
  void ended();
  void shown(std::string const& certificate);
  [[nodiscard]] bool is_tls() const { return tls_; }
  [[nodiscard]] bool is_cut() const { return cut_; }
  bool mark_certificate_checked() { return std::exchange(certificate_checked_, true); }

 private:
  friend class connection_guard;

  connection_guard& guard_;
  int const socket_;
  std::string const peer_;
  bool const tls_;
  std::uint64_t const inode_;         // identifies the socket, because descriptors are reused
  bool certificate_checked_ = false;  // used only by the reader
  sent_frames sent_;                  // used only by the writer
  std::atomic<bool> cut_ = false;
  std::atomic<std::size_t> held_ = 0;
  std::atomic<std::int64_t> open_held_ = 0;  // part of held_ that open_ includes
  std::atomic<standing> standing_;
  std::mutex mutex_;  // guards the following members
  frame_inspector inspector_;
};

/// Returns the guarded connection of this descriptor, or null. Thread-safe.
guarded_connection* guarded(int socket) noexcept;
/// Reports that the descriptor is about to be closed and can be reused. Takes no lock. Thread-safe.
void closing(int socket) noexcept;
/// Returns the guarded connection of a TLS session (`SSL*`), or null.
guarded_connection* guarded_session(void const* ssl) noexcept;

}  // namespace muster::net
