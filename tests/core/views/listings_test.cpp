#include "server/core/api/listings.hpp"

#include "server/core/api/id_text.hpp"
#include "tests/core/fixture.hpp"

namespace muster::core {
namespace listings_cases {

struct walked {
  std::vector<found_closure> found;
  std::size_t steps = 0;
  std::uint64_t most_looked_at = 0;
  bool in_order = false;
};

walked walk(coordinator const& core, closure_query const& q, closure_bounds const& within = {}) {
  walked all;
  closure_cursor at;
  for (; at.part != closure_cursor::end; ++all.steps) {
    auto step = core.closures().search(q, at, within).value();
    all.found.insert(all.found.end(), step.found.begin(), step.found.end());
    all.most_looked_at = std::max(all.most_looked_at, step.looked_at);
    all.in_order = step.in_order;
    at = step.next;
  }
  std::sort(all.found.begin(), all.found.end());
  return all;
}
std::vector<std::uint32_t> indexes(cluster& c, closure_query const& q) {
  std::vector<std::uint32_t> out;
  for (auto const& f : walk(c.core, q).found) out.push_back(c.core.closures().find(f.id)->index);
  return out;
}
using list = std::vector<std::uint32_t>;

session_id million(cluster& c) {
  auto const spec = closure_spec{c.function("f"), 0, 0, {}};
  auto& fx = c.core;
  open_session open{call_id{1}, {}, std::vector<closure_spec>(1'000'000, spec)};
  open.spec.queue_capacity = 1'000'000;
  return std::get<session_reply>(fx.step(c.now(), open).replies.at(0).body).session;
}

TEST(listings, filter_by_state_and_function) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "g", "f", "g", "f"});
  c.wait(20ms);
  c.succeed(w, job[0]);
  closure_query q{.session = job.id, .states = bit(closure_state::queued)};
  EXPECT_EQ(indexes(c, q), (list{1, 3, 4}));
  q.function = "f";
  EXPECT_EQ(indexes(c, q), (list{4}));
  q.states = any_state;
  EXPECT_EQ(indexes(c, q), (list{0, 2, 4}));
  q.states = unfinished_states;
  EXPECT_EQ(indexes(c, q), (list{2, 4}));
  q.function = "nobody's";
  EXPECT_EQ(indexes(c, q), (list{}));
}

TEST(listings, filter_by_worker_and_text) {
  cluster c;
  auto const a = c.attach({.index = 1});
  auto const b = c.attach({.functions = {"Load_Table"}, .index = 2});
  auto const job = c.open({"f", "Load_Table", "f"}, continue_all());
  closure_query q{.session = job.id};
  q.worker = "worker:2";
  EXPECT_EQ(indexes(c, q), (list{1}));
  q.worker.clear();
  q.text = "load_t";
  EXPECT_EQ(indexes(c, q), (list{1}));
  c.fail(a, job[0], "Disk FULL");
  q.text = "disk full";
  EXPECT_EQ(indexes(c, q), (list{0}));
  q.text = text(job[2]);
  EXPECT_EQ(indexes(c, q), (list{2}));
  q.text = "nothing like it";
  EXPECT_EQ(indexes(c, q), (list{}));
  c.succeed(b, job[1]);
}

TEST(listings, sort_by_start_and_by_duration_with_missing_values_last) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"});
  c.wait(3s);
  c.succeed(w, job[0]);
  c.wait(1s);
  c.succeed(w, job[1]);
  c.ask(cancel_closure{{}, job[2]});
  auto const other = c.open({"f"});
  closure_query q{.session = job.id, .order = listing_order::by_duration};
  q.at = c.now() + 2s;  // the third closure has run for 2 s
  EXPECT_EQ(indexes(c, q), (list{1, 2, 0}));
  q.descending = true;
  EXPECT_EQ(indexes(c, q), (list{0, 2, 1}));
  q.order = listing_order::by_start;
  EXPECT_EQ(indexes(c, q), (list{2, 1, 0}));
  q.order = listing_order::by_index;
  EXPECT_EQ(indexes(c, q), (list{2, 1, 0}));
  auto const waiting = c.open({"f", "h"});
  closure_query none{.session = waiting.id, .order = listing_order::by_start};
  for (auto const& f : walk(c.core, none).found) EXPECT_EQ(f.key, UINT64_MAX);
}

TEST(listings, next_page_starts_behind_the_last_entry) {
  cluster c;
  auto const job = c.open(names(5, "f"));
  closure_query q{.session = job.id};
  auto first = c.core.closures().search(q, {}, {.room = 2}).value();
  EXPECT_TRUE(first.in_order);
  EXPECT_EQ(first.found.size(), 2u);
  EXPECT_EQ(first.next.at, 2u);
  auto const rest = c.core.closures().search(q, first.next, {}).value();
  EXPECT_EQ(rest.found.size(), 3u);
  EXPECT_EQ(rest.next.part, closure_cursor::end);
  q.descending = true;
  auto const all = walk(c.core, q);
  EXPECT_FALSE(all.in_order);
  EXPECT_EQ(walk(c.core, q, {.after = all.found[1]}).found.size(), 3u);
  EXPECT_EQ(walk(c.core, q, {.before = all.found[1]}).found.size(), 1u);
}

