#include "server/rpc/workers/worker_convert.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "server/core/api/placeholders.hpp"
#include "server/rpc/failure_convert.hpp"
#include "server/rpc/workers/machine_convert.hpp"

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

TEST(worker_convert, values_and_failures_are_converted) {
  auto m = two_answers();
  m.mutable_value(1)->clear();
  auto& f = *m.add_failure();
  f.set_position(1);
  f.set_kind(v1::USER);
  f.set_type("ValueError");
  f.set_message("no");
  core::worker_results taken;
  ASSERT_EQ(from_wire(m, taken), "");
  auto const& results = taken.results;
  ASSERT_EQ(results.size(), 2u);
  EXPECT_TRUE(results[0].ok);
  EXPECT_EQ(results[0].value, core::blob("\"v\""));
  EXPECT_FALSE(results[1].ok);
  EXPECT_EQ(results[1].failure->type, "ValueError");
  EXPECT_EQ(results[1].closure, core::closure_id{12});
}

TEST(worker_convert, bytes_are_converted) {
  auto m = two_answers();
  m.add_encoding(v1::JSON);
  m.add_encoding(v1::BYTES);
  m.mutable_value(1)->clear();  // empty bytes are also a value
  core::worker_results taken;
  ASSERT_EQ(from_wire(m, taken), "");
  auto const& results = taken.results;
  EXPECT_EQ(results[1].value.encoding(), core::encoding::bytes);
  EXPECT_TRUE(results[1].ok);
}

