#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

constexpr std::string_view the_end = "null";

struct datasets_bench : table_bench {
  session_id s = open(1);
  std::uint64_t number = 0;
  caller_id const worker = caller_of(core::incarnation{7});

  static datasets::dataset_spec of(std::size_t splits, std::uint32_t epochs = 1) {
    datasets::dataset_spec spec;
    for (std::size_t i = 0; i < splits; ++i) spec.splits.push_back("s" + std::to_string(i));
    spec.epochs = epochs;
    return spec;
  }
  dataset_id deal(datasets::dataset_spec spec, std::uint64_t n = 1) {
    auto const made = table.create_dataset(now, s, n, std::move(spec));
    EXPECT_TRUE(made.has_value()) << (made ? std::string() : made.error().message);
    return made ? *made : dataset_id{};
  }
  std::string refusal(datasets::dataset_spec spec) {
    auto const made = table.create_dataset(now, s, ++number + 1'000, std::move(spec));
    return made ? "none" : made.error().message;
  }
  static datasets::draw_request by(std::uint64_t closure) {
    datasets::draw_request r;
    r.closure = closure_id{closure};
    r.attempt = 1;
    r.whole = true;
    return r;
  }
  /// Returns the number of the call; see `told`.
  std::uint64_t draw(dataset_id id, datasets::draw_request const& r) {
    table.draw(worker, s, {++number, object_id{raw(id)}, "draw", {}}, r, s, "worker:0");
    return number;
  }
  std::uint64_t draw(dataset_id id, std::uint64_t closure) { return draw(id, by(closure)); }
  /// Returns the new answers by number: splits with epochs, or errors.
  std::map<std::uint64_t, std::string> told() {
    std::map<std::uint64_t, std::string> found;
    for (auto const& a : pending_output().answers)
      found[a.name.number] = !a.ok                                   ? a.why.message
                             : a.value.encoding() == encoding::bytes ? words(a.value.view())
                                                                     : std::string(a.value.view());
    return found;
  }
  static std::string words(std::string_view value) {
    return std::string(value.substr(8)) + "/" + std::to_string(static_cast<int>(value[4]));
  }
  /// Returns the immediate answer, or an empty string if the draw waits.
  std::string drawn(dataset_id id, std::uint64_t closure) {
    auto const n = draw(id, closure);
    return told()[n];
  }
};

using texts = std::map<std::uint64_t, std::string>;

TEST(datasets, a_split_is_done_when_its_closure_has_succeeded) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  EXPECT_EQ(b.drawn(id, 1), "s0/0");
  EXPECT_EQ(b.table.find(id)->view(id).done, 0u) << "not when it is handed out";
  EXPECT_EQ(b.drawn(id, 1), "s1/0");
  EXPECT_EQ(b.drawn(id, 1), the_end);
  b.table.closure_ended(closure_id{1}, true);
  EXPECT_TRUE(b.table.find(id)->is_over());
  auto const v = b.table.find(id)->view(id);
  EXPECT_EQ(v.workers.at("worker:0").done, 2u);
  EXPECT_EQ(v.workers.at("worker:0").drawn, 0u);
  EXPECT_EQ(b.drawn(id, 2), the_end);
}

TEST(datasets, failed_closure_returns_all_its_splits) {
  datasets_bench b;
  auto const id = b.deal(b.of(3));
  b.drawn(id, 1);
  b.drawn(id, 1);
  EXPECT_EQ(b.drawn(id, 2), "s2/0");
  b.table.closure_ended(closure_id{1}, false);
  EXPECT_EQ(b.drawn(id, 2), "s0/0") << "in their original order";
  EXPECT_EQ(b.drawn(id, 2), "s1/0");
  EXPECT_EQ(b.table.find(id)->view(id).given_back, 2u);
}

TEST(datasets, new_attempt_starts_without_the_splits_of_the_previous_one) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  b.drawn(id, 1);
  b.drawn(id, 1);
  auto again = b.by(1);
  again.attempt = 2;
  auto const n = b.draw(id, again);
  EXPECT_EQ(b.told(), (texts{{n, "s0/0"}}));
}

TEST(datasets, draw_waits_for_returned_splits_when_none_is_left) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  b.drawn(id, 1);
  b.drawn(id, 2);
  auto const waits = b.draw(id, 1);
  EXPECT_TRUE(b.told().empty());
  b.table.closure_ended(closure_id{2}, false);
  EXPECT_EQ(b.told(), (texts{{waits, "s1/0"}}));
}

