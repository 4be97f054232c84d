#include <future>

#include "tests/web/past/past_fixture.hpp"
#include "tests/web/rest/program_fixture.hpp"
#include "web/rest/times/step_picture.hpp"

namespace muster::web::test {
namespace timeline_cases {

struct rest_timeline : program_fixture {
  written_past past;
  std::uint64_t said = 0;

  void TearDown() override {
    program_fixture::TearDown();
    past.reader().stop();
  }
  /// Rank 0 makes n steps of 100 ms; the first has no duration.
  void make_steps(std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; i += doctor::step_report::marks_max - 1) {
      doctor::step_report r;
      for (auto const last = std::min(n, i + doctor::step_report::marks_max - 1); said < last;) {
        ++said;
        r.marks.push_back({said, said * 100ms});
      }
      r.step = r.marks.back().step;
      r.at = r.marks.back().at;
      core_engine().run([&](server::hub& h) {
        h.programs().steps().record(w.stream, {id, 1, n * 100ms, {r}});
      });
    }
  }
  static std::size_t size(json::value const& v, std::string const& at) {
    return v.at_pointer(at).as_array().size();
  }
};

TEST_F(rest_timeline, few_steps_are_listed_singly) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  EXPECT_FALSE(get_json(path + "/timeline").as_object().contains("since_ms"));
  make_steps(11);
  auto const v = get_json(path + "/timeline?from_ms=1");
  for (auto const* column : {"rank", "step", "end_us", "took_us", "count", "longest_us"})
    EXPECT_EQ(size(v, std::string("/steps/") + column), 10u) << column;
  EXPECT_EQ(number_at(v, "/steps/rank/9"), 0);
  EXPECT_EQ(number_at(v, "/steps/step/9"), 11);
  EXPECT_EQ(number_at(v, "/steps/took_us/9"), 100'000);
  EXPECT_EQ(number_at(v, "/steps/end_us/9") - number_at(v, "/steps/end_us/8"), 100'000);
  EXPECT_EQ(number_at(v, "/usual_us"), 100'000);
  EXPECT_EQ(number_at(v, "/slow_us"), 200'000);
  EXPECT_EQ(number_at(v, "/from_ms"), 1);
  EXPECT_GT(number_at(v, "/since_ms"), 1'600'000'000'000);
  EXPECT_GT(number_at(v, "/until_ms"), number_at(v, "/since_ms"));
  EXPECT_FALSE(v.as_object().contains("lanes"));
  auto const others = get_json(path + "/timeline?from_ms=1&first_rank=1&ranks=5");
  EXPECT_EQ(size(others, "/steps/rank"), 0u);
  EXPECT_EQ(number_at(others, "/usual_us"), 100'000) << "of the program";
  EXPECT_EQ(size(get_json(path + "/timeline?from_ms=1&attempt=2"), "/steps/rank"), 0u);
  EXPECT_EQ(size(get_json(path + "/timeline?from_ms=1&to_ms=2"), "/steps/rank"), 0u);
}

TEST_F(rest_timeline, many_steps_are_summed_by_rank_and_interval) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  make_steps(step_picture::spans_max + 2);
  auto const first = get_json(path + "/timeline?from_ms=1&buckets=1");
  EXPECT_FALSE(first.as_object().contains("steps"));
  auto const since = number_at(first, "/since_ms");
  auto const v = get_json(path + "/timeline?from_ms=" + std::to_string(since) + "&buckets=10");
  ASSERT_EQ(size(v, "/lanes"), 1u);
  EXPECT_EQ(number_at(v, "/lanes/0/rank"), 0);
  std::int64_t steps = 0;
  for (auto const& n : v.at_pointer("/lanes/0/steps").as_array()) steps += n.as_int64();
  EXPECT_EQ(steps, std::int64_t{step_picture::spans_max} + 1);
  EXPECT_EQ(number_at(v, "/lanes/0/p50_us/3"), 100'000);
  EXPECT_EQ(number_at(v, "/lanes/0/max_us/3"), 100'000);
  EXPECT_EQ(number_at(v, "/lanes/0/bucket/3"), 3);
  EXPECT_GT(number_at(v, "/bucket_us"), 90'000'000) << "the tenth of a thousand seconds";
}

TEST_F(rest_timeline, barrier_arrivals_and_start_times_of_ranks_are_shown) {
  start_with_ranks();
  report({{rank(0), 70}, {rank(1), 71}}, {});
  core::rank_end end{.name = rank(1)};
  report({}, {end});
  EXPECT_GT(number_at(get_json(path + "/attempts/1"), "/ended/0/started_ms"), 1'600'000'000'000);
  core_engine().run([&](server::hub& h) {
    core::attempt_record r;
    core::attempt_record::meeting m{.barrier = "step", .counter = 3, .ended = h.now()};
    m.participants = 2;
    m.spread = 5ms;
    m.came = {{0, 0}, {1, 5'000}};
    r.barriers = {m};
    ASSERT_TRUE(h.programs().restore({id, 1}, std::move(r)));
  });
  auto const v = get_json(path + "/timeline");
  ASSERT_EQ(size(v, "/barriers"), 1u);
  auto const& b = v.at_pointer("/barriers/0");
  EXPECT_EQ(text_at(b, "/id"), "step");
  EXPECT_EQ(number_at(b, "/counter"), 3);
  EXPECT_EQ(number_at(b, "/attempt"), 1);
  EXPECT_EQ(number_at(b, "/participants"), 2);
  EXPECT_GE(number_at(b, "/ended_ms") - number_at(b, "/began_ms"), 5);
  EXPECT_EQ(number_at(b, "/ranks/1"), 1);
  EXPECT_EQ(number_at(b, "/came_us/1"), 5'000);
  EXPECT_EQ(number_at(get_json(path + "/timeline?first_rank=1"), "/barriers/0/ranks/0"), 1);
  EXPECT_EQ(number_at(get_json(path + "/attempts/1"), "/barriers/0/came_us/1"), 5'000);
}

// Stores steps of 100 programs on disk, since the id of this program is not known in advance.
TEST_F(rest_timeline, is_read_from_disk_if_not_in_memory) {
  for (std::uint64_t program = 0; program < 100; ++program) {
    doctor::step_segment s{core::program_id{program}, 1, noon, noon, noon + 1s, 1, {}};
    s.bytes = doctor::packed({{4, 1, program, noon + 1s, 1s, 1s}}, noon);
    past.steps(2s, s);
  }
  web_options o;
  o.outlets.past = &past.reader();
  start_with_ranks(o);
  report({{rank(0), 70}, {rank(1), 71}}, {});
  ASSERT_LT(raw(id), 100u);
  auto const v = get_json(path + "/timeline?from_ms=" + at(0s) + "&to_ms=" + at(5s));
  ASSERT_EQ(size(v, "/steps/step"), 1u);
  EXPECT_EQ(number_at(v, "/steps/step/0"), static_cast<std::int64_t>(raw(id)));
  EXPECT_EQ(number_at(v, "/steps/rank/0"), 4);
  EXPECT_EQ(number_at(v, "/steps/end_us/0"), 1'000'000);
  make_steps(3);
  EXPECT_EQ(size(get_json(path + "/timeline?from_ms=" + at(0s)), "/steps/step"), 3u)
      << "and memory";
}

TEST_F(rest_timeline, is_refused_while_too_many_history_requests_run) {
  auto& reader = past.reader();
  std::promise<void> go_on;
  auto const busy = go_on.get_future().share();
  for (std::size_t i = 0; i < server::history_reader::questions_max; ++i)
    ASSERT_TRUE(reader.ask([busy](auto const&) { busy.wait(); }).ok());
  web_options o;
  o.outlets.past = &reader;
  start_with_ranks(o);
  get_json(path + "/timeline?from_ms=1", 429);
  EXPECT_EQ(get(path + "/timeline").status, 200u) << "steps in memory need no reader";
  go_on.set_value();
}

TEST_F(rest_timeline, invalid_query_is_refused_with_the_reason) {
  start_with_ranks();
  EXPECT_EQ(text_at(get_json(path + "/timeline?from_ms=10&to_ms=9", 422), "/field"), "to_ms");
  EXPECT_EQ(text_at(get_json(path + "/timeline?ranks=1001", 400), "/field"), "ranks");
  EXPECT_EQ(text_at(get_json(path + "/timeline?buckets=0", 400), "/field"), "buckets");
  EXPECT_EQ(get("/api/v1/programs/prog_zz/timeline").status, 404u);
}

// The longest sample is never lost, and the median is that of all samples.
TEST(step_pictures, keep_the_median_and_maximum_of_any_number_of_steps) {
  spread_samples<15> few;
  EXPECT_EQ(few.median(), 0u);
  for (std::uint32_t i = 1; i <= 3; ++i) few.add(i, 1);
  EXPECT_EQ(few.median(), 2u);
  spread_samples<1'023> many;
  for (std::uint32_t i = 0; i < 1'000'000; ++i) many.add(i, 1);
  EXPECT_NEAR(many.median(), 500'000, 2'000);
  spread_samples<15> weighted;
  weighted.add(7, 1'000'000);
  weighted.add(9, 10);
  EXPECT_EQ(weighted.median(), 7u);
}

}  // namespace timeline_cases
}  // namespace muster::web::test
