// Replaces fsync() in this program, and checks which files are flushed, and when.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <filesystem>
#include <string>
#include <vector>

#include "server/disk/own_files.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

std::vector<std::string> synced;  // names of the flushed files, in order

}  // namespace

extern "C" int fsync(int fd) {
  std::error_code error;
  auto const path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
  synced.push_back(path.filename().string());
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace muster::server {
namespace {

std::vector<std::string> synced_by_keep(bool durable) {
  test::temporary_directory const directory;
  own_files files({.what = "blobs", .is_own = is_blob_name, .durable = durable});
  EXPECT_TRUE(files.open(directory / "blobs").ok());
  auto u = files.begin("unfinished");
  EXPECT_TRUE(u.file);
  synced.clear();
  EXPECT_EQ(files.keep(u, std::string(64, 'a')), 0);
  return synced;
}

TEST(own_files, durable_file_is_flushed_before_its_name_and_the_name_afterwards) {
  EXPECT_EQ(synced_by_keep(true), (std::vector<std::string>{"unfinished", "blobs"}));
}

TEST(own_files, other_files_are_not_flushed) {
  EXPECT_TRUE(synced_by_keep(false).empty());
}

}  // namespace
}  // namespace muster::server
