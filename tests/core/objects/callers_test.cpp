#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

object_spec detached() {
  auto of = table_bench::spec("kept");
  of.detached = true;
  return of;
}

std::vector<std::uint64_t> ordered(output const& said) {
  std::vector<std::uint64_t> found;
  for (auto const& o : said.calls) found.push_back(o.name.number);
  return found;
}

TEST(callers, calls_to_a_surviving_object_are_executed_after_their_session_ended) {
  table_bench b;
  auto const s = b.open(1);
  auto const id = b.make(s, 1, detached());
  b.call(s, 2, id);
  b.call(s, 3, id);
  b.table.session_ended(s);
  auto const at = b.attach(0, 7, 70);
  b.table.built(b.now, at, id, std::nullopt);
  EXPECT_EQ(ordered(b.pending_output()), (std::vector<std::uint64_t>{2, 3}));
  b.table.task_disconnected(b.now, at, false, "connection lost");
  auto const next = b.attach(0, 7, 71);
  EXPECT_EQ(ordered(b.pending_output()), (std::vector<std::uint64_t>{2, 3}))
      << "like calls of a connected session";
  for (auto const n : {2u, 3u}) b.answer(next, id, b.name(s, n));
  b.pending_output();
  EXPECT_EQ(b.table.find(b.name(s, 2)), nullptr) << "nothing waits for its answer";
  EXPECT_EQ(b.table.find(id)->answered, 2u);
}

TEST(callers, calls_of_departed_callers_are_limited) {
  auto l = table_bench::limits();
  l.left_max = 3;
  table_bench b(l);
  auto const first = b.open(1), second = b.open(2);
  auto const id = b.make(first, 1, detached());
  for (std::uint64_t n = 2; n < 4; ++n) b.call(first, n, id);
  for (std::uint64_t n = 1; n < 3; ++n) b.call(second, n, id);
  b.table.session_ended(first);
  b.table.session_ended(second);
  auto const at = b.attach(0, 7, 70);
  b.table.built(b.now, at, id, std::nullopt);
  EXPECT_EQ(ordered(b.pending_output()), (std::vector<std::uint64_t>{2, 3}));
  b.answer(at, id, b.name(first, 2));
  auto const third = b.open(3);
  for (std::uint64_t n = 1; n < 3; ++n) b.call(third, n, id);
  b.table.session_ended(third);
  b.pending_output();
  EXPECT_TRUE(b.table.find(b.name(third, 2))) << "there is room again";
}

TEST(callers, names_of_forgotten_calls_are_removed) {
  auto l = table_bench::limits();
  l.left_max = 1;
  table_bench b(l);
  auto const id = b.make(b.open(1), 1, detached());
  auto const waiting = [&] { return b.table.find(id)->queue.size(); };
  for (std::uint64_t n = 2; n < 20; ++n) {
    auto const s = b.open(n);
    for (std::uint64_t k = 1; k < 4; ++k) b.call(s, k, id);
    b.table.session_ended(s);
    EXPECT_EQ(waiting(), 0u) << "of session " << n;
  }
  auto const s = b.open(20);
  b.call(s, 1, id);
  auto const worker = b.attach(1, 8, 80);
  auto const who = caller_of(core::incarnation{8});
  for (std::uint64_t k = 1; k < 8; ++k)
    b.table.call(who, s, {k, id, "add", blob("1", encoding::bytes)});
  EXPECT_EQ(waiting(), 8u);
  b.table.task_disconnected(b.now, worker, true, "left");
  EXPECT_EQ(waiting(), 1u);
  b.pending_output();
}

TEST(callers, rejected_call_contains_a_reason) {
  auto l = table_bench::limits();
  l.calls_max = 2;
  l.waiting_bytes_max = 20;
  table_bench b(l);
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  auto const why = [&](std::size_t i, output const& said) {
    return said.answers.size() > i ? said.answers[i].why.reason : failure_reason::unspecified;
  };
  b.call(s, 2, id);
  b.call(s, 3, id);
  b.call(s, 4, id);
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::no_room_for_call);
  b.table.answered(at, id, {b.name(s, 2), true, blob(std::string(100, 'x')), {}});
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::no_room_for_value);
  b.table.taken(caller_of(s), 2);
  b.call(s, 5, object_id{1});
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::server_restarted);
  b.table.taken(caller_of(s), 5);
  b.call(s, 6, object_id{2'000'000});
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::object_gone);
  b.call(s, 2, id);
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::call_forgotten);
  b.table.call(caller_of(core::incarnation{9}), session_id{}, {1, id, "add", {}});
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::ticket_refused);
  b.answer(at, id, b.name(s, 3));
  EXPECT_EQ(why(0, b.pending_output()), failure_reason::unspecified)
      << "an error of a method has no such reason";
}

// The answer must not depend on whether the worker or the session returns first after a restart.
TEST(callers, call_to_an_object_of_an_earlier_server_reports_the_restart_first) {
  table_bench b;
  object_id const old{1};
  auto const worker = caller_of(core::incarnation{9});
  auto const why = [&] {
    auto const said = b.pending_output();
    return said.answers.empty() ? failure_reason::unspecified : said.answers[0].why.reason;
  };
  b.table.call(worker, b.table.holder_of("ticket of a session that is not back"),
               {5, old, "add", {}});
  EXPECT_EQ(why(), failure_reason::server_restarted);
  b.table.call(worker, session_id{}, {6, old, "draw", {}});
  EXPECT_EQ(why(), failure_reason::server_restarted) << "a dataset";
  b.table.draw(worker, session_id{}, {7, old, "draw", {}}, {}, session_id{}, "worker:0");
  EXPECT_EQ(why(), failure_reason::server_restarted);
  b.table.call(caller_of(session_id{77}), session_id{77}, {1, old, "read", {}});
  EXPECT_EQ(why(), failure_reason::server_restarted) << "a session without a ticket yet";
  auto const s = b.open(1);
  b.call(s, 1, old);
  EXPECT_EQ(why(), failure_reason::server_restarted);
  b.table.call(worker, session_id{}, {8, object_id{2'000'000}, "add", {}});
  EXPECT_EQ(why(), failure_reason::ticket_refused) << "an object of this process";
}

}  // namespace
}  // namespace muster::core::objects
