// Large binary values (blobs) that calls refer to by name.
#pragma once

#include <boost/json/conversion.hpp>
#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "muster/detail/blob_content.hpp"
#include "muster/function_error.hpp"
#include "muster/tls_options.hpp"

namespace muster {

/// The name of stored bytes.
///
/// If a function returns a muster::blob, its bytes are kept as long as the server keeps the value.
/// Bytes stored with blobs::put are kept while this process has a copy of the blob or an unfinished
/// call refers to it. If anything else refers to the blob, the bytes are kept for ten minutes. The
/// JSON form, which Python and REST also use, is {"$blob":"…","bytes":N} with 64 hexadecimal
/// digits.
struct blob {
  /// SHA-256 of the bytes, or a random ID if the bytes are in a process's memory; 64 hexadecimal
  /// digits.
  std::string sha256;
  /// Size in bytes; 0 if unknown.
  std::uint64_t bytes = 0;
  /// Keeps the bytes alive if this process has stored them.
  std::shared_ptr<detail::blob_content const> content{};

  /// Returns true if both names refer to the same bytes.
  /// @param other  another name
  bool operator==(blob const& other) const { return sha256 == other.sha256; }
};

/// Writes the name as JSON.
/// @param to  receives the JSON
/// @param from  the name
void tag_invoke(boost::json::value_from_tag, boost::json::value& to, blob const& from);
/// Reads a name from JSON.
/// @param from  the JSON
/// @throws std::invalid_argument  the JSON does not name a blob
blob tag_invoke(boost::json::value_to_tag<blob>, boost::json::value const& from);

/// Immutable bytes in this process's memory or mapped from another process. Behaves like a shared
/// pointer to a std::string_view.
class blob_bytes {
 public:
  /// Constructs an empty pointer.
  blob_bytes() = default;
  /// Constructs a pointer to bytes.
  /// @param owner  keeps the bytes alive
  /// @param bytes  the bytes
  blob_bytes(std::shared_ptr<void const> owner, std::string_view bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  /// Returns the bytes. Precondition: the pointer is not empty.
  std::string_view const& operator*() const noexcept { return bytes_; }
  /// Accesses the bytes. Precondition: the pointer is not empty.
  std::string_view const* operator->() const noexcept { return &bytes_; }
  /// Returns false if the pointer is empty.
  explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  std::shared_ptr<void const> owner_;
  std::string_view bytes_;
};

/// Options of a blobs object.
struct blobs_options {
  /// Server address, "host:port", or a comma-separated list of servers, one of which is active.
  std::string server = "127.0.0.1:8476";
  /// TLS settings. By default, the environment's settings apply; without MUSTER_CA, plaintext is
  /// used.
  tls_options tls = tls_options::from_environment();
  /// Token sent with every call; if empty, it is read from MUSTER_TOKEN or MUSTER_TOKEN_FILE.
  std::string token{};
  /// Cache size for fetched blobs, in bytes; the least recently used blob is evicted. 0 disables
  /// the cache.
  std::size_t cache_bytes_max = std::size_t{256} << 20;
  /// How long put and get retry while the server is unreachable or full. The default is the same as
  /// for coordinator_options::session_grace.
  std::chrono::milliseconds patience{60'000};
  /// Bytes of shared memory for other processes on this host. Blobs that do not fit are stored on
  /// the server. If unset, the limit is 4 GiB or, if smaller, half the memory of the machine or
  /// control group. 0 disables shared memory.
  std::optional<std::size_t> shm_bytes_max{};
  /// Address at which processes on other hosts fetch blobs stored by this worker's functions,
  /// "host" or "host:port". If empty, the network interface with the route to the server and a free
  /// port are used. With "off", these processes fetch the blobs from the server. A program without
  /// a worker does not listen.
  std::string transfer_listen{};
  /// Address announced instead of transfer_listen, for example behind a proxy; "host" or
  /// "host:port".
  std::string transfer_advertise{};
};

/// A blob could not be stored or fetched. If a worker function throws this error, the kind
/// determines the effect:
/// - INPUT: the blob does not exist or is too large. The call fails.
/// - DEPENDENCY_LOST: the server was unreachable for blobs_options::patience. The error counts as a
///   lost worker, and the call is retried.
class blob_error : public function_error {
 public:
  /// Constructs the error.
  /// @param kind  INPUT or DEPENDENCY_LOST
  /// @param message  what failed and why
  blob_error(failure_kind kind, std::string const& message)
      : function_error(kind, message,
                       kind == failure_kind::dependency_lost ? "muster::connection_lost"
                                                             : "muster::blob_error") {}
};

/// Stores and fetches blobs of up to 1 GiB each. Calls pass blob names as arguments and results.
///
/// @code
/// muster::cluster_coordinator c({.server = "127.0.0.1:8476"});
/// muster::blobs store({.server = "127.0.0.1:8476"});
/// muster::blob const table = store.put("some bytes");
/// auto n = c.schedule<int>("count", table);
///
/// muster::worker w({.servers = {"127.0.0.1:8476"}});  // in the worker's program
/// w.function("count", [&store](muster::blob const& t) { return int(store.get(t)->size()); });
/// @endcode
///
/// Blobs above 1 MiB stay in the memory of the process that stored them, and processes of the same
/// user on the same host map this memory. Blobs stored by a worker's functions are kept as long as
/// a value refers to them; other hosts fetch these blobs directly from the worker. All other blobs
/// are fetched from the server, which requests them from their owner. See docs/cpp.md#blobs.
///
/// Members may be called from any thread, and can block. Threads that request the same blob share
/// one fetch. An object that worker functions use must outlive worker::run.
class blobs {
 public:
  /// Validates the options.
  /// @param options  the server, limits and addresses
  /// @throws std::invalid_argument  an option is invalid
  explicit blobs(blobs_options options);
  /// Copies blobs that may still be needed to the server, for up to ten seconds, and then frees all
  /// memory. Stops renewing blobs on the server. Precondition: no other thread is using this
  /// object.
  ~blobs();
  blobs(blobs const&) = delete;
  blobs& operator=(blobs const&) = delete;

  /// Stores a copy of the bytes. Other processes can fetch the blob once this function has
  /// returned. Bytes that this process or the server already has are not sent again.
  /// @param content  the bytes
  /// @return the blob name to pass to calls
  /// @throws blob_error the blob is too large, or the server is unreachable or full
  blob put(std::string_view content);
  /// Returns the bytes of a blob. Verifies the hash of bytes from the server. If the blob is
  /// missing, waits up to 30 seconds for its owner to store it again.
  /// @param which  the name
  /// @throws blob_error  the blob does not exist, or the server is unreachable
  blob_bytes get(blob const& which);

 private:
  class store;
  std::unique_ptr<store> store_;
};

}  // namespace muster
