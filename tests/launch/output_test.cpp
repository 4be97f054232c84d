#include "launch/output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/executor_work_guard.hpp>

#include "tests/support/temporary_directory.hpp"

namespace muster::launch {
namespace {

TEST(task_output, limited_file_keeps_the_newest_lines) {
  test::temporary_directory directory;
  boost::asio::io_context io;
  output o(io, {.shown = false,
                .prefix = false,
                .directory = directory.path(),
                .file_bytes_max = std::uint64_t{2} << 20});
  auto const task = o.add_task("3");
  std::string const line(1023, 'x');
  auto const work = boost::asio::make_work_guard(io);
  auto const await = [&](auto const& begin) {
    bool done = false;
    begin([&done] { done = true; });
    while (!done) io.run_one();
  };
  for (int i = 0; i < 6 * 1024; ++i) {
    o.line(task, output::stream::out, line);
    // The reader pauses while the buffer is full.
    if (i % 1024 == 0) await([&](auto written) { o.mark(written); });
  }
  o.line(task, output::stream::err, "the last one");
  await([&](auto written) { o.finish(written); });
  auto const path = directory / "3.log";
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_size, (6 << 20) + 13);
  EXPECT_LE(about.st_blocks * 512, 4 << 20) << "the older part of the file is a hole";
  auto const text = test::read_file(path);
  EXPECT_EQ(text.substr(text.size() - 14), "\nthe last one\n");
  EXPECT_EQ(text[3 << 20], '\0');
  EXPECT_EQ(text[5 << 20], 'x');
}

TEST(task_output, pipes_and_files_get_only_whole_lines) {
  test::temporary_directory directory;
  boost::asio::io_context io;
  ::testing::internal::CaptureStdout();
  output o(io, {.shown = true, .prefix = false, .directory = directory.path()});
  auto const task = o.add_task("3");
  o.unfinished(task, output::stream::out, "half");
  o.line(task, output::stream::out, "half done");
  bool done = false;
  auto const work = boost::asio::make_work_guard(io);
  o.finish([&done] { done = true; });
  while (!done) io.run_one();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "half done\n");
  EXPECT_EQ(test::read_file(directory / "3.log"), "half done\n");
}

TEST(task_output, cuts_an_unfinished_line) {
  test::temporary_directory directory;
  boost::asio::io_context io;
  output o(io, {.shown = false, .directory = directory.path()});
  auto const task = o.add_task("3");
  o.unfinished(task, output::stream::out, std::string(output::unfinished_bytes_max + 1, 'x'));
  bool done = false;
  auto const work = boost::asio::make_work_guard(io);
  o.finish([&done] { done = true; });
  while (!done) io.run_one();
  EXPECT_EQ(test::read_file(directory / "3.log"),
            std::string(output::unfinished_bytes_max, 'x') + '\r');
}

}  // namespace
}  // namespace muster::launch
