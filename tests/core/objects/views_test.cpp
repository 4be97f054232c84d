#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

struct seen : table_bench {
  object_view of(object_id id) const { return table.view(id, *table.find(id)); }
};

TEST(object_views, show_the_state_its_start_time_and_the_holder) {
  seen b;
  b.now += 1s;
  auto const s = b.open(1, "alice");
  auto const id = b.make(s, 1, b.spec("weights"));
  EXPECT_EQ(b.of(id).state, object_state::pending);
  EXPECT_EQ(b.of(id).incarnation, core::incarnation{});
  EXPECT_EQ(b.of(id).submitter, "alice");
  b.now += 1s;
  auto const at = b.attach(0, 7, 70);
  EXPECT_EQ(b.of(id).state, object_state::starting);
  EXPECT_EQ(b.of(id).since, b.now);
  EXPECT_EQ(b.of(id).created, b.now - 1s);
  b.now += 1s;
  b.table.built(b.now, at, id, std::nullopt);
  EXPECT_EQ(b.of(id).state, object_state::ready);
  EXPECT_EQ(b.of(id).since, b.now);
  EXPECT_EQ(b.of(id).incarnation, core::incarnation{7});
  EXPECT_EQ(b.of(id).spec.args.size(), 0u);
  b.table.task_disconnected(b.now, at, false, "cut");
  EXPECT_EQ(b.of(id).incarnation, core::incarnation{}) << "it is disconnected";
  EXPECT_EQ(b.of(id).state, object_state::ready);
}

TEST(object_views, count_waiting_executing_and_finished_calls) {
  seen b;
  auto const s = b.open(1), other = b.open(2);
  auto const id = b.make(s, 1);
  b.call(s, 2, id);
  EXPECT_EQ(b.of(id).waiting, 1u);
  EXPECT_EQ(b.of(id).executing, 0u) << "it does not exist yet";
  auto const at = b.attach(0, 7, 70);
  b.table.built(b.now, at, id, std::nullopt);
  b.call(s, 3, id);
  b.call(other, 1, id);
  EXPECT_EQ(b.of(id).waiting, 2u);
  EXPECT_EQ(b.of(id).executing, 1u);
  b.answer(at, id, b.name(s, 2));
  b.table.answered(at, id,
                   {b.name(s, 3), false, {}, {failure_kind::user, "ValueError", "no", "", "", 0}});
  b.pending_output();
  EXPECT_EQ(b.of(id).answered, 2u);
  EXPECT_EQ(b.of(id).last_error, "ValueError: no");
  EXPECT_EQ(b.of(id).executing, 1u);
  b.table.session_ended(other);
  b.pending_output();
  EXPECT_EQ(b.of(id).executing, 1u) << "it continues although no caller waits for its answer";
}

TEST(object_views, show_why_an_object_is_lost_or_could_not_be_built) {
  seen b;
  auto const s = b.open(1);
  auto at = b.attach(0, 7, 70);
  auto const reason = [&](object_id id) { return name(b.of(id).end); };
  auto const left = b.ready(s, at, 1), stays = b.ready(s, at, 2);
  b.table.remove(stays);
  EXPECT_FALSE(b.table.find(stays));
  b.table.task_disconnected(b.now, at, true, "left");
  EXPECT_EQ(reason(left), "TASK_LEFT");
  at = b.attach(0, 8, 80);
  auto const replaced = b.ready(s, at, 3);
  b.table.task_disconnected(b.now, at, false, "cut");
  at = b.attach(0, 9, 90);
  EXPECT_EQ(reason(replaced), "REPLACED");
  auto const away = b.ready(s, at, 4);
  b.table.task_disconnected(b.now, at, false, "cut");
  b.now += 6s;
  b.table.tick(b.now);
  EXPECT_EQ(reason(away), "TASK_AWAY");
  EXPECT_EQ(b.of(away).since, b.now);
  at = b.attach(0, 10, 100);
  auto const raised = b.make(s, 5);
  b.table.built(b.now, at, raised, failure{failure_kind::user, "ValueError", "no", "", "", 0});
  EXPECT_EQ(reason(raised), "RAISED");
  EXPECT_EQ(b.of(raised).error, "ValueError: no");
  EXPECT_EQ(b.of(raised).state, object_state::failed);
  b.attach(1, 11, 110, false);
  auto const unable = b.make(s, 6, b.spec({}, 1));
  EXPECT_EQ(reason(unable), "UNABLE");
  auto const ready = b.ready(s, at, 7);
  EXPECT_EQ(reason(ready), "NONE");
  EXPECT_EQ(b.table.counts().by_state, (std::array<std::size_t, 5>{0, 0, 1, 2, 3}));
}

