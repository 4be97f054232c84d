#include "server/rpc/workers/worker_convert.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "server/rpc/failure_convert.hpp"

namespace muster::server {
namespace {

v1::WorkerMessage two_answers() {
  v1::WorkerMessage m;
  for (std::uint64_t id : {11, 12}) {
    m.add_closure(id);
    m.add_attempt(1);
    m.add_value("\"v\"");
  }
  return m;
}

TEST(worker_convert, takes_values_and_failures) {
  auto m = two_answers();
  m.mutable_value(1)->clear();
  auto& f = *m.add_failure();
  f.set_position(1);
  f.set_kind(v1::USER);
  f.set_type("ValueError");
  f.set_message("no");
  std::vector<core::worker_result> results;
  ASSERT_EQ(from_wire(m, results), "");
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].ok);
  EXPECT_EQ(results[0].value, core::blob("\"v\""));
  EXPECT_FALSE(results[1].ok);
  EXPECT_EQ(results[1].failure.type, "ValueError");
  EXPECT_EQ(results[1].closure, core::closure_id{12});
}

TEST(worker_convert, takes_bytes) {
  auto m = two_answers();
  m.add_encoding(v1::JSON);
  m.add_encoding(v1::BYTES);
  m.mutable_value(1)->clear();  // no bytes are a value too
  std::vector<core::worker_result> results;
  ASSERT_EQ(from_wire(m, results), "");
  EXPECT_EQ(results[1].value.encoding(), core::encoding::bytes);
  EXPECT_TRUE(results[1].ok);
}

TEST(worker_convert, cuts_long_failure_texts_between_characters) {
  auto m = two_answers();
  m.mutable_value(0)->clear();
  auto& f = *m.add_failure();
  for (int i = 0; i < 20'000; ++i) f.mutable_message()->append("ä");
  std::vector<core::worker_result> results;
  ASSERT_EQ(from_wire(m, results), "");
  auto const& text = results[0].failure.message;
  EXPECT_LE(text.size(), failure_message_bytes_max + 3);
  EXPECT_EQ(text.substr(text.size() - 5), "ä…");
}

struct bad_message {
  char const* name;
  std::function<void(v1::WorkerMessage&)> spoil;
  char const* begins;
};

void PrintTo(bad_message const& b, std::ostream* out) {
  *out << b.name;
}

v1::Failure failure_at(std::uint32_t position, int kind = v1::USER) {
  v1::Failure f;
  f.set_position(position);
  f.set_kind(static_cast<v1::FailureKind>(kind));
  return f;
}

bad_message const bad_messages[] = {
    {"attempt", [](auto& m) { m.add_attempt(1); }, "attempt: 3 entries for 2 closures"},
    {"value", [](auto& m) { m.mutable_value()->RemoveLast(); }, "value: 1 entries for 2 closures"},
    {"encoding", [](auto& m) { m.add_encoding(v1::JSON); }, "encoding: 1 entries for 2 closures"},
    {"encoding_number",
     [](auto& m) { m.add_encoding(v1::JSON), m.add_encoding(static_cast<v1::Encoding>(9)); },
     "encoding[1]: unknown number 9"},
    {"position", [](auto& m) { *m.add_failure() = failure_at(2); }, "failure[0].position: 2"},
    {"both", [](auto& m) { *m.add_failure() = failure_at(0); },
     "failure[0].position: 0 has a value too"},
    {"twice",
     [](auto& m) {
       m.mutable_value(0)->clear();
       *m.add_failure() = failure_at(0);
       *m.add_failure() = failure_at(0);
     },
     "failure[1].position: 0 failed already"},
    {"kind",
     [](auto& m) {
       m.mutable_value(0)->clear();
       *m.add_failure() = failure_at(0, 77);
     },
     "failure[0].kind: unknown kind 77"},
    {"servers_kind",
     [](auto& m) {
       m.mutable_value(0)->clear();
       *m.add_failure() = failure_at(0, v1::WORKER_LOST);
     },
     "failure[0].kind: kind WORKER_LOST"},
    {"neither", [](auto& m) { m.mutable_value(1)->clear(); }, "value[1]: empty is not JSON"},
};

class bad_message_test : public testing::TestWithParam<bad_message> {};

TEST_P(bad_message_test, names_the_field) {
  auto m = two_answers();
  GetParam().spoil(m);
  std::vector<core::worker_result> results;
  auto const wrong = from_wire(m, results);
  EXPECT_EQ(wrong.rfind(GetParam().begins, 0), 0u) << wrong;
}

INSTANTIATE_TEST_SUITE_P(all, bad_message_test, testing::ValuesIn(bad_messages),
                         [](auto const& i) { return std::string(i.param.name); });

TEST(worker_convert, writes_the_encoding_column_from_the_first_bytes_on) {
  proto::outbox<v1::ServerMessage> out;
  for (auto e : {core::encoding::json, core::encoding::bytes, core::encoding::json}) {
    core::assignment a{core::closure_id{5}, 2, core::function_id{1}, core::blob("x", e)};
    to_wire(a, 3, out);
  }
  auto const m = out.take_front();
  EXPECT_EQ(m->message.closure_size(), 3);
  EXPECT_EQ(m->message.function(0), 3u);
  EXPECT_EQ(m->message.attempt(2), 2u);
  ASSERT_EQ(m->message.encoding_size(), 3);
  EXPECT_EQ(m->message.encoding(0), v1::JSON);
  EXPECT_EQ(m->message.encoding(1), v1::BYTES);
  EXPECT_EQ(m->message.encoding(2), v1::JSON);
}

}  // namespace
}  // namespace muster::server