TEST(datasets, closure_asked_to_stop_does_not_wait_for_a_split) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  b.drawn(id, 1);
  b.drawn(id, 2);
  auto const waits = b.draw(id, 2);
  EXPECT_TRUE(b.told().empty());
  b.table.closure_stops(closure_id{2});
  EXPECT_EQ(b.told(), (texts{{waits, "null"}}));
  EXPECT_EQ(b.table.find(id)->view(id).drawn, 2u) << "until it has ended";
  b.table.closure_ended(closure_id{2}, false);
  EXPECT_EQ(b.drawn(id, 1), "s1/0");
}

TEST(datasets, all_waiting_draws_end_when_every_closure_waits) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  b.drawn(id, 1);
  b.drawn(id, 2);
  auto const first = b.draw(id, 1);
  EXPECT_TRUE(b.told().empty()) << "the other one can fail";
  auto const second = b.draw(id, 2);
  EXPECT_EQ(b.told(), (texts{{first, "null"}, {second, "null"}}));
  b.table.closure_ended(closure_id{1}, true);
  b.table.closure_ended(closure_id{2}, false);
  EXPECT_EQ(b.drawn(id, 3), "s1/0") << "the epoch is not over";
}

TEST(datasets, the_next_epoch_begins_when_all_of_this_one_is_done) {
  datasets_bench b;
  auto const id = b.deal(b.of(1, 2));
  EXPECT_EQ(b.drawn(id, 1), "s0/0");
  auto const late = b.draw(id, 2);
  EXPECT_EQ(b.drawn(id, 1), the_end) << "a closure reads one epoch";
  EXPECT_TRUE(b.told().empty());
  b.table.closure_ended(closure_id{1}, true);
  EXPECT_EQ(b.told(), (texts{{late, "s0/1"}})) << "it has not read any epoch so far";
  b.table.closure_ended(closure_id{2}, true);
  EXPECT_TRUE(b.table.find(id)->is_over());
}

TEST(datasets, draw_for_a_named_epoch_waits_for_it_and_is_empty_after_it) {
  datasets_bench b;
  auto const id = b.deal(b.of(1, 2));
  auto later = b.by(2);
  later.epoch = 1;
  auto const waits = b.draw(id, later);
  EXPECT_TRUE(b.told().empty());
  auto early = b.by(1);
  early.epoch = 0;
  auto const n = b.draw(id, early);
  EXPECT_EQ(b.told(), (texts{{n, "s0/0"}}));
  b.table.closure_ended(closure_id{1}, true);
  EXPECT_EQ(b.told(), (texts{{waits, "s0/1"}}));
  early.closure = closure_id{3};
  auto const past = b.draw(id, early);
  EXPECT_EQ(b.told(), (texts{{past, "null"}}));
  early.epoch = 1;
  auto const other = b.draw(id, early);
  EXPECT_NE(b.told()[other].find("each function can read only one epoch"), std::string::npos);
}

TEST(datasets, a_split_of_elements_is_done_only_past_its_end) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  auto r = b.by(1);
  r.whole = false;
  b.draw(id, r);
  r.passed = {0};
  b.draw(id, r);
  b.table.closure_ended(closure_id{1}, true);
  b.told();
  EXPECT_EQ(b.table.find(id)->where(), (datasets::position{0, {0}}));
  EXPECT_EQ(b.drawn(id, 2), "s1/0");
}

TEST(datasets, begin_at_a_position) {
  datasets_bench b;
  auto spec = b.of(3, 3);
  spec.at = {1, {0, 2}};
  auto const id = b.deal(spec);
  EXPECT_EQ(b.table.find(id)->where(), (datasets::position{1, {0, 2}}));
  EXPECT_EQ(b.drawn(id, 1), "s1/1");
  spec.at = {1, {0, 1, 2}};
  EXPECT_EQ(b.table.find(b.deal(spec, 2))->where(), (datasets::position{2, {}}));
  spec.at = {3, {}};
  EXPECT_TRUE(b.table.find(b.deal(spec, 3))->is_over());
  spec.at = {4, {}};
  EXPECT_EQ(b.refusal(spec), "position.epoch: 4, but the dataset has only 3 epochs");
  spec.at = {0, {1, 1}};
  EXPECT_EQ(b.refusal(spec),
            "position.done: 1 is not allowed here; list the numbers of existing splits in "
            "ascending order");
}

TEST(datasets, can_move_to_another_position_only_while_nothing_is_drawn) {
  datasets_bench b;
  auto const id = b.deal(b.of(3, 2));
  std::string at(8, '\0');
  at[0] = 1;
  at[4] = 2;
  auto const go = [&](std::uint64_t n, std::string const& args) {
    b.table.call(caller_of(b.s), b.s,
                 {n, object_id{raw(id)}, "go_to", blob(args, encoding::bytes)});
    return b.told()[n];
  };
  b.drawn(id, 1);
  EXPECT_NE(go(1, at).find("a function has drawn 1 split and has not ended"), std::string::npos);
  b.table.closure_ended(closure_id{1}, true);
  EXPECT_NE(go(2, at).find("\"epoch\":1"), std::string::npos);
  EXPECT_EQ(b.table.find(id)->where(), (datasets::position{1, {2}}));
  EXPECT_EQ(b.drawn(id, 2), "s0/1");
  EXPECT_EQ(go(3, "x"), "args: not a valid dataset position");
  at[0] = 3;
  EXPECT_EQ(go(4, at), "position.epoch: 3, but the dataset has only 2 epochs");
}

