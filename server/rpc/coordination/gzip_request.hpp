// Requests of agents that arrive compressed. JAX and TensorFlow clients may compress with gzip, and
// gRPC must not decompress for us: it would do so before anybody knows who calls, and up to any
// size.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace muster::server {

/// A request that is larger once it is decompressed is refused with RESOURCE_EXHAUSTED.
inline constexpr std::size_t gunzipped_bytes_max = std::size_t{32} << 20;

enum class gunzip_result {
  ok,         ///< the buffer has the message now, or was not compressed
  damaged,    ///< not one complete gzip stream
  too_large,  ///< more than `bytes_max`
};

/// Decompresses a gzip request in place. Buffers at most `bytes_max` bytes and one piece of 64 KiB.
/// A message that begins like gzip is never valid Protobuf, since the first byte would be a field
/// of wire type 7. Blocks for the time of decompression (32 MiB: about 0.1 s). REQUIRES: the caller
/// is admitted. Any thread.
gunzip_result gunzip(grpc::ByteBuffer& request, std::size_t bytes_max = gunzipped_bytes_max);

}  // namespace muster::server
