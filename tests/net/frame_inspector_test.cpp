#include "server/net/inspect/frame_inspector.hpp"

#include <gtest/gtest.h>

#include "server/net/inspect/sent_frames.hpp"
#include "tests/support/http2_frames.hpp"

namespace muster::net::test {
namespace {

using namespace muster::test;

using finding = frame_inspector::finding;

constexpr char const* method = "/a.B/C";

bool is_right(std::string_view authorization) {
  return authorization == "Bearer right";
}

std::string const begun = connection_preface + frame(settings_frame, 0, 0);

std::string call(std::uint32_t stream, std::string const& more = {}) {
  return frame(headers_frame, end_headers, stream, call_fields(method, more));
}

// Feeds the inspector in pieces of `piece` bytes.
struct fed {
  explicit fed(bool is_limited, std::size_t size = 1 << 20)
      : piece(size), inspector({}, is_limited) {
    EXPECT_EQ(feed(begun), finding::none);
  }
  finding feed(std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      auto const found = inspector.read(bytes.substr(0, piece), is_right);
      if (found != finding::none) return found;
      most = std::max(most, inspector.held());
    }
    return finding::none;
  }
  std::size_t piece;
  frame_inspector inspector;
  std::size_t most = 0;
};

std::string repeated(std::string const& text, std::size_t bytes) {
  std::string all;
  while (all.size() < bytes) all += text;
  return all;
}

finding flood(fed& f, std::string const& first, std::string const& payload, std::size_t bytes) {
  auto found = f.feed(frame(headers_frame, 0, 1, call_fields(method) + first));
  for (std::size_t sent = 0; sent < bytes && found == finding::none; sent += payload.size() + 9)
    found = f.feed(frame(continuation_frame, 0, 1, payload));
  return found;
}

TEST(frame_inspector, rejects_an_endless_header_block_at_any_split_of_its_bytes) {
  auto const literal = repeated(field("x", std::string(100, 'y')), 15'000);
  std::string const indexed(16'000, '\xbe');
  for (std::size_t const piece : {1u, 2u, 7u, 9u, 10u, 1'000u, 16'393u, 1u << 20}) {
    for (bool const is_limited : {false, true}) {
      fed literals(is_limited, piece), fields(is_limited, piece), empty(is_limited, piece);
      auto const expected =
          is_limited ? finding::too_much_before_token : finding::header_block_too_long;
      EXPECT_NE(flood(literals, {}, literal, 100'000), finding::none) << piece;
      EXPECT_NE(flood(fields, field("bomb", std::string(3'500, 'z'), 0x40), indexed, 100'000),
                finding::none)
          << piece;
      EXPECT_EQ(flood(empty, {}, {}, 100'000), expected) << piece;
      EXPECT_LE(literals.most, 64u << 10);
      EXPECT_LE(fields.most, 64u << 10);
    }
  }
}

TEST(frame_inspector, detects_the_end_of_a_block_split_at_any_byte) {
  std::string const block =
      frame(headers_frame, 0, 1, call_fields(method)) +
      repeated(frame(continuation_frame, 0, 1, std::string(16'000, '\x82')), 64'100);
  for (std::size_t at = 1; at < block.size(); at += at < 200 ? 1 : 997) {
    fed f(false);
    auto const first = f.feed(block.substr(0, at));
    EXPECT_EQ(first == finding::none ? f.feed(block.substr(at)) : first,
              finding::header_block_too_long)
        << at;
  }
}

TEST(frame_inspector, accepts_consecutive_blocks_up_to_the_limit) {
  fed f(false);
  for (std::uint32_t stream = 1; stream < 40; stream += 2) {
    auto const fields = call_fields(method);
    EXPECT_EQ(f.feed(frame(headers_frame, 0, stream, fields)), finding::none);
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(f.feed(frame(continuation_frame, 0, stream, std::string(16'000, '\x82'))),
                finding::none);
    EXPECT_EQ(f.feed(frame(continuation_frame, end_headers, stream)), finding::none);
    EXPECT_EQ(f.inspector.held(), 0u);
  }
}

TEST(frame_inspector, finds_a_token_in_any_call_at_any_split_of_its_bytes) {
  auto const signed_call = call(3, field("authorization", "Bearer right", 0x40));
  for (std::size_t piece = 1; piece < signed_call.size(); ++piece) {
    fed f(true, piece);
    EXPECT_EQ(f.feed(call(1, field("authorization", "Bearer wrong"))), finding::none);
    EXPECT_FALSE(f.inspector.is_identified());
    EXPECT_EQ(f.feed(signed_call), finding::none);
    EXPECT_TRUE(f.inspector.is_identified()) << piece;
    EXPECT_EQ(f.inspector.held(), 0u);
  }
}

TEST(frame_inspector, checks_one_token_per_call) {
  int looked = 0;
  frame_inspector f({}, true);
  auto const wrong = field("authorization", "Bearer wrong", 0x40);
  f.read(begun + call(1, wrong + std::string(1'000, '\xbe')), [&](auto) { return ++looked == 2; });
  EXPECT_EQ(looked, 1);
  EXPECT_FALSE(f.is_identified());
}

TEST(frame_inspector, finds_a_token_behind_padding_and_priority_and_in_continuations) {
  auto const fields = call_fields(method, field("authorization", "Bearer right"));
  auto const padding = std::string(7, '\0');
  fed f(true);
  EXPECT_EQ(f.feed(frame(headers_frame, end_headers | padded | with_priority, 1,
                         "\7" + std::string(5, '\0') + fields + padding)),
            finding::none);
  EXPECT_TRUE(f.inspector.is_identified());
  for (std::size_t at = 0; at <= fields.size(); ++at) {
    fed split(true);
    EXPECT_EQ(split.feed(frame(headers_frame, padded, 1, "\7" + fields.substr(0, at) + padding) +
                         frame(continuation_frame, end_headers, 1, fields.substr(at))),
              finding::none);
    EXPECT_TRUE(split.inspector.is_identified()) << at;
  }
}

TEST(frame_inspector, limits_calls_without_a_token_until_they_are_answered) {
  fed f(true);
  EXPECT_EQ(f.feed(call(1)), finding::none);
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(f.feed(frame(data_frame, 0, 1, std::string(16'000, 'x'))), finding::none);
  EXPECT_GT(f.inspector.held(), 48'000u);
  EXPECT_EQ(f.feed(call(3)), finding::none);
  f.inspector.call_ended();
  EXPECT_GT(f.inspector.held(), 48'000u) << "one of two is in progress";
  EXPECT_EQ(f.feed(frame(reset_frame, 0, 1, number(8, 4))), finding::none);
  f.inspector.call_ended();
  EXPECT_EQ(f.inspector.held(), 0u);
  EXPECT_EQ(f.feed(call(5) + frame(data_frame, 0, 5, std::string(16'000, 'x'))), finding::none);
  auto found = finding::none;
  for (int i = 0; i < 4 && found == finding::none; ++i)
    found = f.feed(frame(data_frame, 0, 5, std::string(16'000, 'x')));
  EXPECT_EQ(found, finding::too_much_before_token);
  EXPECT_LE(f.most, 64u << 10);
}

TEST(frame_inspector, takes_calls_without_a_token_that_overlap) {
  fed f(true);
  f.feed(call(1));
  for (std::uint32_t stream = 3; stream < 3'000; stream += 2) {
    ASSERT_EQ(f.feed(call(stream) + frame(data_frame, end_stream, stream, std::string(500, 'x'))),
              finding::none)
        << stream;
    f.inspector.call_ended();
  }
  EXPECT_LT(f.inspector.held(), 2'000u);
}

TEST(frame_inspector, limits_the_number_of_calls_without_a_token) {
  fed f(true);
  auto found = finding::none;
  std::uint32_t calls = 0;
  for (; calls < 1'000 && found == finding::none; ++calls) found = f.feed(call(2 * calls + 1));
  EXPECT_EQ(found, finding::too_much_before_token);
  EXPECT_GT(calls, 90u);
  EXPECT_LT(calls, 128u);
}

TEST(frame_inspector, charges_incomplete_messages) {
  for (std::size_t const piece : {1u, 3u, 16'000u, 1u << 20}) {
    fed f(false, piece);
    std::string const body(40'000, 'x');
    auto const message = grpc_message(body);
    f.feed(call(1) + frame(data_frame, 0, 1, message.substr(0, 16'000)));
    EXPECT_EQ(f.inspector.held(), 16'000 + frame_inspector::frame_overhead);
    f.feed(call(3) + frame(data_frame, 0, 3, message.substr(0, 3)));
    EXPECT_EQ(f.inspector.held(), 16'003 + 2 * frame_inspector::frame_overhead);
    f.feed(frame(data_frame, 0, 3, message.substr(3, 16'000)));
    f.feed(frame(data_frame, 0, 1, message.substr(16'000, 16'000)));
    f.feed(frame(data_frame, 0, 1, message.substr(32'000) + grpc_message("another")));
    EXPECT_EQ(f.inspector.held(), 16'003 + 2 * frame_inspector::frame_overhead) << "stream 3";
    f.feed(frame(reset_frame, 0, 3, number(8, 4)));
    EXPECT_EQ(f.inspector.held(), 0u);
    f.feed(call(5) + frame(data_frame, end_stream, 5, message.substr(0, 16'000)));
    EXPECT_EQ(f.inspector.held(), 0u) << "the call has failed";
  }
}

TEST(frame_inspector, charges_nothing_for_a_stream_that_the_server_has_ended) {
  for (std::size_t const piece : {1u, 3u, 16'000u, 1u << 20}) {
    fed f(false, piece);
    auto const message = grpc_message(std::string(40'000, 'x'));
    f.feed(call(1) + frame(data_frame, 0, 1, message.substr(0, 16'000)));
    f.feed(call(3) + frame(data_frame, 0, 3, message.substr(0, 1'000)));
    f.inspector.stream_ended(1);
    EXPECT_EQ(f.inspector.held(), 1'000 + frame_inspector::frame_overhead) << "stream 3";
    f.feed(frame(data_frame, 0, 1, message.substr(16'000, 16'000)));
    EXPECT_EQ(f.inspector.held(), 1'000 + frame_inspector::frame_overhead) << "in flight before";
    f.inspector.stream_ended(3);
    EXPECT_EQ(f.inspector.held(), 0u);
  }
}

TEST(frame_inspector, charges_a_large_request_until_the_server_has_ended_its_call) {
  for (std::size_t const piece : {1u, 3u, 16'000u, 1u << 20}) {
    fed f(false, piece);
    auto const large = grpc_message(std::string(100'000, 'x'));
    auto const charged = large.size() + 6 * frame_inspector::frame_overhead;
    f.feed(call(1) + in_frames(1, large, end_stream));
    EXPECT_EQ(f.inspector.held(), charged);
    f.feed(call(3) + in_frames(3, large, 0));
    EXPECT_EQ(f.inspector.held(), charged) << "more of stream 3 can arrive, and it is read";
    f.feed(frame(data_frame, end_stream, 3));
    EXPECT_EQ(f.inspector.held(), 2 * charged);
    f.feed(call(5) + in_frames(5, grpc_message(std::string(10'000, 'x')), end_stream));
    EXPECT_EQ(f.inspector.held(), 2 * charged) << "a small one";
    f.feed(call(7) + in_frames(7, large, 0) + in_frames(7, grpc_message("more"), end_stream));
    EXPECT_EQ(f.inspector.held(), 2 * charged) << "the large message was read before";
    f.inspector.stream_ended(1);
    EXPECT_EQ(f.inspector.held(), charged);
    f.feed(frame(reset_frame, 0, 3, number(8, 4)));
    EXPECT_EQ(f.inspector.held(), 0u);
    f.feed(call(9));
    f.inspector.stream_ended(9);
    f.feed(in_frames(9, large, end_stream));
    EXPECT_EQ(f.inspector.held(), 0u) << "refused before it had arrived";
  }
}

TEST(sent_frames, finds_each_stream_that_ends_wherever_its_bytes_are_split) {
  auto const sent = frame(settings_frame, 0, 0, std::string(6, 'x')) +
                    frame(headers_frame, end_headers, 1, "fields") +
                    frame(data_frame, 0, 1, std::string(300, '\1')) +
                    frame(headers_frame, end_headers | end_stream, 1, "fields") +
                    frame(reset_frame, 0, 3, number(8, 4)) + frame(settings_frame, end_stream, 0) +
                    frame(data_frame, end_stream, 70'005, "x");
  for (std::size_t piece = 1; piece <= sent.size(); ++piece) {
    sent_frames f;
    std::vector<std::uint32_t> ended;
    for (std::string_view left = sent; !left.empty();
         left.remove_prefix(std::min(piece, left.size())))
      f.read(left.substr(0, piece), [&](std::uint32_t stream) { ended.push_back(stream); });
    EXPECT_EQ(ended, (std::vector<std::uint32_t>{1, 3, 70'005})) << piece;
  }
}

}  // namespace
}  // namespace muster::net::test
