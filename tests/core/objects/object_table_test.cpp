#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

std::vector<std::uint64_t> numbers(std::vector<call_order> const& orders) {
  std::vector<std::uint64_t> found;
  for (auto const& o : orders) found.push_back(o.name.number);
  return found;
}

TEST(object_table, object_and_its_calls_wait_for_its_task) {
  table_bench b;
  auto const s = b.open(1);
  auto const id = b.make(s, 1, b.spec("weights"));
  b.call(s, 2, id);
  b.call(s, 3, id);
  EXPECT_TRUE(b.pending_output().calls.empty());
  EXPECT_EQ(b.table.find(id)->state, object_state::pending);
  auto const at = b.attach(0, 7, 70);
  auto const said = b.pending_output();
  ASSERT_EQ(said.begins.size(), 1u);
  EXPECT_TRUE(said.begins[0].kept.empty());
  EXPECT_EQ(said.builds, (std::vector<build_order>{{at, id}}));
  EXPECT_EQ(numbers(said.calls), (std::vector<std::uint64_t>{2, 3}));
  b.table.built(b.now, at, id, std::nullopt);
  EXPECT_EQ(b.table.find(id)->state, object_state::ready);
}

TEST(object_table, repeated_call_is_not_sent_again) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  b.call(s, 2, id);
  EXPECT_EQ(numbers(b.pending_output().calls), std::vector<std::uint64_t>{2});
  b.call(s, 2, id);
  EXPECT_TRUE(b.pending_output().calls.empty());
  b.answer(at, id, b.name(s, 2));
  EXPECT_EQ(b.pending_output().answers.size(), 1u);
  b.call(s, 2, id);
  EXPECT_TRUE(b.pending_output().answers.empty()) << "it is in flight on this stream";
  b.open(1);
  b.call(s, 2, id);  // its answer was lost with the stream
  auto const again = b.pending_output();
  EXPECT_TRUE(again.calls.empty());
  ASSERT_EQ(again.answers.size(), 1u);
  EXPECT_EQ(again.answers[0].value.view(), "2");
  b.table.taken(caller_of(s), 2);
  b.call(s, 2, id);
  auto const past = b.pending_output();
  EXPECT_TRUE(past.calls.empty());
  EXPECT_EQ(past.answers.at(0).why.kind, failure_kind::dependency_lost) << "no call waits forever";
}

