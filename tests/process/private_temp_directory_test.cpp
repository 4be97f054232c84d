#include "base/process/private_temp_directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/support/temporary_directory.hpp"

namespace muster {
namespace {

struct private_temp_directories : testing::Test {
  test::temporary_directory there;
  private_temp_directories() { ::setenv("TMPDIR", there.path().c_str(), 1); }
  ~private_temp_directories() override { ::unsetenv("TMPDIR"); }

  std::size_t count() const {
    std::filesystem::directory_iterator const all(there.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  // Leaves the directory of a killed process.
  void leave_one() const {
    auto const child = ::fork();
    if (child == 0) {
      private_temp_directory const made("left-");
      std::ofstream(made.path() / "file") << "text";
      ::raise(SIGKILL);
    }
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  }
};

TEST_F(private_temp_directories, are_removed_with_their_objects) {
  {
    private_temp_directory const one("mine-"), other("mine-");
    EXPECT_NE(one.path(), other.path());
    EXPECT_EQ(count(), 2u) << "neither treats the other as a leftover";
  }
  EXPECT_EQ(count(), 0u);
}

TEST_F(private_temp_directories, directory_of_a_killed_process_is_removed_by_the_next) {
  leave_one();
  leave_one();  // removes the first
  EXPECT_EQ(count(), 1u);
  private_temp_directory const other("other-");
  EXPECT_EQ(count(), 2u) << "a directory with another name belongs to another program";
  private_temp_directory const next("left-");
  EXPECT_EQ(count(), 2u);
  EXPECT_TRUE(std::filesystem::exists(next.path() / "lock"));
}

TEST_F(private_temp_directories, directories_of_python_workers_are_removed_if_their_owner_died) {
  for (auto const* name : {"muster-worker-dead", "muster-worker-alive", "muster-local-dead"})
    std::filesystem::create_directory(there / name);
  std::ofstream(there / "muster-worker-file") << "no directory";
  file_descriptor const alive(
      ::open((there / "muster-worker-alive").c_str(), O_RDONLY | O_DIRECTORY));
  ASSERT_EQ(::flock(alive.get(), LOCK_EX), 0);
  private_temp_directory const next("left-");
  EXPECT_EQ(count(), 3u);
  EXPECT_TRUE(std::filesystem::exists(there / "muster-worker-alive"));
}

TEST_F(private_temp_directories, directories_without_a_lock_are_kept) {
  std::filesystem::create_directories(there / "left-old" / "work");
  std::filesystem::create_directory_symlink("/", there / "left-link");
  private_temp_directory const next("left-");
  EXPECT_EQ(count(), 3u);
}

}  // namespace
}  // namespace muster
