#include "server/rpc/coordination/gzip_request.hpp"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace muster::server {
namespace gzip_cases {

std::string packed(std::string const& plain) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string made(deflateBound(&z, plain.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(made.data());
  z.avail_out = static_cast<uInt>(made.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  made.resize(z.total_out);
  deflateEnd(&z);
  return made;
}

grpc::ByteBuffer in_slices(std::string const& bytes, std::size_t of) {
  std::vector<grpc::Slice> slices;
  for (std::size_t at = 0; at < bytes.size(); at += of) slices.emplace_back(bytes.substr(at, of));
  return {slices.data(), slices.size()};
}

std::string text_of(grpc::ByteBuffer const& buffer) {
  std::vector<grpc::Slice> slices;
  EXPECT_TRUE(buffer.Dump(&slices).ok());
  std::string all;
  for (auto const& s : slices) all.append(reinterpret_cast<char const*>(s.begin()), s.size());
  return all;
}

TEST(gzip_request, is_decompressed_from_slices_of_any_size) {
  std::string plain;
  for (int i = 0; i < 50'000; ++i) plain += std::to_string(i);
  for (std::size_t const of : {std::size_t{1}, std::size_t{3}, std::size_t{1'000}, plain.size()}) {
    auto buffer = in_slices(packed(plain), of);
    EXPECT_EQ(gunzip(buffer), gunzip_result::ok) << of;
    EXPECT_EQ(text_of(buffer), plain) << of;
  }
}

TEST(gzip_request, request_without_compression_is_unchanged) {
  for (std::string const& plain :
       {std::string(), std::string("\x0a\x03key"), std::string(100, 'x')}) {
    auto buffer = in_slices(plain, 64);
    EXPECT_EQ(gunzip(buffer), gunzip_result::ok);
    EXPECT_EQ(text_of(buffer), plain);
  }
}

TEST(gzip_request, request_larger_than_the_limit_is_refused) {
  auto const bomb = packed(std::string(1'000'000, '\0'));
  EXPECT_LT(bomb.size(), 2'000u);
  auto fits = in_slices(bomb, 100), large = in_slices(bomb, 100);
  EXPECT_EQ(gunzip(fits, 1'000'000), gunzip_result::ok);
  EXPECT_EQ(gunzip(large, 999'999), gunzip_result::too_large);
}

TEST(gzip_request, damaged_request_is_refused) {
  auto const whole = packed(std::string(100'000, 'x') + "end");
  auto cut = in_slices(whole.substr(0, whole.size() - 1), 64);
  EXPECT_EQ(gunzip(cut), gunzip_result::damaged);
  auto longer = in_slices(whole + "more", 64);
  EXPECT_EQ(gunzip(longer), gunzip_result::damaged);
  auto flipped = whole;
  flipped[whole.size() / 2] ^= 0x40;
  auto wrong = in_slices(flipped, 64);
  EXPECT_EQ(gunzip(wrong), gunzip_result::damaged);
}

}  // namespace gzip_cases
}  // namespace muster::server
