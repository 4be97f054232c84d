#include "server/journal/held_files.hpp"

#include "tests/journal/directory.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

TEST(held_files, are_consistent) {
  test::temporary_directory t;
  auto s = opened(t / "d");
  ASSERT_TRUE(s->write(some_entries(10)).ok());
  int tries = 0;
  auto const held = held_files::of(t / "d", [&] {
    if (++tries > 1) return;
    EXPECT_TRUE(s->compact().ok());  // changes the set of files
  });
  ASSERT_TRUE(held.has_value());
  EXPECT_EQ(tries, 2);
  EXPECT_TRUE((*held)->files().contains(file_of(t / "d", ".sst").filename()));
  auto const never = held_files::of(t / "d", [&] {
    EXPECT_TRUE(s->write(some_entries(10)).ok());
    EXPECT_TRUE(s->compact().ok());
  });
  ASSERT_FALSE(never.has_value());
  EXPECT_EQ(never.error().code, code::unavailable);
  EXPECT_NE(never.error().message.find("try again"), std::string::npos);
}

// The previous log is not flushed to a table yet.
TEST(held_files, no_log_is_included_without_the_previous_one) {
  test::temporary_directory t;
  auto const db = opened_as(t / "d", rocks::options());
  ASSERT_TRUE(db->Put({}, "1", "1").ok());
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  int tries = 0;
  auto const held = held_files::of(t / "d", [&] {
    if (++tries > 1) return;
    rocksdb::FlushOptions later;
    later.wait = false;
    EXPECT_TRUE(db->Put({}, "2", "2").ok());
    EXPECT_TRUE(db->Flush(later).ok());
    EXPECT_TRUE(db->Put({}, "3", "3").ok());
  });
  EXPECT_EQ(tries, 2);
  ASSERT_TRUE(db->ContinueBackgroundWork().ok());
  ASSERT_TRUE(db->Close().ok());
}

TEST(held_files, write_nothing) {
  test::temporary_directory t;
  ASSERT_TRUE(opened(t / "d")->write(some_entries()).ok());
  auto const held = *held_files::of(t / "d");
  auto const log = file_of(t / "d", ".log").string();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_TRUE(held->NewWritableFile(log, {}, &file, nullptr).IsNotSupported());
  EXPECT_TRUE(held->DeleteFile(log, {}, nullptr).IsNotSupported());
  EXPECT_TRUE(held->RenameFile(log, log + "2", {}, nullptr).IsNotSupported());
  EXPECT_TRUE(held->CreateDir((t / "d2").string(), {}, nullptr).IsNotSupported());
  EXPECT_TRUE(fs::exists(log));
}

}  // namespace
}  // namespace muster::server::journal