TEST(object_table, the_same_number_makes_the_same_object) {
  table_bench b;
  auto const s = b.open(1);
  auto const id = b.make(s, 1, b.spec("weights"));
  EXPECT_EQ(b.make(s, 1, b.spec("weights")), id);
  auto const other = b.table.create(b.now, s, 2, b.spec("weights"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, code::already_exists);
}

TEST(object_table, name_is_free_after_its_client_is_away_for_three_seconds) {
  table_bench b;
  auto const at = b.attach(0, 7, 70);
  auto const dead = b.open(1);
  auto const next = b.open(2);
  auto const old = b.ready(dead, at, 1, b.spec("weights"));
  b.call(dead, 2, old);
  b.pending_output();
  EXPECT_FALSE(b.table.must_wait_for_name(b.now, next, "weights")) << "its client is connected";
  b.table.session_disconnected(b.now, dead);
  EXPECT_TRUE(b.table.must_wait_for_name(b.now, next, "weights"));
  EXPECT_FALSE(b.table.must_wait_for_name(b.now, next, "others"));
  EXPECT_EQ(b.table.create(b.now, next, 1, b.spec("weights")).error().code, code::already_exists);
  b.now += 2'999ms;
  b.table.session_disconnected(b.now, dead);
  EXPECT_TRUE(b.table.must_wait_for_name(b.now, next, "weights"));
  b.now += 1ms;
  EXPECT_FALSE(b.table.must_wait_for_name(b.now, next, "weights"));
  EXPECT_EQ(b.table.named("weights"), old)
      << "it stays with its owner until another client wants it";
  auto const made = b.make(next, 2, b.spec("weights"));
  EXPECT_EQ(b.table.named("weights"), made);
  EXPECT_EQ(b.table.find(old), nullptr);
  auto const said = b.pending_output();
  EXPECT_EQ(said.drops, (std::vector<drop_order>{{at, old}})) << "its memory is freed as well";
  ASSERT_EQ(said.answers.size(), 1u);
  EXPECT_EQ(said.answers[0].why.kind, failure_kind::cancelled);
}

TEST(object_table, name_is_kept_when_its_client_returns_in_time) {
  table_bench b;
  auto const first = b.open(1);
  auto const other = b.open(2);
  auto const id = b.make(first, 1, b.spec("weights"));
  for (bool const by_ticket : {false, true}) {
    b.table.session_disconnected(b.now, first);
    b.now += 2s;
    by_ticket ? static_cast<void>(b.open(1)) : b.table.session_reconnected(first);
    b.now += 10s;
    EXPECT_FALSE(b.table.must_wait_for_name(b.now, other, "weights"));
    EXPECT_EQ(b.table.create(b.now, other, 1, b.spec("weights")).error().code,
              code::already_exists);
  }
  EXPECT_EQ(b.table.named("weights"), id);
}

TEST(object_table, names_of_other_tokens_and_of_detached_objects_are_never_taken) {
  table_bench b;
  auto const ada = b.open(1, "ada");
  auto const bob = b.open(2, "bob");
  b.make(ada, 1, b.spec("weights"));
  auto lasting = b.spec("lasting");
  lasting.detached = true;
  auto const again = b.open(3, "ada");
  b.make(ada, 2, lasting);
  b.table.session_disconnected(b.now, ada);
  b.now += 60s;
  EXPECT_FALSE(b.table.must_wait_for_name(b.now, bob, "weights"));
  EXPECT_EQ(b.table.create(b.now, bob, 1, b.spec("weights")).error().code, code::already_exists);
  EXPECT_EQ(b.table.create(b.now, again, 1, b.spec("lasting")).error().code, code::already_exists);
  b.make(again, 2, b.spec("weights"));
}

TEST(object_table, unanswered_calls_are_sent_again_on_the_tasks_next_stream) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  for (std::uint64_t n = 2; n < 5; ++n) b.call(s, n, id);
  b.answer(at, id, b.name(s, 2));
  b.pending_output();
  b.table.task_disconnected(b.now, at, false, "connection lost");
  b.call(s, 5, id);
  b.answer(at, id, b.name(s, 3));  // too late: the stream has ended
  EXPECT_TRUE(b.pending_output().answers.empty());
  auto const next = b.attach(0, 7, 71);
  auto const said = b.pending_output();
  EXPECT_EQ(said.begins.at(0).kept, std::vector<object_id>{id});
  EXPECT_TRUE(said.builds.empty());
  EXPECT_EQ(numbers(said.calls), (std::vector<std::uint64_t>{3, 4, 5}));
  b.answer(next, id, b.name(s, 3));
  EXPECT_EQ(b.pending_output().answers.size(), 1u);
  b.table.tick(b.now += 6s);
  EXPECT_EQ(b.table.find(id)->state, object_state::ready) << "nothing else is due";
  EXPECT_EQ(b.table.due(), never);
}

TEST(object_table, new_incarnation_receives_no_calls_of_a_lost_object) {
  table_bench b;
  auto const s = b.open(1), other = b.open(2);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1, b.spec("weights"));
  EXPECT_EQ(*b.table.find(other, "weights"), id);
  b.call(s, 2, id);
  b.pending_output();
  b.table.task_disconnected(b.now, at, false, "connection lost");
  b.attach(0, 8, 71);
  auto const said = b.pending_output();
  EXPECT_TRUE(said.calls.empty() && said.builds.empty());
  ASSERT_EQ(said.answers.size(), 1u);
  EXPECT_EQ(said.answers[0].why.kind, failure_kind::dependency_lost);
  EXPECT_EQ(said.answers[0].why.dependencies, std::vector<std::string>{"ps:0"});
  EXPECT_EQ(said.losses.size(), 2u) << "every session that used it";
  b.call(s, 3, id);
  EXPECT_NE(
      b.pending_output().answers.at(0).why.message.find("'weights' was lost together with ps:0"),
      std::string::npos);
  EXPECT_FALSE(b.table.find(other, "weights")) << "its name is free";
}

