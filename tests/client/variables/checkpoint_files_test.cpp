#include "client/variables/checkpoint_files.hpp"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace muster::detail {
namespace {

namespace fs = std::filesystem;

struct checkpoint_files : testing::Test {
  test::temporary_directory folder;
  fs::path const path = fs::path(folder.path()) / "c";

  static array_view view(std::vector<float> const& all, shape of) {
    return view_of(std::span(all), std::move(of));
  }
  std::uint64_t write(float first) {
    checkpoint_writer out(path);
    std::vector<float> const top{first, 2, 3, 4}, bottom{5, 6}, m{1, 1, 1, 1}, more{2, 2};
    std::int64_t const step = 7;
    out.variable("w", {3, 2}, "float32");
    out.rows("w", 0, {{"", view(top, {2, 2})}, {"m", view(m, {2, 2})}, {"step", scalar_view(step)}},
             3);
    out.rows("w", 2, {{"", view(bottom, {1, 2})}, {"m", view(more, {1, 2})}}, 5);
    out.object("o", std::to_string(first));
    return out.finish();
  }
  /// Returns the first number of the newest checkpoint, after checking all its rows.
  float found() const {
    auto const newest = newest_checkpoint(path).newest;
    auto const rows = newest->rows("w", 0, 3).first;
    auto const n = floats(rows.at(0)).at(0);
    EXPECT_EQ(floats(rows.at(0)), (std::vector<float>{n, 2, 3, 4, 5, 6}));
    EXPECT_EQ(floats(rows.at(1)), (std::vector<float>{1, 1, 1, 1, 2, 2}));
    EXPECT_EQ(newest->object("o"), std::to_string(n));
    return n;
  }
  static std::vector<float> floats(checkpoint_reader::part const& p) {
    std::vector<float> all(p.data.size() / sizeof(float));
    copy(p.view(), all.data());
    return all;
  }
  static std::string text_of(fs::path const& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(fs::path const& file, std::string const& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
};

TEST_F(checkpoint_files, rows_are_restored_into_other_partitions) {
  EXPECT_EQ(newest_checkpoint(path).newest, nullptr);
  EXPECT_EQ(write(1), 1u);
  auto const found = newest_checkpoint(path);
  ASSERT_TRUE(found.newest);
  found.newest->check("w", {3, 2}, "float32");
  EXPECT_EQ(found.newest->arrays_of("w"), 3u);
  auto const [parts, version] = found.newest->rows("w", 1, 3);
  EXPECT_EQ(version, 5);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].shape, (shape{2, 2}));
  EXPECT_EQ(floats(parts[0]), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(parts[1].slot, "m");
  EXPECT_EQ(floats(parts[1]), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(parts[2].shape, shape{});
  EXPECT_THROW(found.newest->check("w", {2, 2}, "float32"), std::invalid_argument);
  EXPECT_THROW(found.newest->check("w", {3, 2}, "float64"), std::invalid_argument);
  EXPECT_THROW(found.newest->check("v", {3, 2}, "float32"), std::invalid_argument);
}

TEST_F(checkpoint_files, truncated_or_changed_checkpoints_are_skipped) {
  write(1);
  write(2);
  for (std::string const name : {"manifest.json", "data"}) {
    auto const file = path / "checkpoint-2" / name;
    auto const whole = text_of(file);
    for (std::size_t n = 0; n < whole.size(); n += 1 + whole.size() / 50) {
      put(file, whole.substr(0, n));
      EXPECT_EQ(newest_checkpoint(path).newest->number(), 1u) << name << " " << n;
      auto changed = whole;
      changed[n] ^= 1;
      put(file, changed);
      auto const found = newest_checkpoint(path);
      EXPECT_EQ(found.newest->number(), 1u) << name << " " << n;
      EXPECT_EQ(found.wrong.size(), 1u);
    }
    fs::remove(file);
    EXPECT_EQ(newest_checkpoint(path).newest->number(), 1u);
    put(file, whole);
    EXPECT_EQ(newest_checkpoint(path).newest->number(), 2u);
  }
}

TEST_F(checkpoint_files, unfinished_checkpoint_is_ignored_and_then_removed) {
  write(1);
  { checkpoint_writer const given_up(path); }
  EXPECT_TRUE(checkpoints_in(path, true).empty());
  fs::create_directory(path / "checkpoint-2.tmp");  // of a killed process
  EXPECT_EQ(write(3), 3u);
  tidy_checkpoints(path, 3, {});
  EXPECT_TRUE(checkpoints_in(path, true).empty());
  EXPECT_EQ(checkpoints_in(path), (std::vector<std::uint64_t>{1, 3}));
  tidy_checkpoints(path, 3, 1);
  EXPECT_EQ(checkpoints_in(path), (std::vector<std::uint64_t>{3}));
  EXPECT_TRUE(checkpoints_in(path, true).empty());
}

// Runs f in a child process, and kills it at its n-th system call. Returns false if f finished
// before.
template <class F>
bool is_killed_at(int n, F f) {
  auto const child = ::fork();
  if (child == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::raise(SIGSTOP);
    f();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  for (int i = 0; i < 2 * n + 1 && WIFSTOPPED(status); ++i) {  // stops before and after each call
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
  }
  if (!WIFSTOPPED(status)) {
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    return false;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return true;
}

TEST_F(checkpoint_files, are_complete_whenever_their_writer_is_killed) {
  int n = 0;
  for (;; ++n) {
    fs::remove_all(path);
    write(1);
    auto const next = [this] { tidy_checkpoints(path, write(2), 1); };
    bool const killed = is_killed_at(n, next);
    auto const now = found();
    EXPECT_TRUE(now == 2 || (killed && now == 1)) << n << ": " << now;
    tidy_checkpoints(path, write(3), 1);
    EXPECT_EQ(found(), 3) << n << ": the next checkpoint continues from it";
    EXPECT_EQ(std::distance(fs::directory_iterator(path), {}), 1) << n;
    if (!killed) break;
  }
  EXPECT_GT(n, 20);
}

TEST_F(checkpoint_files, only_json_object_states_are_accepted) {
  write(1);
  auto const in = newest_checkpoint(path).newest;
  EXPECT_NO_THROW(in->check_object("o"));
  EXPECT_THROW(in->check_object("w"), std::invalid_argument);
}

// The expected texts are results of json.dumps(…, sort_keys=True).
TEST_F(checkpoint_files, manifest_json_equals_that_of_python) {
  boost::json::object const o{
      {"b", boost::json::array{1, -2, "x\n\"\\\x7f"}}, {"a", boost::json::object()}, {"ä", "€😀"}};
  EXPECT_EQ(python_json(o),
            R"({"a": {}, "b": [1, -2, "x\n\"\\\u007f"], "\u00e4": "\u20ac\ud83d\ude00"})");
}

}  // namespace
}  // namespace muster::detail
