#include "server/hub/programs/last_lines.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace {

using namespace std::chrono_literals;
using ranks = std::vector<std::uint32_t>;
using sizes = std::vector<std::uint64_t>;

struct last_lines_of_ranks : testing::Test {
  static constexpr core::stream_id a{1}, b{2};
  core::program_id const program{7};

  // Ranks 0 and 1 run on a, rank 2 on b.
  void look(core::time_point now, std::uint32_t attempt = 1) {
    asked.clear();
    lines.refresh(
        now, {program, attempt, 3}, [](std::uint32_t rank) { return rank < 2 ? a : b; },
        [this](core::stream_id stream, last_lines_query const& q) {
          asked[stream] = q;
          return stream != away;
        },
        [this] { ++done; });
  }
  std::vector<std::string> shown(std::uint32_t attempt = 1) const {
    std::vector<core::rank_view> all(3);
    for (std::uint32_t i = 0; i < 3; ++i) all[i].rank = i;
    lines.fill(program, attempt, all);
    return {all[0].last_line, all[1].last_line, all[2].last_line};
  }

  last_lines lines;
  std::map<core::stream_id, last_lines_query> asked;
  core::stream_id away{};
  int done = 0;
  core::time_point const t{1'000s};
};
using shows = std::vector<std::string>;

TEST_F(last_lines_of_ranks, each_worker_is_asked_once_for_all_of_its_ranks) {
  look(t);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[a].ranks, (ranks{0, 1}));
  EXPECT_EQ(asked[b].ranks, (ranks{2}));
  EXPECT_EQ(asked[a].sizes, (sizes{0, 0}));
  EXPECT_EQ(done, 0);
  lines.deliver(a, {program, 1, {{0, 4, "x"}, {1, 5, "y"}}});
  EXPECT_EQ(done, 0);
  lines.deliver(b, {program, 1, {}});
  EXPECT_EQ(done, 1);
  EXPECT_EQ(shown(), (shows{"x", "y", ""}));
}

TEST_F(last_lines_of_ranks, next_query_contains_known_sizes_and_is_rate_limited) {
  look(t);
  lines.deliver(a, {program, 1, {{0, 4, "x"}}});
  lines.deliver(b, {program, 1, {}});
  look(t + 500ms);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(done, 2);
  look(t + 1s);
  EXPECT_EQ(asked[a].sizes, (sizes{4, 0}));
}

TEST_F(last_lines_of_ranks, only_asked_workers_can_answer_for_their_own_ranks) {
  lines.deliver(a, {program, 1, {{0, 4, "unasked"}}});
  look(t);
  lines.deliver(b, {program, 1, {{0, 4, "of another worker"}, {9, 1, "none"}, {2, 3, "z"}}});
  lines.deliver(b, {program, 1, {{2, 4, "twice"}}});
  lines.deliver(a, {program, 2, {{0, 4, "of another attempt"}}});
  EXPECT_EQ(shown(), (shows{"", "", "z"}));
}

TEST_F(last_lines_of_ranks, disconnected_workers_are_not_awaited) {
  away = b;
  look(t);
  EXPECT_EQ(done, 0);
  lines.forget_worker(a);
  EXPECT_EQ(done, 1);
}

TEST_F(last_lines_of_ranks, worker_without_an_answer_is_not_asked_again) {
  look(t);
  lines.deliver(b, {program, 1, {}});
  look(t + 2s);
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked.contains(b));
}

TEST_F(last_lines_of_ranks, new_attempt_starts_without_lines) {
  look(t);
  lines.deliver(a, {program, 1, {{0, 4, "x"}}});
  look(t + 100ms, 2);
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(shown(1), (shows{"", "", ""}));
  EXPECT_EQ(shown(2), (shows{"", "", ""}));
  EXPECT_EQ(done, 1) << "callers that waited for the previous attempt are answered";
}

TEST_F(last_lines_of_ranks, least_recently_viewed_program_is_removed) {
  look(t);
  lines.deliver(a, {program, 1, {{0, 4, "x"}}});
  auto const worker = [](std::uint32_t) { return core::stream_id{}; };
  auto const ask = [](core::stream_id, last_lines_query const&) { return true; };
  for (std::uint64_t i = 1; i <= last_lines::programs_max; ++i)
    lines.refresh(t + 3s + 1ms * static_cast<int>(i), {core::program_id{100 + i}, 1, 1}, worker,
                  ask, {});
  EXPECT_EQ(shown(), (shows{"", "", ""}));
  EXPECT_EQ(done, 1);
}

TEST(last_line, is_shown_on_one_line_without_control_sequences) {
  EXPECT_EQ(displayable_line("\x1b[1;31mloss\x1b[0m 0.5"), "loss 0.5");
  EXPECT_EQ(displayable_line("\x1b]8;;http://x\x1b\\link\x1b]8;;\a end"), "link end");
  EXPECT_EQ(displayable_line("a\tb\x01\x7f"
                             "c  d\b"),
            "a b c  d");
  EXPECT_EQ(displayable_line("exe.\xE2\x80\xAEgnp \xE2\x81\xA6x\xD8\x9C"), "exe.gnp x");
  EXPECT_EQ(displayable_line("\xC2\x9B"
                             "1mx\xE2\x80\xA8y"),
            "1mxy");
  EXPECT_EQ(displayable_line("caf\xC3\xA9 \xFF"), "caf\xC3\xA9 \xEF\xBF\xBD");
  EXPECT_EQ(displayable_line("\x1b["), "");
  EXPECT_EQ(displayable_line("\x1b"), "");
  EXPECT_EQ(displayable_line(" \t "), "");
}

TEST(last_line, is_cut_between_characters) {
  std::string const umlauts = [] {
    std::string s;
    for (int i = 0; i < 300; ++i) s += "\xC3\xA4";
    return s;
  }();
  auto const shown = displayable_line(umlauts);
  EXPECT_LE(shown.size(), last_line_bytes_max);
  EXPECT_EQ(shown, umlauts.substr(0, 196) + "…");
}

TEST_F(last_lines_of_ranks, slow_worker_is_awaited_only_for_a_limited_time) {
  look(t);
  lines.deliver(a, {program, 1, {}});
  look(t + 2s);
  EXPECT_FALSE(asked.contains(b)) << "it was asked already";
  EXPECT_EQ(done, 0);
  asked.clear();
  lines.deliver(a, {program, 1, {}});
  lines.refresh(
      t + last_lines::patience, {program, 1, 3}, [](std::uint32_t) { return b; },
      [](core::stream_id, last_lines_query const&) { return false; }, {});
  EXPECT_EQ(done, 2);
}

TEST_F(last_lines_of_ranks, programs_beyond_the_limit_have_no_lines) {
  auto const watch = [this](std::uint64_t n, core::time_point now) {
    bool was_asked = false;
    lines.refresh(
        now, {core::program_id{n}, 1, 1}, [](std::uint32_t) { return a; },
        [&](core::stream_id, last_lines_query const&) { return was_asked = true; },
        [this] { ++done; });
    return was_asked;
  };
  for (std::uint64_t n = 1; n <= last_lines::programs_max; ++n) EXPECT_TRUE(watch(n, t));
  EXPECT_FALSE(watch(100, t + 1s)) << "other programs are viewed now";
  EXPECT_EQ(done, 1) << "and no caller waits";
  EXPECT_TRUE(watch(100, t + 2 * last_lines::every))
      << "the program that is no longer viewed is removed";
}

}  // namespace
}  // namespace muster::server