TEST(object_views, lost_task_reports_the_number_of_its_objects_once) {
  seen b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  for (std::uint64_t n = 1; n < 5; ++n)
    b.ready(s, at, n, b.spec(n == 1 ? "weights" : std::string()));
  b.table.task_disconnected(b.now, at, true, "left");
  auto const said = b.pending_output();
  ASSERT_EQ(said.lost.size(), 1u);
  EXPECT_EQ(said.lost[0], (objects_lost{"ps", 0, 4, {"weights", "Counter", "Counter"}, "left"}));
  auto const again = b.attach(0, 9, 90);
  auto const own = b.open(2, "somebody");
  b.ready(own, again, 1, b.spec("secret"));
  b.ready(s, again, 5);
  b.table.task_disconnected(b.now, again, true, "left");
  EXPECT_EQ(b.pending_output().lost[0], (objects_lost{"ps", 0, 2, {"Counter"}, "left"}))
      << "every user sees this text, so it names only objects without a submitter";
  b.attach(0, 8, 80);
  EXPECT_TRUE(b.pending_output().lost.empty());
}

TEST(object_views, calls_are_counted_by_outcome) {
  seen b;
  auto const s = b.open(1);
  auto const at = b.attach(0, 7, 70);
  auto const id = b.ready(s, at, 1), other = b.ready(s, at, 2);
  for (std::uint64_t n = 3; n < 7; ++n) b.call(s, n, n == 6 ? other : id);
  b.answer(at, id, b.name(s, 3));
  b.table.answered(at, id,
                   {b.name(s, 4), false, {}, {failure_kind::user, "ValueError", "no", "", "", 0}});
  b.table.remove(id);
  b.table.task_disconnected(b.now, at, true, "left");
  b.pending_output();
  EXPECT_EQ(b.table.counts().calls, (std::array<std::uint64_t, enum_size<call_end>>{1, 1, 1, 1}));
}

TEST(object_views, are_listed_newest_first_page_by_page_and_filtered) {
  seen b;
  auto const s = b.open(1, "alice"), other = b.open(2, "bob"), nobody = b.open(3);
  std::vector<object_id> ids{b.make(s, 1, b.spec("weights")), b.make(other, 1, b.spec("Bias", 1)),
                             b.make(nobody, 1)};
  auto const listed = [&](object_query const& q, object_id before = {}, std::size_t limit = 10) {
    std::vector<object_id> found;
    for (auto const& v : b.table.list(before, limit, q)) found.push_back(v.id);
    return found;
  };
  using ids_of = std::vector<object_id>;
  EXPECT_EQ(listed({}), (ids_of{ids[2], ids[1], ids[0]}));
  EXPECT_EQ(listed({}, {}, 2), (ids_of{ids[2], ids[1]}));
  EXPECT_EQ(listed({}, ids[1], 2), ids_of{ids[0]});
  EXPECT_EQ(listed({}, ids[0]), ids_of{});
  EXPECT_EQ(listed({.submitter = "alice"}), (ids_of{ids[2], ids[0]}))
      << "and objects without a submitter";
  EXPECT_EQ(listed({.job = "ps", .index = 1}), ids_of{ids[1]});
  EXPECT_EQ(listed({.job = "worker"}), ids_of{});
  EXPECT_EQ(listed({.class_name = "Counter"}).size(), 3u);
  EXPECT_EQ(listed({.owner = other}), ids_of{ids[1]});
  EXPECT_EQ(listed({.state = object_state::ready}), ids_of{});
  EXPECT_EQ(listed({.text = "bi"}), ids_of{ids[1]});
  EXPECT_EQ(listed({.text = text(ids[2])}), ids_of{ids[2]});
}

}  // namespace
}  // namespace muster::core::objects
