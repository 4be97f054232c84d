#include "server/net/inspect/header_decoder.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/http2_frames.hpp"

namespace muster::net::test {
namespace {

using namespace muster::test;

using values = std::vector<std::string>;

struct decoded {
  header_decoder decoder;
  bool ok = true;
  values of(std::string const& block) {
    values found;
    ok = decoder.decode(block, [&](std::string_view v) { found.emplace_back(v); });
    return found;
  }
};

std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// RFC 7541, appendix C.4 and C.6.
TEST(header_decoder, decodes_the_examples_of_the_huffman_code) {
  EXPECT_EQ(decode_huffman(bytes_of("f1e3c2e5f23a6ba0ab90f4ff")), "www.example.com");
  EXPECT_EQ(decode_huffman(bytes_of("25a849e95bb8e8b4bf")), "custom-value");
  EXPECT_EQ(decode_huffman(bytes_of("9d29ad171863c78f0b97c8e9ae82ae43d3")),
            "https://www.example.com");
  EXPECT_EQ(decode_huffman({}), "");
  EXPECT_FALSE(decode_huffman(bytes_of("ffffffff"))) << "the end of the string";
}

TEST(header_decoder, finds_a_literal_with_the_name_of_the_static_table_or_its_own) {
  decoded d;
  EXPECT_EQ(d.of("\x83\x86" + hpack_number(23, 4, 0) + hpack_text("Bearer a")), values{"Bearer a"});
  EXPECT_EQ(d.of(hpack_number(23, 4, 0x10) + hpack_text("Bearer b")), values{"Bearer b"});
  EXPECT_EQ(d.of(field("authorization", "Bearer c")), values{"Bearer c"});
  EXPECT_EQ(d.of(field("x-authorization", "Bearer d")), values{});
  EXPECT_TRUE(d.ok);
  EXPECT_EQ(d.decoder.table_bytes(), 0u);
}

TEST(header_decoder, finds_a_coded_literal) {
  decoded d;
  auto const value = bytes_of("25a849e95bb8e8b4bf");
  auto const coded = [](std::string const& s) { return hpack_number(s.size(), 7, 0x80) + s; };
  EXPECT_EQ(d.of(hpack_number(23, 4, 0) + coded(value)), values{"custom-value"});
}

TEST(header_decoder, finds_a_field_of_the_dynamic_table_until_it_is_evicted) {
  decoded d;
  EXPECT_EQ(d.of(hpack_number(23, 6, 0x40) + hpack_text("Bearer a")), values{"Bearer a"});
  EXPECT_EQ(d.decoder.table_bytes(), 13u + 8 + 32);
  EXPECT_EQ(d.of("\xbe"), values{"Bearer a"});
  EXPECT_EQ(d.of(field("other", "value", 0x40)), values{});
  EXPECT_EQ(d.of("\xbe"), values{}) << "the newest is first";
  EXPECT_EQ(d.of("\xbf"), values{"Bearer a"});
  EXPECT_EQ(d.of(hpack_number(63, 4, 0) + hpack_text("Bearer b")), values{"Bearer b"})
      << "the name of a dynamic entry";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(d.of(field("n", std::string(2'000, 'v'), 0x40)), values{});
  EXPECT_LE(d.decoder.table_bytes(), header_decoder::table_bytes_max);
  EXPECT_EQ(d.of("\xbf"), values{});
  EXPECT_TRUE(d.ok);
  EXPECT_EQ(d.of("\xc0"), values{});
  EXPECT_FALSE(d.ok) << "evicted";
}

TEST(header_decoder, clears_its_table_when_the_client_requests_it) {
  decoded d;
  d.of(hpack_number(23, 6, 0x40) + hpack_text("Bearer a"));
  EXPECT_EQ(d.of("\x20"), values{});
  EXPECT_EQ(d.decoder.table_bytes(), 0u);
  d.of(hpack_number(23, 6, 0x40) + hpack_text("Bearer a"));
  EXPECT_EQ(d.decoder.table_bytes(), 0u) << "nothing fits";
  EXPECT_TRUE(d.ok);
}

TEST(header_decoder, refuses_malformed_blocks) {
  for (auto const& block : {std::string("\x80"), std::string("\xbe"), std::string("\x3f\xe2\x1f"),
                            std::string("\0\x05na", 4), std::string("\xff\xff\xff\xff\xff\xff\xff"),
                            std::string("\x0f"), hpack_number(23, 4, 0)}) {
    decoded d;
    d.of(block);
    EXPECT_FALSE(d.ok) << block.size();
    EXPECT_EQ(d.of(field("authorization", "Bearer c")), values{});
    EXPECT_FALSE(d.ok) << "permanently";
  }
}

}  // namespace
}  // namespace muster::net::test