TEST(datasets, moving_the_position_keeps_draws_of_named_epochs_waiting) {
  datasets_bench b;
  auto const id = b.deal(b.of(1, 3));
  auto named = b.by(1);
  named.epoch = 2;
  auto const waits = b.draw(id, named);
  b.table.call(caller_of(b.s), b.s,
               {100, object_id{raw(id)}, "go_to", blob(std::string(4, '\0'), encoding::bytes)});
  auto const told = b.told();
  EXPECT_TRUE(told.contains(100)) << "the position was moved";
  EXPECT_FALSE(told.contains(waits)) << "epoch 0 continues";
}

TEST(datasets, have_limits) {
  datasets_bench b;
  EXPECT_EQ(b.refusal({}), "splits: required: at least one split");
  EXPECT_EQ(b.refusal(b.of(100'001)), "splits: 100001, the limit is 100000");
  EXPECT_EQ(b.refusal(b.of(1, 0)), "epochs: must be at least 1, got 0");
  EXPECT_EQ(b.refusal(b.of(1, 1'000'001)), "epochs: 1000001, the limit is 1000000");
  auto spec = b.of(300);
  spec.splits[1] = std::string(65'537, 'x');
  EXPECT_EQ(b.refusal(spec), "splits[1], in bytes: 65537, the limit is 65536");
  for (auto& split : spec.splits) split = std::string(65'536, 'x');
  EXPECT_EQ(b.refusal(spec), "splits, in bytes: 19660800, the limit is 16777216");
  spec.splits.resize(256);
  for (std::uint64_t n = 1; n <= 15; ++n) b.deal(spec, n);
  EXPECT_NE(b.refusal(spec).find("the limit is 268435456"), std::string::npos);
  spec = b.of(1);
  spec.name = std::string(257, 'n');
  EXPECT_EQ(b.refusal(spec), "name: 257, the limit is 256");
  b.table.session_ended(b.s);
  b.s = b.open(2);
  for (std::uint64_t n = 1; n <= 1'000; ++n) b.deal(b.of(1), n);
  EXPECT_EQ(b.refusal(b.of(1)), "the server has 1000 datasets, which is the limit");
  EXPECT_EQ(b.deal(b.of(1), 1'000), b.deal(b.of(1), 1'000))
      << "the same number creates the same object";
}

TEST(datasets, closure_waiting_with_an_unfinished_split_does_not_block_others) {
  datasets_bench b;
  auto const id = b.deal(b.of(2));
  b.table.draw(b.worker, b.s, {++b.number, object_id{raw(id)}, "draw", {}},
               {closure_id{1}, 0, datasets::any_epoch, false, {}}, b.s, "worker:1");
  b.table.draw(b.worker, b.s, {++b.number, object_id{raw(id)}, "draw", {}},
               {closure_id{2}, 0, datasets::any_epoch, true, {}}, b.s, "worker:2");
  b.pending_output();
  b.table.draw(b.worker, b.s, {++b.number, object_id{raw(id)}, "draw", {}},
               {closure_id{1}, 0, datasets::any_epoch, false, {}}, b.s, "worker:1");
  EXPECT_TRUE(b.pending_output().answers.empty()) << "the other one can return its split";
  b.table.draw(b.worker, b.s, {++b.number, object_id{raw(id)}, "draw", {}},
               {closure_id{2}, 0, datasets::any_epoch, true, {}}, b.s, "worker:2");
  EXPECT_EQ(b.pending_output().answers.size(), 2u) << "both receive the end";
}

TEST(datasets, workers_beyond_the_limit_are_counted_together) {
  datasets_bench b;
  auto const id = b.deal(b.of(1'002));
  for (std::uint64_t n = 1; n <= 1'002; ++n)
    b.table.draw(b.worker, b.s, {++b.number, object_id{raw(id)}, "draw", {}}, b.by(n), b.s,
                 "worker:" + std::to_string(n));
  auto const v = b.table.find(id)->view(id);
  EXPECT_EQ(v.workers.size(), 1'001u);
  EXPECT_EQ(v.workers.at("others").drawn, 2u);
  b.pending_output();
}

TEST(datasets, are_removed_with_their_session_or_by_request) {
  datasets_bench b;
  auto const id = b.deal(b.of(1)), other = b.deal(b.of(1), 2);
  b.drawn(id, 1);
  auto const waits = b.draw(id, 2);
  EXPECT_TRUE(b.table.drop(b.s, object_id{raw(id)}).ok());
  EXPECT_EQ(b.told(), (texts{{waits, "dataset " + text(id) + " was deleted"}}));
  EXPECT_FALSE(b.table.is_drawn_from());
  b.table.session_ended(b.s);
  EXPECT_EQ(b.table.find(other), nullptr);
}

TEST(datasets, only_functions_of_their_session_can_draw) {
  datasets_bench b;
  auto const id = b.deal(b.of(1));
  auto const other = b.open(2);
  call_spec const c{++b.number, object_id{raw(id)}, "draw", {}};
  b.table.draw(b.worker, b.s, c, b.by(1), other, "worker:0");
  EXPECT_NE(b.told()[1].find("only functions of that session"), std::string::npos);
  b.table.draw(b.worker, other, {++b.number, c.object, "draw", {}}, b.by(1), other, "worker:0");
  EXPECT_NE(b.told()[2].find("the session of the handle has ended"), std::string::npos);
  b.table.call(caller_of(b.s), b.s, {1, c.object, "draw", {}});
  EXPECT_NE(b.told()[1].find("only functions that run on workers"), std::string::npos);
  b.table.call(caller_of(b.s), b.s, {2, c.object, "position", {}});
  EXPECT_EQ(b.told()[2], R"({"epoch":0,"epochs":1,"splits":1,"queued":1,"drawn":0,"done":[]})");
}

TEST(datasets, closure_asked_to_stop_before_its_first_draw_receives_nothing) {
  datasets_bench b;
  auto const id = b.deal(b.of(1));
  auto stops = b.by(1);
  stops.stops = true;
  auto const n = b.draw(id, stops);
  EXPECT_EQ(b.told(), (texts{{n, "null"}}));
  EXPECT_EQ(b.table.find(id)->counts().queued, 1u);
}

TEST(datasets, report_their_progress_as_numbers_and_in_total) {
  datasets_bench b;
  auto const id = b.deal(b.of(3, 2));
  b.drawn(id, 1);
  b.table.closure_ended(closure_id{1}, true);
  b.drawn(id, 2);
  b.table.call(caller_of(b.s), b.s, {1, object_id{raw(id)}, "progress", {}});
  EXPECT_EQ(b.told()[1], R"({"epoch":0,"epochs":2,"splits":3,"queued":1,"drawn":1,"done":1})");
  b.table.closure_ended(closure_id{2}, false);
  auto all = b.table.dataset_totals();
  EXPECT_EQ(std::tie(all.datasets, all.queued, all.drawn, all.done),
            std::make_tuple(1u, 2u, 0u, 1u));
  EXPECT_TRUE(b.table.drop(b.s, object_id{raw(id)}).ok());
  all = b.table.dataset_totals();
  EXPECT_EQ(std::tie(all.datasets, all.done_ever, all.given_back_ever),
            std::make_tuple(0u, 1u, 1u));
  b.pending_output();
}

TEST(datasets, a_draw_is_read_from_its_bytes) {
  std::string bytes(20, '\0');
  bytes[0] = 5;
  bytes[8] = 2;
  bytes[12] = 1;
  bytes[16] = 1;
  auto const r = datasets::draw_from(bytes + std::string("\3\0\0\0", 4));
  EXPECT_EQ(r, (datasets::draw_request{closure_id{5}, 2, 1, true, {3}}));
  EXPECT_FALSE(datasets::draw_from(bytes + "x"));
  EXPECT_FALSE(datasets::draw_from("short"));
}

// Each waiting function receives the end as the reply to its own call.
TEST(datasets, draws_from_a_deleted_or_older_dataset_fail_no_session) {
  datasets_bench b;
  auto const id = b.deal(b.of(1));
  EXPECT_EQ(b.drawn(id, 1), "s0/0");
  b.draw(id, 2);
  EXPECT_TRUE(b.table.drop(b.s, object_id{raw(id)}).ok());
  auto said = b.pending_output();
  ASSERT_EQ(said.answers.size(), 1u);
  EXPECT_EQ(said.answers[0].why.kind, failure_kind::cancelled);
  EXPECT_TRUE(said.losses.empty());
  b.draw(dataset_id{1}, 3);
  said = b.pending_output();
  ASSERT_EQ(said.answers.size(), 1u);
  EXPECT_EQ(said.answers[0].why.reason, failure_reason::server_restarted);
  EXPECT_TRUE(said.losses.empty());
}

}  // namespace
}  // namespace muster::core::objects