TEST(object_table, absent_task_is_lost_after_the_grace_period_and_a_leaving_one_at_once) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  b.table.task_disconnected(b.now, at, false, "connection lost");
  EXPECT_EQ(b.table.due(), b.now + 5s);
  b.table.tick(b.now += 4s);
  EXPECT_EQ(b.table.find(id)->state, object_state::ready);
  b.table.tick(b.now += 1s);
  EXPECT_EQ(b.table.find(id)->state, object_state::lost);
  auto const next = b.attach(0, 8, 71);
  auto const second = b.ready(s, next, 2);
  b.table.task_disconnected(b.now, next, true, "left");
  EXPECT_EQ(b.table.find(second)->state, object_state::lost);
  b.pending_output();
}

TEST(object_table, an_object_that_cannot_be_made_fails_its_calls_with_the_reason) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.make(s, 1, b.spec("weights"));
  b.call(s, 2, id);
  b.pending_output();
  b.table.built(b.now, at, id, failure{failure_kind::user, "ValueError", "no", "", "", 0});
  b.call(s, 3, id);
  auto const said = b.pending_output();
  ASSERT_EQ(said.answers.size(), 2u);
  for (auto const& a : said.answers) EXPECT_EQ(a.why.type, "ValueError");
  auto const old = b.attach(1, 9, 90, false);
  EXPECT_EQ(b.table.find(b.make(s, 4, b.spec("", 1)))->state, object_state::failed);
  b.pending_output();
  static_cast<void>(old);
}

TEST(object_table, objects_are_removed_with_their_session_unless_detached) {
  table_bench b;
  auto const s = b.open(1), other = b.open(2);
  auto const at = b.attach(0, 7, 70);
  auto const own = b.ready(s, at, 1);
  auto kept = b.spec("kept");
  kept.detached = true;
  auto const detached = b.ready(s, at, 2, kept);
  b.call(other, 1, own);
  b.pending_output();
  b.table.session_ended(s);
  auto const said = b.pending_output();
  EXPECT_EQ(said.drops, (std::vector<drop_order>{{at, own}}));
  EXPECT_EQ(said.answers.at(0).why.kind, failure_kind::cancelled);
  EXPECT_EQ(*b.table.find(other, "kept"), detached);
  EXPECT_EQ(b.table.holder_of(b.ticket(1)), session_id{});
}

TEST(object_table, function_calls_on_behalf_of_the_session_of_its_ticket) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  auto const worker = caller_of(incarnation{9});
  b.table.call(worker, b.table.holder_of(b.ticket(1)), {1, id, "add", {}});
  EXPECT_EQ(b.pending_output().calls.size(), 1u);
  b.table.call(worker, b.table.holder_of("guessed"), {2, id, "add", {}});
  auto const said = b.pending_output();
  EXPECT_TRUE(said.calls.empty());
  EXPECT_EQ(said.answers.at(0).why.type, "muster.TicketError");
}

TEST(object_table, later_calls_of_a_function_wait_for_calls_lost_with_its_stream) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  auto const worker = caller_of(incarnation{9});
  b.table.call(worker, s, {1, id, "add", {}});
  b.table.call(worker, s, {4, id, "add", {}});  // 2 and 3 were lost with the stream
  EXPECT_EQ(numbers(b.pending_output().calls), std::vector<std::uint64_t>{1});
  for (std::uint64_t n = 2; n <= 4; ++n) b.table.call(worker, s, {n, id, "add", {}});
  EXPECT_EQ(numbers(b.pending_output().calls), (std::vector<std::uint64_t>{2, 3, 4}));
}

