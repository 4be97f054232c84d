#include "server/rpc/coordination/encoding_cache.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muster::server {
namespace {

TEST(encoding_cache, each_format_of_an_answer_is_encoded_once) {
  encoding_cache<std::string> cache;
  auto const answer = std::make_shared<int const>(7);
  int made = 0;
  auto const get = [&](std::uint64_t variant) {
    return cache.get(answer, variant, [&] { return std::to_string(++made); });
  };
  EXPECT_EQ(get(1), "1");
  EXPECT_EQ(get(2), "2") << "another format";
  EXPECT_EQ(get(1), "1");
  EXPECT_EQ(get(2), "2");
}

}  // namespace
}  // namespace muster::server