TEST(worker_convert, execution_times_starts_and_returned_closures_are_converted) {
  auto m = two_answers();
  m.add_execution_us(1'500);
  m.add_execution_us(~std::uint64_t{0});
  m.add_started_closure(13);
  m.add_started_attempt(2);
  m.add_started_for_us(20'000);
  m.add_returned_closure(14);
  m.add_returned_attempt(3);
  core::worker_results taken;
  ASSERT_EQ(from_wire(m, taken), "");
  EXPECT_EQ(taken.results[0].execution, std::chrono::microseconds(1'500));
  EXPECT_EQ(taken.results[1].execution, std::chrono::hours(24 * 366)) << "longer durations are cut";
  ASSERT_EQ(taken.started.size(), 1u);
  EXPECT_EQ(taken.started[0].closure, core::closure_id{13});
  EXPECT_EQ(taken.started[0].ran, std::chrono::milliseconds(20));
  ASSERT_EQ(taken.returned.size(), 1u);
  EXPECT_EQ(taken.returned[0].attempt, 3u);
}

TEST(worker_convert, waits_are_converted_in_order) {
  v1::WorkerMessage m;
  for (bool const begins : {true, false}) {
    m.add_wait_closure(13);
    m.add_wait_attempt(2);
    m.add_waits(begins);
  }
  core::worker_results taken;
  ASSERT_EQ(from_wire(m, taken), "");
  ASSERT_EQ(taken.waits.size(), 2u);
  EXPECT_EQ(taken.waits[0].closure, core::closure_id{13});
  EXPECT_EQ(taken.waits[0].attempt, 2u);
  EXPECT_TRUE(taken.waits[0].begins);
  EXPECT_FALSE(taken.waits[1].begins);
  m.add_wait_closure(14);
  EXPECT_EQ(from_wire(m, taken), "wait_attempt: 2 entries for 3 closures");
  m.add_wait_attempt(1);
  EXPECT_EQ(from_wire(m, taken), "waits: 2 entries for 3 closures");
}

TEST(worker_convert, execution_times_are_optional) {
  core::worker_results taken;
  ASSERT_EQ(from_wire(two_answers(), taken), "");
  EXPECT_LT(taken.results[0].execution, core::duration{});
}

TEST(worker_convert, cuts_long_failure_texts_between_characters) {
  auto m = two_answers();
  m.mutable_value(0)->clear();
  auto& f = *m.add_failure();
  for (int i = 0; i < 20'000; ++i) f.mutable_message()->append("ä");
  core::worker_results taken;
  ASSERT_EQ(from_wire(m, taken), "");
  auto const& results = taken.results;
  auto const& text = results[0].failure->message;
  EXPECT_LE(text.size(), failure_message_bytes_max + 3);
  EXPECT_EQ(text.substr(text.size() - 5), "ä…");
}

TEST(worker_convert, omits_a_too_long_exception) {
  for (auto const over : {0u, 1u}) {
    auto m = two_answers();
    m.mutable_value(0)->clear();
    auto& f = *m.add_failure();
    f.set_message("text");
    f.set_exception(std::string(failure_exception_bytes_max + over, 'x'));
    core::worker_results taken;
    ASSERT_EQ(from_wire(m, taken), "");
    auto const& kept = *taken.results[0].failure;
    EXPECT_EQ(kept.exception.size(), over ? 0 : failure_exception_bytes_max);
    EXPECT_EQ(kept.message, "text");
  }
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
    {"execution", [](auto& m) { m.add_execution_us(1); }, "execution_us: 1 entries for 2 closures"},
    {"started", [](auto& m) { m.add_started_closure(1); }, "started_attempt: 0 entries for 1"},
    {"started_for", [](auto& m) { m.add_started_closure(1), m.add_started_attempt(1); },
     "started_for_us: 0 entries for 1"},
    {"returned", [](auto& m) { m.add_returned_attempt(1); }, "returned_attempt: 1 entries for 0"},
    {"encoding", [](auto& m) { m.add_encoding(v1::JSON); }, "encoding: 1 entries for 2 closures"},
    {"encoding_number",
     [](auto& m) { m.add_encoding(v1::JSON), m.add_encoding(static_cast<v1::Encoding>(9)); },
     "encoding[1]: unknown number 9"},
    {"position", [](auto& m) { *m.add_failure() = failure_at(2); }, "failure[0].position: 2"},
    {"both", [](auto& m) { *m.add_failure() = failure_at(0); },
     "failure[0].position: 0 also has a value"},
    {"twice",
     [](auto& m) {
       m.mutable_value(0)->clear();
       *m.add_failure() = failure_at(0);
       *m.add_failure() = failure_at(0);
     },
     "failure[1].position: 0 has already failed"},
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
    {"neither", [](auto& m) { m.mutable_value(1)->clear(); },
     "value[1]: an empty value is not JSON"},
};

class bad_message_test : public testing::TestWithParam<bad_message> {};

TEST_P(bad_message_test, names_the_field) {
  auto m = two_answers();
  GetParam().spoil(m);
  core::worker_results taken;
  auto const wrong = from_wire(m, taken);
  EXPECT_EQ(wrong.rfind(GetParam().begins, 0), 0u) << wrong;
}

INSTANTIATE_TEST_SUITE_P(all, bad_message_test, testing::ValuesIn(bad_messages),
                         [](auto const& i) { return std::string(i.param.name); });

TEST(worker_convert, encoding_column_starts_at_the_first_bytes) {
  proto::outbox<v1::ServerMessage> out;
  for (auto e : {core::encoding::json, core::encoding::bytes, core::encoding::json}) {
    core::assignment a{core::closure_id{5}, 2, core::function_id{1}, core::blob("x", e)};
    to_wire(a, 3, true, out);
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

TEST(worker_convert, number_of_workers_is_written_only_if_declared) {
  core::assignment plain, declared;
  plain.args = declared.args = core::blob("[]");
  declared.num_workers = 4;
  proto::outbox<v1::ServerMessage> out;
  to_wire(plain, 0, true, out);
  EXPECT_EQ(out.tail().num_workers_size(), 0);
  to_wire(declared, 0, true, out);
  to_wire(plain, 0, true, out);
  auto const& column = out.tail().num_workers();
  EXPECT_EQ(std::vector(column.begin(), column.end()), (std::vector<std::uint32_t>{0, 4, 0}));
}

core::assignment in_bytes() {
  core::assignment a;
  a.closure = core::closure_id{7};
  a.attempt = 1;
  a.args = core::blob("call", core::encoding::bytes);
  a.inputs = std::make_shared<std::vector<core::blob> const>(
      std::vector{core::blob("[1]"), core::blob("\xfe", core::encoding::bytes),
                  core::blob("raw", core::encoding::bytes)});
  auto extras = std::make_shared<core::closure_extras>();
  extras->inputs.resize(3);
  extras->inputs[0].offset = extras->inputs[1].offset = core::beside_pickled;
  extras->per_worker = {core::per_worker_id{6}, core::per_worker_id{5}};
  a.extras = std::move(extras);
  return a;
}

TEST(worker_convert, inputs_are_sent_next_to_bytes_with_their_forms) {
  core::assignment plain;
  plain.args = core::blob("[]");
  proto::outbox<v1::ServerMessage> out;
  to_wire(plain, 0, true, out);
  to_wire(in_bytes(), 3, true, out);
  auto const& m = out.tail();
  EXPECT_EQ(m.args(1), "call");
  EXPECT_EQ(m.encoding(1), v1::BYTES);
  ASSERT_EQ(m.inputs_size(), 1);
  auto const& beside = m.inputs(0);
  EXPECT_EQ(beside.position(), 1u);
  EXPECT_EQ(std::vector(beside.value().begin(), beside.value().end()),
            (std::vector<std::string>{"[1]", "\xfe", "raw"}));
  EXPECT_EQ(std::vector(beside.form().begin(), beside.form().end()),
            (std::vector<int>{v1::INPUT_JSON, v1::INPUT_PICKLE, v1::INPUT_BYTES}));
  ASSERT_EQ(m.per_worker_size(), 1);
  EXPECT_EQ(std::vector(m.per_worker(0).uses().begin(), m.per_worker(0).uses().end()),
            (std::vector<std::uint64_t>{6, 5}));
}

TEST(worker_convert, older_worker_gets_a_single_json_argument) {
  proto::outbox<v1::ServerMessage> out;
  to_wire(in_bytes(), 3, false, out);
  auto const& m = out.tail();
  EXPECT_EQ(m.inputs_size(), 0);
  EXPECT_EQ(m.encoding_size(), 0);
  EXPECT_EQ(m.args(0), R"(["Y2FsbA==",[1],{"$pickle":"/g=="},{"$pickle":"gANCAwAAAHJhdy4="},)"
                       R"({"$per_worker":"pw_0000000000000006"},)"
                       R"({"$per_worker":"pw_0000000000000005"}])");
  core::assignment plain;
  plain.args = core::blob("call", core::encoding::bytes);
  to_wire(plain, 3, false, out);
  EXPECT_EQ(out.tail().args(1), "call");
}

TEST(worker_convert, machines_are_converted) {
  v1::Machine m;
  m.set_cpu(1.5);
  m.set_cpus(-1);
  m.set_sent(std::numeric_limits<double>::quiet_NaN());
  m.set_memory_bytes(7);
  m.set_memory_total_bytes(~std::uint64_t{0});
  m.add_gpu()->set_busy(1.5);
  m.mutable_gpu(0)->set_name("H100");
  auto const seen = from_wire(m);
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->cpu, 1.5);
  EXPECT_EQ(seen->memory, 7u);
  EXPECT_FALSE(seen->cpus || seen->sent || seen->received || seen->memory_total) << "are none";
  EXPECT_EQ(seen->gpus.at(0).name, "H100");
  EXPECT_FALSE(seen->gpus[0].busy);
  for (std::size_t i = 0; i < machine::gpus_max; ++i) m.add_gpu();
  EXPECT_EQ(from_wire(m).error().message, "machine.gpu: 17 entries, the limit is 16");
  m.clear_gpu();
  for (std::size_t i = 0; i <= machine::memory_users_max; ++i) m.add_memory_user();
  EXPECT_EQ(from_wire(m).error().message, "machine.memory_user: 4 entries, the limit is 3");
}

}  // namespace
}  // namespace muster::server
