#include "server/torch/wire/command_reader.hpp"

#include <gtest/gtest.h>

#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

struct reading {
  explicit reading(limits const& l = {}, numbering early = numbering::a)
      : limits_(l), reader(limits_, early) {}

  /// Returns the names of the commands in `bytes`, or the error.
  std::string read(std::string_view bytes) {
    std::string all;
    reader.feed(bytes);
    for (;;) {
      auto const whole = reader.next(c);
      if (!whole) return whole.error().message;
      if (!*whole) break;
      all += std::string(name(c.what)) + " ";
      words.assign(c.words.begin(), c.words.end());
    }
    reader.keep();
    return all;
  }

  limits limits_;
  command_reader reader;
  command c;
  std::vector<std::string> words;
};

TEST(command_reader, recognises_a_newer_client_by_its_first_command) {
  reading r;
  EXPECT_EQ(r.read(std::string("\0\xce\xf7", 3)), "");
  EXPECT_EQ(r.read("\x85\x3c"), "VALIDATE ");
  EXPECT_EQ(r.reader.speaks(), numbering::c);
  EXPECT_EQ(r.read(say::ping(7) + say::set("/k", "v")), "PING SET ");
  EXPECT_EQ(r.words, (std::vector<std::string>{"/k", "v"}));
}

TEST(command_reader, uses_the_configured_numbering_for_other_clients) {
  auto const set = byte(0) + text("/k") + text("v");
  auto const eighth = byte(8) + text("/k");
  reading a({}, numbering::a), b({}, numbering::b);
  EXPECT_EQ(a.read(set + eighth), "SET DELETE_KEY ");
  EXPECT_EQ(b.read(set + eighth), "SET ");
  EXPECT_EQ(b.read(text("x")), "APPEND ");
  EXPECT_EQ(b.read(byte(7) + text("/k")), "DELETE_KEY ");
  EXPECT_EQ(a.read(byte(13)), "a command: number: 13 is not a command in protocol numbering A");
}

TEST(command_reader, a_key_has_a_limit) {
  EXPECT_EQ(reading().read(byte(2) + u64(8'193)), "GET: key: 8193 bytes, the limit is 8192");
  EXPECT_EQ(reading().read(byte(2) + u64(8'192)), "");
}

TEST(command_reader, a_value_has_a_limit) {
  EXPECT_EQ(reading().read(byte(0) + text("k") + u64(0x800001)),
            "SET: value: 8388609 bytes, the limit is 8388608");
  EXPECT_EQ(reading().read(byte(0) + text("k") + u64(~0ull)).substr(0, 11), "SET: value:");
}

TEST(command_reader, the_keys_of_a_call_have_a_limit) {
  EXPECT_EQ(reading().read(byte(5) + u64(131'073)), "WAIT: keys: 131073 keys, the limit is 131072");
  EXPECT_EQ(reading().read(byte(5) + u64(~0ull)).substr(0, 11), "WAIT: keys:");
}

TEST(command_reader, the_bytes_of_a_call_have_a_limit) {
  limits l;
  l.call_bytes = 20;
  auto const ten = text("0123456789");
  EXPECT_EQ(reading(l).read(byte(5) + u64(3) + ten + ten + u64(1)),
            "WAIT: keys and values: more than 20 bytes in one call");
  reading many(l);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(many.read(byte(5) + u64(1) + ten), "WAIT ");
}

TEST(command_reader, frees_the_buffer_of_a_large_command) {
  reading r;
  auto const large = byte(0) + text("k") + text(std::string(1 << 20, 'x'));
  EXPECT_EQ(r.read(large.substr(0, large.size() - 1)), "");
  EXPECT_GE(r.reader.kept_bytes(), 1u << 20);
  EXPECT_EQ(r.read("x"), "SET ");
  EXPECT_LT(r.reader.kept_bytes(), 4'097u);
}

}  // namespace
}  // namespace muster::torch
