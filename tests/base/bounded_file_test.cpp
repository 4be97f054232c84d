#include "base/bounded_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace muster {
namespace {

struct bounded_file : ::testing::Test {
  std::string written(std::size_t bytes) {
    std::ofstream(path, std::ios::binary) << std::string(bytes, 'x');
    return path;
  }
  ~bounded_file() override { std::filesystem::remove(path); }
  std::string const path = ::testing::TempDir() + "bounded_" + std::to_string(::getpid());
};

TEST_F(bounded_file, is_read_whole_up_to_the_limit) {
  EXPECT_EQ(*read_bounded_file(written(0)), "");
  EXPECT_EQ(read_bounded_file(written(100'000))->size(), 100'000u);
  EXPECT_EQ(read_bounded_file(written(7), 7)->size(), 7u);
}

TEST_F(bounded_file, first_line_has_no_white_space_at_its_end) {
  std::ofstream(path, std::ios::binary) << "to ken \t\r\nnext";
  EXPECT_EQ(*first_line_of(path), "to ken");
  std::ofstream(path, std::ios::binary) << " \nnext";
  EXPECT_EQ(first_line_of(path).error().message, "its first line is empty");
  EXPECT_EQ(first_line_of("/nowhere/token").error().code, code::not_found);
}

TEST_F(bounded_file, beyond_the_limit_is_refused_with_the_limit) {
  EXPECT_EQ(read_bounded_file(written(8), 7).error().message, "is larger than 7 bytes");
  auto const endless = read_bounded_file("/dev/zero");
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, code::invalid_argument);
  EXPECT_EQ(endless.error().message, "is larger than 1 MiB");
}

TEST_F(bounded_file, unreadable_file_error_gives_the_reason) {
  EXPECT_EQ(read_bounded_file("/there/is/no/such").error().message, "No such file or directory");
  EXPECT_EQ(read_bounded_file("/").error().code, code::not_found);
}

/// Returns the path of a pipe with this content, like `<(…)` in a shell.
std::string pipe_with(std::string const& text) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  return "/dev/fd/" + std::to_string(ends[0]);
}

TEST_F(bounded_file, pipe_has_the_same_content_for_each_reader) {
  auto const first = pipe_with("one"), second = pipe_with("two");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(*read_bounded_file(first), "one");
    EXPECT_EQ(*read_bounded_file(second), "two");
  }
}

TEST_F(bounded_file, content_of_16_pipes_is_kept) {
  auto const first = pipe_with("first");
  EXPECT_EQ(*read_bounded_file(first), "first");
  for (std::size_t i = 1; i < named_pipes_max; ++i) (void)read_bounded_file(pipe_with("more"));
  EXPECT_EQ(*read_bounded_file(first), "first");
  (void)read_bounded_file(pipe_with("one more"));
  EXPECT_EQ(*read_bounded_file(first), "");
}

}  // namespace
}  // namespace muster
