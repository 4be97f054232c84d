// Large contents, up to 1 GiB each, by their SHA-256: put once, named in the arguments and outputs
// of closures, and got where they are wanted.
//
//   muster::blobs store({.server = "127.0.0.1:8476"});            // the coordinator's program
//   muster::blob const table = store.put(bytes);
//   auto n = c.schedule<int>("count", table);
//
//   w.function("count", [&store](muster::blob const& t) {         // the worker's, with a store
//     return count(*store.get(t));                                // of its own
//   });
//
// A function that returns a muster::blob has a value that is one: the server keeps its bytes for as
// long as it has the value. What put() gave is kept there while a copy of that blob lives here:
// the server is asked for it every few seconds, and gets it again when it is gone. In JSON a blob
// is {"$blob":"<64 hexadecimal digits>","bytes":N}, as with Python and REST.
#pragma once

#include <boost/json/conversion.hpp>
#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "muster/function_error.hpp"
#include "muster/tls_options.hpp"

namespace muster {

/// The name of a content. Plain data.
struct blob {
  std::string sha256;       // 64 hexadecimal digits
  std::uint64_t bytes = 0;  // 0 also where the name does not say
  /// Of one that was put here: its bytes, which stay as long as a copy of this does.
  std::shared_ptr<std::string const> content{};

  bool operator==(blob const& other) const { return sha256 == other.sha256; }
};

void tag_invoke(boost::json::value_from_tag, boost::json::value& to, blob const& from);
/// Errors: std::invalid_argument, it names no blob.
blob tag_invoke(boost::json::value_to_tag<blob>, boost::json::value const& from);

struct blobs_options {
  std::string server = "127.0.0.1:8476";  // "host:port", or several of which one serves: comma
  tls_options tls{};                      // else plaintext
  /// Where the server asks for a token. Empty: MUSTER_TOKEN of the environment.
  std::string token{};
  /// What get() has fetched stays here, up to so many bytes together; what was not used for longest
  /// goes. 0: nothing stays.
  std::size_t cache_bytes_max = std::size_t{256} << 20;
  /// How long put and get try when the server cannot be reached, or has no room.
  std::chrono::milliseconds patience{60'000};
};

/// It cannot be put or had. A function that lets it out fails its closure: INPUT, there is no such
/// blob, or it is too large; DEPENDENCY_LOST, the server was not there.
class blob_error : public function_error {
 public:
  blob_error(failure_kind kind, std::string const& message)
      : function_error(kind, message, "muster::blob_error") {}
};

/// Any thread; calls wait. Several threads that want the same content fetch it once.
class blobs {
 public:
  explicit blobs(blobs_options options);
  /// Does not wait for calls of other threads: there are none any more. Nothing is kept at the
  /// server from now on.
  ~blobs();
  blobs(blobs const&) = delete;
  blobs& operator=(blobs const&) = delete;

  /// The server has it when this returns; what it had is not sent again. Errors: blob_error.
  blob put(std::string content);
  /// Its bytes, whose hash was checked. One that is not there is waited for, half a minute: whoever
  /// put it may put it again. Errors: blob_error.
  std::shared_ptr<std::string const> get(blob const& which);

 private:
  class store;
  std::unique_ptr<store> store_;
};

}  // namespace muster
