// Decompresses gzip requests, which JAX and TensorFlow clients can send. gRPC must not decompress
// them, because it would do so before authentication and without a size limit.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>

namespace muster::server {

/// Requests that are larger after decompression fail with RESOURCE_EXHAUSTED.
inline constexpr std::size_t gunzipped_bytes_max = std::size_t{32} << 20;

enum class gunzip_result {
  ok,
  damaged,  ///< the data is not exactly one complete gzip stream
  too_large,
};

/// Decompresses a gzip request in place. Leaves other requests unchanged: a message that begins
/// like gzip is never valid Protobuf, because its first field would have wire type 7. Buffers at
/// most `bytes_max` bytes plus a 64 KiB chunk. Blocks during decompression (about 0.1 s for 32
/// MiB). Thread-safe. REQUIRES: the caller is authorized.
gunzip_result gunzip(grpc::ByteBuffer& request, std::size_t bytes_max = gunzipped_bytes_max);

}  // namespace muster::server
