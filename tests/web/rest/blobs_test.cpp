#include <sys/resource.h>

#include <csignal>

#include "tests/web/fixture.hpp"

namespace muster::web::test {
namespace {

constexpr std::string_view octets = "application/octet-stream";

struct blobs : web_fixture {
  http_response put(std::string const& name, std::string const& bytes) {
    return send("PUT", "/api/v1/blobs/" + name, bytes, std::string(octets));
  }

  std::string const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  std::string const none = std::string(64, '0');
};

TEST_F(blobs, are_stored_and_returned_by_their_hash) {
  start();
  auto const made = put(abc, "abc");
  ASSERT_EQ(made.status, 201u) << made.body;
  EXPECT_EQ(text_at(json::parse(made.body), "/sha256"), abc);
  EXPECT_EQ(put(abc, "abc").status, 200u);
  auto const got = get("/api/v1/blobs/" + abc);
  EXPECT_EQ(got.status, 200u);
  EXPECT_EQ(got.body, "abc");
  EXPECT_EQ(get("/api/v1/blobs/" + abc + "?offset=1").body, "bc");
  EXPECT_EQ(get("/api/v1/blobs/" + abc + "?offset=3").body, "");
  EXPECT_EQ(get("/api/v1/blobs/" + abc + "?offset=4").status, 422u);
  EXPECT_EQ(get("/api/v1/blobs/" + none).status, 404u);
  auto const counts = get_json("/api/v1/blobs");
  EXPECT_EQ(counts.at("blobs").to_number<int>(), 1);
  EXPECT_EQ(counts.at("bytes").to_number<int>(), 3);
  EXPECT_NE(get("/metrics").body.find("\nmuster_blob_bytes 3\n"), std::string::npos);
}

TEST_F(blobs, head_returns_the_length) {
  start();
  ASSERT_EQ(put(abc, "abc").status, 201u);
  auto const big = std::string((3 << 20) + 7, 'a');
  auto const name = "7d8aedf62548b6943c912ca5192d7a2c13322cd689d7a47d4b3944b4bb2e30c6";
  for (auto const* method : {"HEAD", "GET"}) {
    for (auto const* offset : {"0", "1", "3"}) {
      auto const r = send(method, "/api/v1/blobs/" + abc + "?offset=" + offset);
      EXPECT_EQ(r.status, 200u);
      EXPECT_EQ(r.header("Content-Length"), std::to_string(3 - (*offset - '0'))) << method;
      EXPECT_EQ(r.header("Transfer-Encoding"), "") << method;
      EXPECT_EQ(r.header("Content-Type"), octets) << method;
    }
    EXPECT_EQ(send(method, "/api/v1/blobs/" + none).status, 404u);
    EXPECT_EQ(send(method, "/api/v1/blobs/" + abc + "?offset=4").status, 422u);
  }
  ASSERT_EQ(put(name, big).status, 201u);
  EXPECT_EQ(send("HEAD", "/api/v1/blobs/" + std::string(name)).header("Content-Length"), "3145735");
  EXPECT_TRUE(get("/api/v1/blobs/" + std::string(name)).body == big);
}

// A limit on the size of files simulates a disk that fails during a write.
TEST_F(blobs, failing_disk_gives_503_with_the_reason) {
  start();
  auto const big = std::string((3 << 20) + 7, 'a');
  auto const path =
      "/api/v1/blobs/7d8aedf62548b6943c912ca5192d7a2c13322cd689d7a47d4b3944b4bb2e30c6";
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto const was = std::signal(SIGXFSZ, SIG_IGN);
  rlimit const at_most{1 << 20, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &at_most), 0);
  auto const refused = send("PUT", path, big, std::string(octets));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, was);
  EXPECT_EQ(refused.status, 503u) << refused.body;
  auto const p = json::parse(refused.body);
  EXPECT_EQ(p.at("code"), "UNAVAILABLE");
  EXPECT_CONTAINS(text_at(p, "/detail"), "File too large");
  EXPECT_EQ(send("PUT", path, big, std::string(octets)).status, 201u) << "the disk works again";
}

TEST_F(blobs, mismatched_hash_is_refused) {
  start();
  auto const r = put(none, "abc");
  EXPECT_EQ(r.status, 422u);
  EXPECT_EQ(text_at(json::parse(r.body), "/field"), "sha256");
  EXPECT_EQ(get_json("/api/v1/blobs").at("bytes").to_number<int>(), 0);
}

TEST_F(blobs, names_are_hex_digits) {
  start();
  for (auto const* name : {"x", "..%2F..%2Fetc%2Fpasswd", "ABC"}) {
    EXPECT_EQ(put(name, "abc").status, 400u) << name;
    EXPECT_EQ(get("/api/v1/blobs/" + std::string(name)).status, 400u) << name;
  }
}

TEST_F(blobs, too_large_gives_413_and_too_many_give_429) {
  start();
  auto const r = put(none, std::string((4 << 20) + 1, 'x'));
  EXPECT_EQ(r.status, 413u) << r.body;
  EXPECT_EQ(text_at(json::parse(r.body), "/limit"), "4194304 bytes");
  // SHA-256 of 4 MiB of "a", "b" and "c". The limit of all blobs is 8 MiB.
  EXPECT_EQ(put("299285fc41a44cdb038b9fdaf494c76ca9d0c866672b2b266c1a0c17dda60a05",
                std::string(4 << 20, 'a'))
                .status,
            201u);
  EXPECT_EQ(put("61d678b48de600e6922df82ac9fb5d208d19e98064d0d1d5c14a2ee50481c593",
                std::string(4 << 20, 'b'))
                .status,
            201u);
  auto const full = put("a7e2d83a174914a1232152ca3df32818f5513532e4acd4b4efd87df038907f6a",
                        std::string(4 << 20, 'c'));
  EXPECT_EQ(full.status, 429u) << full.body;
  EXPECT_EQ(text_at(json::parse(full.body), "/limit"), "8388608 bytes");
}

}  // namespace
}  // namespace muster::web::test