TEST(listings, steps_examine_a_bounded_number_of_a_million_records_and_reach_all) {
  cluster c;
  auto const job = million(c);
  closure_query q{.session = job, .states = bit(closure_state::failed)};
  auto const none = walk(c.core, q);
  EXPECT_TRUE(none.found.empty());
  EXPECT_LE(none.most_looked_at, step_units / 4);
  EXPECT_EQ(none.steps, 100u);
  q.states = any_state;
  std::uint64_t seen = 0;
  for (closure_cursor at; at.part != closure_cursor::end;) {
    auto const page = c.core.closures().search(q, at, {.room = 1'000}).value();
    for (auto const& f : page.found) ASSERT_EQ(f.key, ++seen);
    at = page.next;
  }
  EXPECT_EQ(seen, 1'000'000u);
  q.session = {};
  EXPECT_LE(walk(c.core, q).most_looked_at, step_units / 4);
  q.session = job;
  q.text = "no such text";
  EXPECT_LE(walk(c.core, q).most_looked_at, step_units / 20);
  closure_groups groups;
  while (!groups.done) {
    auto const before = groups.looked_at;
    ASSERT_TRUE(c.core.closures().group(job, groups).ok());
    ASSERT_LE(groups.looked_at - before, step_units / 4);
  }
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].second.queued + groups.groups[0].second.failed, 1'000'000u);
}

TEST(listings, values_are_found_by_status_place_age_and_size) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f", "f"});
  c.succeed(w, job[0], "12345");
  c.wait(1s);
  c.succeed(w, job[1], "1");
  closure_query q;
  q.value = value_state::ready;
  q.at = c.now();
  EXPECT_EQ(indexes(c, q), (list{0, 1}));
  q.order = listing_order::by_size;
  EXPECT_EQ(indexes(c, q), (list{1, 0}));
  q.order = listing_order::by_age;
  EXPECT_EQ(indexes(c, q), (list{1, 0}));
  q.value = value_state::not_ready;
  EXPECT_EQ(indexes(c, q), (list{2}));
  q.value = {};
  q.place = value_whereabouts::memory;
  EXPECT_EQ(indexes(c, q), (list{1, 0}));
  EXPECT_EQ(whereabouts(*c.core.closures().find(job[2])), value_whereabouts::none);
}

TEST(listings, holders_report_values_and_bytes) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open({"f", "f"});
  c.open({"g"});
  c.succeed(w, job[0], "12345");
  auto const page = c.core.values().holders({});
  ASSERT_EQ(page.items.size(), 1u);
  EXPECT_EQ(page.items[0].job, job.id);
  EXPECT_EQ(page.items[0].values, 1u);
  EXPECT_EQ(page.items[0].bytes, 5u);
  EXPECT_FALSE(page.next);
  EXPECT_EQ(c.job(job.id).values, 1u);
  EXPECT_EQ(c.job(job.id).value_bytes, 5u);
}

TEST(listings, worker_lists_its_running_and_prefetched_closures) {
  cluster c;
  auto const w = c.attach({.slots = 1, .credits = 4});
  auto const job = c.open(names(8, "f"));
  while (c.held(w).size() < 2) c.succeed(w, c.held(w).at(0));  // quick answers widen its window
  auto const held = c.held(w);
  auto const hands = c.core.workers().closures_held_by("worker", 0, 10).value();
  ASSERT_EQ(hands.running.size(), 1u);
  EXPECT_EQ(hands.running[0].id, held[0]);
  EXPECT_EQ(hands.running[0].job, job.id);
  EXPECT_EQ(hands.running[0].function, "f");
  EXPECT_EQ(hands.prefetched.size(), held.size() - 1);
  EXPECT_EQ(c.core.workers().closures_held_by("worker", 0, 0)->more, held.size());
  EXPECT_FALSE(c.core.workers().closures_held_by("worker", 7, 10));
  c.lose(w);
  EXPECT_TRUE(c.core.workers().closures_held_by("worker", 0, 10)->running.empty());
}

std::vector<closure_spec> chain(cluster& c, std::size_t n) {
  auto work = c.specs(names(n, "f"));
  for (std::uint32_t i = 1; i < n; ++i)
    work[i].extras =
        std::make_shared<closure_extras>(closure_extras{{}, {input_ref{{}, i - 1, 0}}, {}});
  return work;
}

TEST(listings, dependents_are_listed_before_and_after_the_end) {
  cluster c;
  auto const w = c.attach();
  auto const job = c.open_with(chain(c, 3));
  EXPECT_EQ(c.core.closures().find(job[0])->dependents, closures{job[1]});
  c.succeed(w, job[0]);
  EXPECT_EQ(c.core.closures().find(job[0])->dependents, closures{job[1]});
  EXPECT_EQ(c.core.closures().find(job[0])->dependents_more, 0u);
}

TEST(listings, graph_contains_closures_with_inputs_or_functions_with_counts) {
  cluster c;
  auto const job = c.open_with(chain(c, 3));
  graph_nodes g;
  ASSERT_TRUE(c.core.closures().graph(job.id, g).ok());
  EXPECT_TRUE(g.done);
  ASSERT_EQ(g.nodes.size(), 3u);
  EXPECT_EQ(g.nodes[1].inputs, closures{job[0]});
  EXPECT_EQ(g.functions, names{"f"});
  closure_groups groups;
  ASSERT_TRUE(c.core.closures().group(job.id, groups).ok());
  EXPECT_TRUE(groups.done);
  ASSERT_EQ(groups.groups.size(), 1u);
  EXPECT_EQ(groups.groups[0].second.total(), 3u);
  EXPECT_EQ(groups.edges.begin()->second, 2u);
  EXPECT_FALSE(c.core.closures().graph(session_id{99}, g).ok());
}

}  // namespace listings_cases
}  // namespace muster::core
