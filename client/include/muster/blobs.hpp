// Large contents, up to 1 GiB each: put once, named in the arguments and outputs of closures, and
// got where they are wanted.
//
//   muster::blobs store({.server = "127.0.0.1:8476"});            // the coordinator's program
//   muster::blob const table = store.put(bytes);
//   auto n = c.schedule<int>("count", table);
//
//   w.function("count", [&store](muster::blob const& t) {         // the worker's, with a store
//     return count(*store.get(t));                                // of its own
//   });
//
// A function that returns a muster::blob has a value that is one: its bytes are there for as long
// as the server has the value. What put() gave is there while a copy of that blob lives here, or a
// closure that names it goes on, and ten minutes where something else names it. In JSON a blob is
// {"$blob":"<64 hexadecimal digits>","bytes":N}, as with Python and REST.
//
// What has more than 1 MiB stays in memory of the process that has put it, where processes of its
// user on its host take it. What functions put the worker's process holds for as long as a value
// names it, and other hosts take it there by a ticket of the server. All else they have from the
// server, which asks for it. See docs/cpp.md#blobs.
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

/// The name of a content. Plain data.
struct blob {
  /// 64 hexadecimal digits: its SHA-256, or 32 random bytes of what a process holds in memory.
  std::string sha256;
  std::uint64_t bytes = 0;  // 0 also where the name does not say
  /// Of one that was put here: what stays as long as a copy of this does.
  std::shared_ptr<detail::blob_content const> content{};

  bool operator==(blob const& other) const { return sha256 == other.sha256; }
};

void tag_invoke(boost::json::value_from_tag, boost::json::value& to, blob const& from);
/// Errors: std::invalid_argument, it names no blob.
blob tag_invoke(boost::json::value_to_tag<blob>, boost::json::value const& from);

/// Bytes that nobody changes: memory of this process, or that of another which it has mapped.
/// Copies share it. Reads as a pointer to a std::string_view.
class blob_bytes {
 public:
  /// Of nothing.
  blob_bytes() = default;
  /// `owner` keeps what `bytes` views.
  blob_bytes(std::shared_ptr<void const> owner, std::string_view bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::string_view const& operator*() const noexcept { return bytes_; }
  std::string_view const* operator->() const noexcept { return &bytes_; }
  explicit operator bool() const noexcept { return owner_ != nullptr; }

 private:
  std::shared_ptr<void const> owner_;
  std::string_view bytes_;
};

struct blobs_options {
  std::string server = "127.0.0.1:8476";  // "host:port", or several of which one serves: comma
  tls_options tls{};                      // else plaintext
  /// Where the server asks for a token. Empty: MUSTER_TOKEN or
  /// MUSTER_TOKEN_FILE of the environment.
  std::string token{};
  /// What get() has fetched stays here, up to so many bytes together; what was not used for longest
  /// goes. 0: nothing stays.
  std::size_t cache_bytes_max = std::size_t{256} << 20;
  /// How long put and get try when the server cannot be reached, or has no room. The default is
  /// that of a session's grace.
  std::chrono::milliseconds patience{60'000};
  /// Memory that this holds for other processes of the host. What does not fit is put at the
  /// server. Empty: 4 GiB, or half of the machine's or the control group's if that is less. 0: none
  /// is held, nor taken.
  std::optional<std::size_t> shm_bytes_max{};
  /// Where processes of other hosts take what a worker's functions put here, "host" or "host:port".
  /// Empty: the interface by which the server is reached, and a free port. "off": they have it from
  /// the server. A program without a worker does not listen.
  std::string transfer_listen{};
  /// "host" or "host:port" that they are told instead, where the way there leads through something.
  std::string transfer_advertise{};
};

/// A blob cannot be put or fetched. If a function on a worker throws it, the kind decides:
/// - INPUT (there is no such blob, or it is too large) fails the call.
/// - DEPENDENCY_LOST (the server could not be reached for blobs_options.patience) counts as a loss
///   of the worker, and the call is tried again.
class blob_error : public function_error {
 public:
  blob_error(failure_kind kind, std::string const& message)
      : function_error(kind, message,
                       kind == failure_kind::dependency_lost ? "muster::connection_lost"
                                                             : "muster::blob_error") {}
};

/// Any thread; calls wait. Several threads that want the same content fetch it once. A worker's
/// outlives its run().
class blobs {
 public:
  /// Errors: std::invalid_argument names the option.
  explicit blobs(blobs_options options);
  /// Does not wait for calls of other threads: there are none any more. What this holds and may be
  /// needed is put at the server, as much as there is in ten seconds. Nothing is kept there from
  /// now on.
  ~blobs();
  blobs(blobs const&) = delete;
  blobs& operator=(blobs const&) = delete;

  /// It can be had from others when this returns; what is here or at the server is not sent again.
  /// Copies it. Errors: blob_error.
  blob put(std::string_view content);
  /// Its bytes; the hash of those that the server sent was checked. One that is not there is waited
  /// for, half a minute: whoever put it may put it again. Errors: blob_error.
  blob_bytes get(blob const& which);

 private:
  class store;
  std::unique_ptr<store> store_;
};

}  // namespace muster
