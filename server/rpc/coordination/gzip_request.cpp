#include "server/rpc/coordination/gzip_request.hpp"

#include <grpcpp/support/slice.h>
#include <zlib.h>

#include <array>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace muster::server {

namespace {

constexpr std::size_t gzip_header_bytes = 10;
constexpr std::size_t inflated_piece_bytes = std::size_t{64} << 10;
constexpr std::array<unsigned char, 2> magic{0x1f, 0x8b};

// The first slices can be short, because slices end at frame boundaries.
bool begins_as_gzip(std::span<grpc::Slice const> slices) {
  std::size_t seen = 0;
  for (auto const& s : slices)
    for (std::size_t i = 0; i < s.size() && seen < magic.size(); ++i)
      if (s.begin()[i] != magic[seen++]) return false;
  return seen == magic.size();
}

}  // namespace

gunzip_result gunzip(grpc::ByteBuffer& request, std::size_t bytes_max) {
  if (request.Length() < gzip_header_bytes) return gunzip_result::ok;
  if (grpc::Slice whole; request.TrySingleSlice(&whole).ok() && !begins_as_gzip({&whole, 1}))
    return gunzip_result::ok;
  std::vector<grpc::Slice> input;
  if (!request.Dump(&input).ok() || !begins_as_gzip(input)) return gunzip_result::ok;

  z_stream z{};
  constexpr int gzip_alone = 16 + MAX_WBITS;
  if (inflateInit2(&z, gzip_alone) != Z_OK) return gunzip_result::damaged;
  std::unique_ptr<z_stream, decltype(&inflateEnd)> const closing(&z, &inflateEnd);

  std::vector<grpc::Slice> output;
  std::size_t total = 0;
  std::array<unsigned char, inflated_piece_bytes> piece;
  int status = Z_OK;
  for (auto const& slice : input) {
    if (slice.size() == 0) continue;
    z.next_in = const_cast<unsigned char*>(slice.begin());
    z.avail_in = static_cast<unsigned>(slice.size());
    do {
      if (status == Z_STREAM_END)
        return gunzip_result::damaged;  // data after the end of the stream
      z.next_out = piece.data();
      z.avail_out = static_cast<unsigned>(piece.size());
      status = inflate(&z, Z_NO_FLUSH);
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        return gunzip_result::damaged;
      auto const made = piece.size() - z.avail_out;
      total += made;
      if (total > bytes_max) return gunzip_result::too_large;
      if (made > 0) output.emplace_back(piece.data(), made);
    } while (z.avail_in > 0 || (z.avail_out == 0 && status == Z_OK));
  }
  if (status != Z_STREAM_END) return gunzip_result::damaged;
  grpc::ByteBuffer made(output.data(), output.size());
  request.Swap(&made);
  return gunzip_result::ok;
}

}  // namespace muster::server
