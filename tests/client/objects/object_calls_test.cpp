#include "client/objects/object_calls.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <thread>

namespace muster::detail {
namespace {

struct object_calls_of_a_session : testing::Test {
  std::atomic<int> wakes = 0;
  std::shared_ptr<object_calls> calls = std::make_shared<object_calls>("a ticket of a session");
  object_place const place{7, "ps:0", "Counter", "a ticket of a session"};

  object_calls_of_a_session() {
    calls->begin([this] { ++wakes; });
  }
  std::shared_ptr<value_handle const> add(std::string args = "[1]") {
    return calls->call(place, "add", {std::move(args)});
  }
  v1::ObjectRequests filled() {
    v1::ObjectRequests m;
    calls->fill(m);
    return m;
  }
  void answer(std::uint64_t number, std::string value = "1") {
    v1::ObjectAnswers m;
    m.add_number(number);
    m.add_value(std::move(value));
    calls->take(m);
  }
};

TEST_F(object_calls_of_a_session, wake_once_and_send_the_ticket_once_per_stream) {
  auto const a = add(), b = add();
  EXPECT_EQ(wakes, 1);
  auto m = filled();
  EXPECT_EQ(m.ticket(), place.ticket);
  EXPECT_EQ(m.number_size(), 2);
  EXPECT_FALSE(calls->fill(m));
  auto const c = add();
  EXPECT_EQ(wakes, 2);
  EXPECT_EQ(filled().ticket(), "");
}

TEST_F(object_calls_of_a_session, unanswered_calls_are_resent_in_order) {
  auto const a = add(), b = add(), c = add();
  filled();
  answer(2);
  calls->again();
  auto const m = filled();
  EXPECT_EQ(m.ticket(), place.ticket);
  ASSERT_EQ(m.number_size(), 2);
  EXPECT_EQ(m.number(0), 1u);
  EXPECT_EQ(m.number(1), 3u);
  EXPECT_EQ(b->get(std::chrono::milliseconds(0)).bytes, "1");
  EXPECT_EQ(a->status(), value_status::not_ready);
}

TEST_F(object_calls_of_a_session, calls_and_deletions_keep_their_order) {
  auto const a = add();
  calls->erase(place);
  auto const b = add();
  auto first = filled();
  EXPECT_EQ(first.number_size(), 1);
  EXPECT_EQ(first.drop_size(), 1);
  EXPECT_EQ(filled().number_size(), 1) << "in a separate message: deletions are last in a message";
  calls->again();
  EXPECT_EQ(filled().drop_size(), 1) << "the server may not have received the deletion";
  answer(3);
  calls->again();
  EXPECT_EQ(filled().drop_size(), 0) << "everything sent before an answered call has arrived";
}

TEST_F(object_calls_of_a_session, received_answers_are_acknowledged) {
  std::vector<std::shared_ptr<value_handle const>> all;
  for (std::size_t i = 0; i < object_calls::taken_max; ++i) all.push_back(add());
  while (calls->has_more()) filled();
  auto const before = wakes.load();
  for (std::uint64_t i = 1; i < object_calls::taken_max; ++i) answer(i);
  EXPECT_EQ(wakes, before);
  answer(object_calls::taken_max);
  EXPECT_EQ(wakes, before + 1);
  EXPECT_EQ(filled().taken_size(), static_cast<int>(object_calls::taken_max));
}

TEST_F(object_calls_of_a_session, acknowledgements_are_repeated_on_a_new_stream) {
  auto const a = add(), b = add(), c = add();
  filled();
  answer(1);
  answer(2);
  auto m = filled();
  ASSERT_EQ(m.taken_size(), 2);
  answer(3);
  calls->again();
  m = filled();
  ASSERT_EQ(m.taken_size(), 3) << "acknowledgements that were sent may be lost";
  EXPECT_EQ(m.taken(0), 1u);
  EXPECT_EQ(m.taken(2), 3u);
  auto const d = add();
  filled();
  answer(4);
  calls->again();
  m = filled();
  ASSERT_EQ(m.taken_size(), 1) << "acknowledgements sent before an answered call have arrived";
  EXPECT_EQ(m.taken(0), 4u);
}

TEST_F(object_calls_of_a_session, number_of_kept_acknowledgements_is_limited) {
  std::vector<std::shared_ptr<value_handle const>> all;
  for (int round = 0; round < 4; ++round) {
    all.clear();
    for (std::size_t i = 0; i < object_calls::calls_max; ++i) all.push_back(add());
    while (calls->has_more()) filled();
    auto const first = object_calls::calls_max * static_cast<std::size_t>(round) + 1;
    for (std::size_t i = 0; i < object_calls::calls_max; ++i) {
      answer(first + i);
      filled();
    }
  }
  calls->again();
  EXPECT_LE(static_cast<std::size_t>(filled().taken_size()), 2 * object_calls::calls_max);
}

// A waiting method, which runs as call 5 of another object.
TEST_F(object_calls_of_a_session, waits_of_methods_are_reported_on_each_stream) {
  call_name const within{9, false, 5};
  auto const a = add(), b = add();
  filled();
  {
    object_caller_scope const here(calls, &within);
    EXPECT_THROW(a->get(std::chrono::milliseconds(0)), wait_timeout);
    EXPECT_THROW(a->get(std::chrono::milliseconds(0)), wait_timeout);
  }
  auto m = filled();
  ASSERT_EQ(m.wait_size(), 1) << "once per stream";
  EXPECT_EQ(m.wait(0).number(), 1u);
  EXPECT_EQ(m.wait(0).within_caller(), 9u);
  EXPECT_EQ(m.wait(0).within_number(), 5u);
  calls->again();
  m = filled();
  EXPECT_EQ(m.number_size(), 2);
  ASSERT_EQ(m.wait_size(), 1);
  EXPECT_EQ(m.wait(0).number(), 1u);
  answer(1);
  calls->again();
  EXPECT_EQ(filled().wait_size(), 0) << "no method waits for an answered call";
}

TEST_F(object_calls_of_a_session, wait_for_a_queued_call_is_reported_once_the_call_is_sent) {
  call_name const within{9, false, 5};
  auto const all = calls->call_sequentially(
      place, "read_rows", std::vector<std::string>(object_calls::calls_in_flight_max + 1));
  filled();
  {
    object_caller_scope const here(calls, &within);
    EXPECT_THROW(all.back()->get(std::chrono::milliseconds(0)), wait_timeout);
  }
  EXPECT_EQ(filled().wait_size(), 0) << "the server has not received the call";
  answer(1);
  auto const m = filled();
  ASSERT_EQ(m.wait_size(), 1);
  EXPECT_EQ(m.wait(0).number(), object_calls::calls_in_flight_max + 1);
}

TEST_F(object_calls_of_a_session, waits_in_coroutines_are_reported) {
  call_name const within{9, false, 5};
  auto const a = add();
  filled();
  boost::asio::io_context io;
  boost::asio::co_spawn(io, a->async_wait(for_ever), [](std::exception_ptr e) { EXPECT_FALSE(e); });
  object_caller_scope const here(calls, &within);
  io.poll();
  auto const m = filled();
  ASSERT_EQ(m.wait_size(), 1);
  EXPECT_EQ(m.wait(0).number(), 1u);
  answer(1);
  io.run();
}

TEST_F(object_calls_of_a_session, number_of_reported_waiters_per_call_is_limited) {
  auto const a = add();
  for (std::uint64_t n = 1; n <= object_calls::waits_max + 1; ++n) {
    call_name const within{9, false, n};
    object_caller_scope const here(calls, &within);
    EXPECT_THROW(a->get(std::chrono::milliseconds(0)), wait_timeout);
  }
  calls->again();
  auto const m = filled();
  ASSERT_EQ(static_cast<std::size_t>(m.wait_size()), object_calls::waits_max);
  EXPECT_EQ(m.wait(0).within_number(), 2u) << "the newest";
}

TEST_F(object_calls_of_a_session, method_name_with_invalid_utf8_is_refused) {
  EXPECT_THROW(calls->call(place, "add\xff", {"[]"}), std::invalid_argument);
  EXPECT_FALSE(calls->has_more());
}

TEST_F(object_calls_of_a_session, caller_waits_while_too_many_calls_are_unanswered) {
  std::vector<std::shared_ptr<value_handle const>> all;
  for (std::size_t i = 0; i < object_calls::calls_max; ++i) all.push_back(add());
  std::atomic<bool> room = false;
  std::thread waits([&] {
    auto const one = add();
    EXPECT_TRUE(room);
  });
  room = true;
  answer(1);
  waits.join();
}

TEST_F(object_calls_of_a_session, caller_waits_while_too_many_bytes_are_unanswered) {
  auto const a = add(std::string(object_calls::bytes_max - 2, ' ')), b = add("[]");
  std::atomic<bool> room = false;
  std::thread waits([&] {
    auto const one = add("[]");
    EXPECT_TRUE(room);
  });
  room = true;
  answer(2);
  waits.join();
}

TEST_F(object_calls_of_a_session, many_calls_are_sent_a_few_at_a_time) {
  constexpr auto at_once = object_calls::calls_in_flight_max;
  auto const all =
      calls->call_sequentially(place, "read_rows", std::vector<std::string>(10, "part"));
  ASSERT_EQ(all.size(), 10u);
  EXPECT_EQ(static_cast<std::size_t>(filled().number_size()), at_once);
  EXPECT_EQ(all.back()->status(), value_status::not_ready);
  answer(1);
  answer(2);
  auto const m = filled();
  ASSERT_EQ(m.number_size(), 2);
  EXPECT_EQ(m.encoding(1), v1::BYTES);
  for (std::uint64_t n = 3; n <= 9; ++n) answer(n);
  EXPECT_EQ(filled().number_size(), 0);
  calls->end("the server is gone");
  EXPECT_EQ(all[0]->get(for_ever).bytes, "1");
  EXPECT_THROW(all[9]->get(for_ever), unavailable_error);
}

TEST_F(object_calls_of_a_session, end_fails_calls_waiting_for_their_turn) {
  auto const all =
      calls->call_sequentially(place, "read_rows", std::vector<std::string>(100, "part"));
  calls->end("the server is gone");
  EXPECT_THROW(all[99]->get(for_ever), unavailable_error);
  EXPECT_THROW(calls->call_sequentially(place, "read_rows", {"part"}), unavailable_error);
}

// The caller does not wait for an update, so it would not see the failure.
TEST_F(object_calls_of_a_session, update_refused_for_lack_of_room_is_sent_again) {
  std::vector<std::chrono::milliseconds> pauses;
  calls->begin([] {}, [&](auto after) { pauses.push_back(after); });
  auto const refuse = [this](std::uint64_t number, v1::FailureReason why) {
    v1::ObjectAnswers m;
    m.add_number(number);
    m.add_value();
    auto& f = *m.add_failure();
    f.set_reason(why);
    calls->take(m);
  };
  auto const update = calls->call(place, "assign_add", {"arrays", encoding::bytes});
  auto const assign = calls->call(place, "assign", {"arrays", encoding::bytes});
  auto const other = add();
  filled();
  for (std::uint64_t n = 1; n <= 3; ++n) refuse(n, v1::NO_ROOM_FOR_CALL);
  EXPECT_EQ(update->status(), value_status::not_ready);
  EXPECT_THROW(assign->get(for_ever), closure_error) << "the call would overtake a newer call";
  EXPECT_THROW(other->get(for_ever), closure_error);
  EXPECT_EQ(pauses, std::vector{object_calls::repeat_min});
  EXPECT_EQ(filled().number_size(), 0);
  calls->repeat();
  auto m = filled();
  ASSERT_EQ(m.number_size(), 1);
  EXPECT_EQ(m.number(0), 4u) << "with another number";
  EXPECT_EQ(m.args(0), "arrays");
  refuse(4, v1::NO_ROOM_FOR_CALL);
  EXPECT_EQ(pauses.back(), 2 * object_calls::repeat_min);
  calls->repeat();
  filled();
  answer(5, "null");
  EXPECT_EQ(update->get(for_ever).bytes, "null");
  auto const read = calls->call(place, "read", {"", encoding::bytes});
  refuse(6, v1::NO_ROOM_FOR_VALUE);
  EXPECT_EQ(read->status(), value_status::not_ready);
  calls->end("the server is gone");
  EXPECT_THROW(read->get(for_ever), unavailable_error);
}

TEST_F(object_calls_of_a_session, oldest_deletions_are_dropped_beyond_the_limit) {
  for (std::size_t i = 0; i <= object_calls::drops_max; ++i) calls->erase(place);
  calls->again();
  std::size_t drops = 0;
  while (calls->has_more()) drops += static_cast<std::size_t>(filled().drop_size());
  EXPECT_EQ(drops, object_calls::drops_max);
}

TEST_F(object_calls_of_a_session, end_fails_waiting_calls) {
  auto const a = add();
  calls->end("the server is gone");
  EXPECT_THROW(a->get(for_ever), unavailable_error);
  EXPECT_EQ(a->status(), value_status::aborted);
  EXPECT_THROW(add(), unavailable_error);
  EXPECT_THROW(calls->find("steps"), unavailable_error);
}

TEST(object_calls_of_a_worker, calls_with_different_tickets_use_separate_messages) {
  auto const calls = std::make_shared<object_calls>(std::string());
  calls->begin([] {});
  object_place const one{1, "ps:0", "C", "ticket of one"}, two{2, "ps:0", "C", "ticket of two"};
  auto const a = calls->call(one, "f", {"[]"}), b = calls->call(one, "f", {"[]"}),
             c = calls->call(two, "f", {"[]"});
  v1::ObjectRequests first, second;
  EXPECT_TRUE(calls->fill(first));
  EXPECT_EQ(first.ticket(), "ticket of one");
  EXPECT_EQ(first.number_size(), 2);
  EXPECT_TRUE(calls->has_more());
  EXPECT_TRUE(calls->fill(second));
  EXPECT_EQ(second.ticket(), "ticket of two");
  EXPECT_EQ(second.number(0), 3u) << "without a gap";
  calls->end("over");
}

}  // namespace
}  // namespace muster::detail
