#include "base/process/process.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <thread>

#include "base/process/line_splitter.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster {
namespace {

using std::chrono::milliseconds;

process_end shell(std::string const& script, process_options o = {}, std::stop_token stop = {}) {
  o.argv = {"sh", "-c", script};
  return run_process(o, stop);
}

TEST(process, exit_code_and_output_are_returned) {
  auto const end = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.stdout_tail, "out\n");
  EXPECT_EQ(end.stderr_tail, "err\n");
}

TEST(process, input_environment_and_directory_are_passed) {
  process_options o;
  o.standard_input = std::string(200'000, 'i');
  o.env = {{"MUSTER_TEST", "set"}};
  o.cwd = "/";
  EXPECT_EQ(shell("wc -c; echo $MUSTER_TEST; pwd", o).stdout_tail, "200000\nset\n/\n");
}

TEST(process, keeps_the_tail_of_long_output) {
  process_options o;
  o.tail_bytes_max = 1000;
  auto const end = shell("seq 1 100000", o);
  EXPECT_EQ(end.stdout_tail.size(), 1000u);
  EXPECT_TRUE(end.stdout_tail.ends_with("99999\n100000\n"));
}

TEST(process, progress_bar_is_reported_as_one_updated_line) {
  process_options o;
  std::vector<std::string> lines;
  std::stop_source stop;
  o.on_line = [&](process_stream from, std::string_view line) {
    if (from == process_stream::out) lines.emplace_back(line);  // the shell reports its sleep
    if (line == "50%\r") stop.request_stop();
  };
  shell(
      "trap 'printf \"\\r100%%\\nend\"; exit' TERM; printf 'first\\n10%%\\r50%%'; while :; do "
      "sleep 0.05; done",
      o, stop.get_token());
  EXPECT_EQ(lines, (std::vector<std::string>{"first", "50%\r", "100%", "end"}));
}

TEST(line_splitter, keeps_the_text_that_a_terminal_would_show) {
  std::vector<std::string> lines;
  line_splitter splitter([&](std::string_view l) { lines.emplace_back(l); }, 10);
  for (char const* piece : {"a\r\nb\r", "\n0123456789\r0", "12\r", "3", "\r", "\r4\n", "\n",
                            "01234567890\n", "\r\r", "x"})
    splitter.add(piece);
  splitter.end();
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "b", "4", "", "0123456789", "0", "x"}));
}

TEST(line_splitter, reports_an_unfinished_line_once_per_second) {
  std::vector<std::string> lines;
  line_splitter splitter([&](std::string_view l) { lines.emplace_back(l); });
  auto now = line_splitter::clock::time_point{} + std::chrono::hours(1);
  auto const look = [&](milliseconds later) { splitter.report_pending_line(now += later); };
  splitter.add("1");
  look(milliseconds(0));
  look(milliseconds(999));
  EXPECT_TRUE(lines.empty());
  look(milliseconds(1));
  look(milliseconds(5'000));
  EXPECT_EQ(lines, std::vector<std::string>{"1\r"}) << "it has not changed";
  splitter.add("\r2");
  look(milliseconds(0));
  splitter.add("\n");
  EXPECT_FALSE(splitter.stands());
  EXPECT_EQ(lines, (std::vector<std::string>{"1\r", "2\r", "2"}));
}

TEST(process, lines_are_reported_as_they_are_printed) {
  process_options o;
  std::vector<std::string> lines;
  std::stop_source stop;
  o.on_line = [&](process_stream from, std::string_view line) {
    lines.push_back((from == process_stream::out ? "out " : "err ") + std::string(line));
    if (line == "two") stop.request_stop();  // it would sleep for long otherwise
  };
  auto const end = shell("echo one; echo >&2 bad; printf 't'; printf 'wo\\n'; exec sleep 60", o,
                         stop.get_token());
  EXPECT_EQ(end.exit_code, 128 + 15);
  std::sort(lines.begin(), lines.end());  // the order of two streams is undefined
  EXPECT_EQ(lines, (std::vector<std::string>{"err bad", "out one", "out two"}));
}

TEST(process, unterminated_and_long_lines_are_reported) {
  process_options o;
  std::vector<std::size_t> sizes;
  o.on_line = [&](process_stream, std::string_view line) { sizes.push_back(line.size()); };
  shell("head -c 20000 /dev/zero; echo; printf end", o);
  EXPECT_EQ(sizes, (std::vector<std::size_t>{8192, 8192, 20000 - 2 * 8192, 3}));
}

TEST(process, terminating_signal_is_reported) {
  EXPECT_EQ(shell("kill -TERM $$").exit_code, 128 + 15);
}

TEST(process, missing_command_cannot_be_started) {
  process_options o;
  o.argv = {"/nowhere/program"};
  EXPECT_THROW(run_process(o, {}), std::system_error);
  o.argv = {};
  EXPECT_THROW(run_process(o, {}), std::invalid_argument);
  o.argv = {std::string("a\0b", 3)};
  EXPECT_THROW(run_process(o, {}), std::invalid_argument);
}

TEST(process, stop_request_ends_the_process_at_once) {
  std::stop_source stop;
  std::jthread const asking([&stop] {
    std::this_thread::sleep_for(milliseconds(50));
    stop.request_stop();
  });
  auto const start = std::chrono::steady_clock::now();
  auto const end = shell("sleep 60 & wait", {}, stop.get_token());
  EXPECT_EQ(end.exit_code, 128 + 15);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(process, process_that_ignores_the_signal_is_killed) {
  test::temporary_directory const directory;
  auto const ready = directory.path() + "/ready";
  std::stop_source stop;
  std::jthread const asking([&] {
    while (access(ready.c_str(), F_OK) != 0) std::this_thread::sleep_for(milliseconds(1));
    stop.request_stop();
  });
  process_options o;
  o.kill_after = milliseconds(100);
  auto const script = "trap '' TERM; touch " + ready + "; while :; do sleep 1; done";
  EXPECT_EQ(shell(script, o, stop.get_token()).exit_code, 128 + 9);
}

TEST(process, does_not_wait_for_leftover_processes) {
  process_options o;
  o.linger = milliseconds(50);
  auto const start = std::chrono::steady_clock::now();
  EXPECT_EQ(shell("sleep 20 & echo done", o).stdout_tail, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace muster