TEST(object_table, calls_finished_behind_a_long_call_leave_the_queue) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto of = b.spec();
  of.concurrency = 2;
  auto const id = b.ready(s, at, 1, of);
  b.call(s, 2, id);  // is never answered
  for (std::uint64_t n = 3; n < 1'000; ++n) {
    b.call(s, n, id);
    b.answer(at, id, b.name(s, n));
    b.table.taken(caller_of(s), n);
  }
  b.pending_output();
  EXPECT_LE(b.table.find(id)->queue.size(), 3u);
}

TEST(object_table, repeated_call_of_a_worker_that_was_lost_fails_with_dependency_lost) {
  table_bench b;
  auto const s = b.open(1);
  auto const one = b.attach(0, 7, 70), other = b.attach(1, 8, 80);
  auto const id = b.ready(s, other, 1, b.spec({}, 1));
  auto const worker = caller_of(incarnation{7});
  b.table.call(worker, s, {1, id, "add", {}});
  b.table.task_disconnected(b.now, one, true, "connection lost");
  b.attach(0, 7, 71);
  b.pending_output();
  b.table.call(worker, s, {1, id, "add", {}});
  auto const said = b.pending_output();
  EXPECT_TRUE(said.calls.empty()) << "its object may have executed it";
  EXPECT_EQ(said.answers.at(0).why.kind, failure_kind::dependency_lost);
  b.table.call(worker, s, {2, id, "add", {}});
  EXPECT_EQ(numbers(b.pending_output().calls), std::vector<std::uint64_t>{2});
}

TEST(object_table, answer_lost_with_the_stream_of_a_worker_is_sent_again) {
  table_bench b;
  auto const s = b.open(1);
  b.attach(0, 7, 70);
  auto const other = b.attach(1, 8, 80);
  auto const id = b.ready(s, other, 1, b.spec({}, 1));
  auto const worker = caller_of(incarnation{7});
  b.table.call(worker, s, {1, id, "add", {}});
  b.answer(other, id, {worker, 1});
  EXPECT_EQ(b.pending_output().answers.size(), 1u);
  b.attach(0, 7, 71);
  b.pending_output();
  b.table.call(worker, s, {1, id, "add", {}});
  auto const again = b.pending_output();
  EXPECT_TRUE(again.calls.empty()) << "it was executed";
  ASSERT_EQ(again.answers.size(), 1u);
  EXPECT_EQ(again.answers[0].value.view(), "2");
}

TEST(object_table, waiting_calls_are_limited_in_bytes) {
  auto l = table_bench::limits();
  l.waiting_bytes_max = 10;
  table_bench b(l);
  auto const s = b.open(1);
  auto large = b.spec();
  large.args = blob("eight by", encoding::bytes);
  auto const id = b.make(s, 1, large);
  auto const more = b.table.create(b.now, s, 2, large);
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().field, "args");
  auto const at = b.attach(0, 7, 70);
  b.table.built(b.now, at, id, std::nullopt);
  b.make(s, 3, large);  // the first object is built and its arguments freed
  b.pending_output();
  for (std::uint64_t n = 4; n < 7; ++n) b.call(s, n, id);
  for (std::uint64_t n = 4; n < 7; ++n)
    b.table.answered(at, id, {b.name(s, n), true, blob("eight by"), {}});
  auto const said = b.pending_output();
  ASSERT_EQ(said.answers.size(), 3u);
  EXPECT_TRUE(said.answers[1].ok);
  EXPECT_EQ(said.answers[2].why.type, "muster.ResourceExhausted") << "no caller takes them";
}

TEST(object_table, ended_session_is_not_affected_by_a_lost_object) {
  table_bench b;
  auto const s = b.open(1), other = b.open(2);
  auto const at = b.attach(0, 7, 70);
  auto kept = b.spec("kept");
  kept.detached = true;
  auto const id = b.ready(s, at, 1, kept);
  b.call(other, 1, id);
  b.table.session_ended(other);
  b.table.task_disconnected(b.now, at, true, "left");
  auto const said = b.pending_output();
  ASSERT_EQ(said.losses.size(), 1u);
  EXPECT_EQ(said.losses[0].session, s);
}

