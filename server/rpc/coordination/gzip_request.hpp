// Decompression of gzip requests, which JAX and TensorFlow clients can send. gRPC must not
// decompress them, since it would do so before authentication and without a size limit.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace muster::server {

/// Larger requests, once decompressed, fail with RESOURCE_EXHAUSTED.
inline constexpr std::size_t gunzipped_bytes_max = std::size_t{32} << 20;

enum class gunzip_result {
  ok,       ///< the buffer contains the message
  damaged,  ///< not one complete gzip stream
  too_large,
};

/// Decompresses a gzip request in place; leaves other requests unchanged. Buffers at most
/// `bytes_max` bytes and a piece of 64 KiB. A message that begins like gzip is never valid
/// Protobuf, since its first field would have wire type 7. Blocks during decompression (32 MiB:
/// about 0.1 s). REQUIRES: the caller is authorized. Any thread.
gunzip_result gunzip(grpc::ByteBuffer& request, std::size_t bytes_max = gunzipped_bytes_max);

}  // namespace muster::server
