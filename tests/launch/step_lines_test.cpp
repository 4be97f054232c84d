#include "launch/ranks/step_lines.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/process/steps/step_layout.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::launch {
namespace {

struct steps_in_lines : testing::Test {
  steps_in_lines() { make(file); }
  static void make(std::string const& path) {
    steps::layout const page{.magic = steps::magic};
    std::ofstream(path).write(reinterpret_cast<char const*>(&page), sizeof page);
  }
  steps::layout page() const {
    steps::layout p;
    std::ifstream(file).read(reinterpret_cast<char*>(&p), sizeof p);
    return p;
  }
  test::temporary_directory dir;
  std::string const file = (dir / "7.1.0").string();
};

TEST_F(steps_in_lines, are_recorded_with_the_time_of_the_line) {
  step_lines lines("step[ =:]+(\\d+)", file);
  for (auto const* line : {"loading", "epoch 1 step 4 loss 0.5", "step 4 again", "step=5",
                           "step: x", "step 99999999999999999999", "step 9007199254740993"})
    lines.take(line);
  auto const p = page();
  ASSERT_EQ(p.count, 2) << "a repeated step counts once, and a too large number is ignored";
  EXPECT_EQ(p.entries[0].step, 4);
  EXPECT_EQ(p.entries[1].step, 5);
  EXPECT_GT(p.entries[0].ns, 0);
  EXPECT_LE(p.entries[0].ns, p.entries[1].ns);
}

TEST_F(steps_in_lines, ring_in_the_file_wraps_around) {
  step_lines lines("(\\d+)", file);
  for (std::size_t i = 0; i < steps::ring + 3; ++i) lines.take(std::to_string(i));
  auto const p = page();
  EXPECT_EQ(p.count, steps::ring + 3);
  EXPECT_EQ(p.entries[2].step, steps::ring + 2);
  EXPECT_EQ(p.entries[3].step, 3);
  EXPECT_EQ(std::filesystem::file_size(file), sizeof(steps::layout));
}

TEST_F(steps_in_lines, only_the_beginning_of_a_long_line_is_searched) {
  step_lines lines("step (\\d+)", file);
  lines.take(std::string(step_lines::line_bytes_max, 'x') + "step 3");
  EXPECT_EQ(page().count, 0);
}

TEST_F(steps_in_lines, are_ignored_without_a_file_or_a_pattern) {
  for (auto const* pattern : {"(", "no group", ""}) {
    step_lines lines(pattern, file);
    lines.take("step 3 no group");
  }
  EXPECT_EQ(page().count, 0);
  auto const other = (dir / "other").string();
  std::ofstream(other) << "precious";
  std::filesystem::create_symlink(file, dir / "link");
  for (auto const& path :
       {other, (dir / "link").string(), (dir / "none").string(), std::string()}) {
    step_lines lines("(\\d+)", path);
    lines.take("3");
  }
  EXPECT_EQ(page().count, 0);
  std::ifstream in(other);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "precious");
}

// A rank can truncate its file at any time.
TEST_F(steps_in_lines, truncated_file_is_harmless) {
  step_lines lines("(\\d+)", file);
  lines.take("1");
  ASSERT_EQ(::truncate(file.c_str(), 0), 0);
  lines.take("2");
  EXPECT_EQ(page().entries[1].step, 2);
}

}  // namespace
}  // namespace muster::launch