TEST(object_table, objects_of_an_earlier_process_are_reported_as_lost_not_deleted) {
  table_bench b;  // its ids begin above 1,000
  auto const s = b.open(1);
  b.call(s, 1, object_id{1'000});
  b.call(s, 2, object_id{1'001});
  auto const said = b.pending_output();
  ASSERT_EQ(said.answers.size(), 2u);
  EXPECT_EQ(said.answers[0].why.kind, failure_kind::dependency_lost);
  EXPECT_EQ(said.answers[0].why.type, "muster.ServerRestarted");
  EXPECT_EQ(said.answers[1].why.kind, failure_kind::stale_handle)
      << "this process never created it";
}

TEST(object_table, calls_of_an_earlier_process_do_not_block_later_calls) {
  table_bench b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  auto const worker = caller_of(core::incarnation{8});
  for (auto const number : {5u, 9u})
    b.table.call(worker, s, {number, object_id{50}, "add", blob("1", encoding::bytes)});
  EXPECT_EQ(b.pending_output().answers.size(), 2u);
  b.table.call(worker, s, {13, id, "add", blob("1", encoding::bytes)});
  EXPECT_EQ(b.pending_output().calls.size(), 1u);
}

TEST(object_table, objects_are_accessible_only_to_their_token) {
  table_bench b;
  auto const s = b.open(1, "alice"), other = b.open(2, "bob");
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1, b.spec("weights"));
  EXPECT_EQ(b.table.find(other, "weights").error().code, code::permission_denied);
  EXPECT_EQ(b.table.drop(other, id).code, code::permission_denied);
  b.call(other, 1, id);
  EXPECT_FALSE(b.pending_output().answers.at(0).ok);
}

TEST(object_table, too_many_calls_fail_without_blocking_others) {
  auto l = table_bench::limits();
  l.calls_max = 2;
  table_bench b(l);
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1);
  for (std::uint64_t n = 2; n < 5; ++n) b.call(s, n, id);
  auto const said = b.pending_output();
  EXPECT_EQ(said.calls.size(), 2u);
  EXPECT_EQ(said.answers.at(0).why.type, "muster.ResourceExhausted");
  b.answer(at, id, b.name(s, 2));
  b.table.taken(caller_of(s), 2);
  b.call(s, 5, id);
  EXPECT_EQ(b.pending_output().calls.size(), 1u);
}

TEST(object_table, objects_and_lost_objects_are_limited) {
  auto l = table_bench::limits();
  l.objects_max = 3;
  l.lost_max = 2;
  table_bench b(l);
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  std::vector<object_id> ids;
  for (std::uint64_t n = 1; n <= 3; ++n) ids.push_back(b.ready(s, at, n));
  auto const more = b.table.create(b.now, s, 4, b.spec());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code, code::resource_exhausted);
  b.table.task_disconnected(b.now, at, true, "left");
  b.pending_output();
  EXPECT_EQ(b.table.list({}, 10, {}).size(), 2u);
  EXPECT_FALSE(b.table.find(ids.front()));
  b.make(s, 5);
}

TEST(object_table, invalid_spec_is_rejected_with_the_field) {
  table_bench b;
  auto const s = b.open(1);
  auto const refused = [&](auto change) {
    auto of = b.spec();
    change(of);
    auto const made = b.table.create(b.now, s, 9, std::move(of));
    return made ? std::string() : made.error().field;
  };
  EXPECT_EQ(refused([](object_spec& o) { o.detached = true; }), "name");
  EXPECT_EQ(refused([](object_spec& o) { o.concurrency = 0; }), "concurrency");
  EXPECT_EQ(refused([](object_spec& o) { o.job.clear(); }), "task");
  EXPECT_EQ(refused([](object_spec& o) { o.name = std::string(300, 'x'); }), "name");
  EXPECT_FALSE(b.table.create(b.now, session_id{5}, 1, b.spec())) << "it has sent no ticket";
  EXPECT_FALSE(b.table.open(session_id{6}, {"short", {}, false}).ok());
  EXPECT_FALSE(b.table.open(session_id{6}, {b.ticket(1), {}, false}).ok());
}

}  // namespace
}  // namespace muster::core::objects
