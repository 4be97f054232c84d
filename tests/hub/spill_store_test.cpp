#include "server/hub/spill_store.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/support/temporary_directory.hpp"

namespace muster::server {
namespace {

namespace fs = std::filesystem;
using core::closure_id;
using core::move_kind;

core::value_move write(std::uint64_t id, std::string_view text,
                       core::encoding e = core::encoding::json) {
  return {move_kind::write, closure_id{id}, core::blob(text, e)};
}
core::value_move read(std::uint64_t id) {
  return {move_kind::read, closure_id{id}, {}};
}
core::value_move forget(std::uint64_t id) {
  return {move_kind::forget, closure_id{id}, {}};
}

struct spill : testing::Test {
  test::temporary_directory scratch;
  fs::path const directory = scratch / "values";

  ~spill() override {
    store.stop();
    std::error_code ignored;
    fs::permissions(directory, fs::perms::owner_all, ignored);
  }
  void start() {
    auto const started = store.start(directory, [this](core::values_moved m) {
      std::lock_guard const hold(mutex);
      std::move(m.moves.begin(), m.moves.end(), std::back_inserter(answers));
      arrived.notify_all();
    });
    ASSERT_TRUE(started.ok()) << started.message;
  }
  /// Waits for all answers; `forget` has none.
  std::vector<core::value_moved> done(std::vector<core::value_move> moves) {
    std::size_t expected = 0;
    for (auto const& m : moves) expected += m.kind != move_kind::forget;
    store.ask(std::move(moves));
    std::unique_lock hold(mutex);
    EXPECT_TRUE(arrived.wait_for(hold, std::chrono::seconds(60),
                                 [&] { return answers.size() >= expected; }));
    return std::exchange(answers, {});
  }
  std::vector<fs::path> segments() const {
    std::vector<fs::path> all;
    for (auto const& e : fs::directory_iterator(directory))
      if (e.path().filename() != "muster-values-lock") all.push_back(e.path());
    return all;
  }

  std::mutex mutex;
  std::condition_variable arrived;
  std::vector<core::value_moved> answers;
  spill_store store;
};

TEST_F(spill, written_values_can_be_read_repeatedly) {
  start();
  auto const answers_ =
      done({write(1, "\"one\""), write(2, std::string("\0\1", 2), core::encoding::bytes), read(2),
            read(1), read(1)});
  ASSERT_EQ(answers_.size(), 5u);
  for (auto const& a : answers_) EXPECT_TRUE(a.ok) << a.error;
  EXPECT_EQ(answers_[2].value, core::blob(std::string_view("\0\1", 2), core::encoding::bytes));
  EXPECT_EQ(answers_[3].value, core::blob("\"one\""));
  EXPECT_EQ(answers_[4].closure, closure_id{1});
}

TEST_F(spill, segment_is_deleted_with_its_last_value) {
  start();
  done({write(1, "1"), write(2, "2")});
  EXPECT_EQ(segments().size(), 1u) << "written together";
  done({write(3, "3")});
  EXPECT_EQ(segments().size(), 2u);
  EXPECT_TRUE(done({forget(1), read(2)})[0].ok);
  EXPECT_EQ(segments().size(), 2u);
  EXPECT_FALSE(done({forget(2), read(2)})[0].ok);
  EXPECT_EQ(segments().size(), 1u);
  EXPECT_TRUE(done({read(3)})[0].ok);
}

TEST_F(spill, a_large_batch_becomes_several_segments) {
  start();
  std::string const large(spill_store::segment_bytes / 2, 'x');
  auto const answers_ = done({write(1, large), write(2, large), write(3, large), read(3)});
  EXPECT_EQ(segments().size(), 2u);
  EXPECT_EQ(answers_.at(3).value.view(), large);
}

TEST_F(spill, files_of_an_earlier_server_are_removed_and_others_stay) {
  fs::create_directories(directory);
  std::ofstream(directory / "muster-values-7") << "old";
  std::ofstream(directory / "muster-values-8.tmp") << "old";
  std::ofstream(directory / "mine") << "a foreign file";
  start();
  EXPECT_EQ(segments(), std::vector{directory / "mine"});
  done({write(1, "1")});
  store.stop();
  EXPECT_EQ(segments(), std::vector{directory / "mine"});
}

TEST_F(spill, two_servers_do_not_share_a_directory) {
  start();
  spill_store other;
  auto const refused = other.start(directory, [](core::values_moved) {});
  EXPECT_EQ(
      refused.message,
      directory.string() +
          ": another server stores its values there; use a separate directory for each server");
  store.stop();
  EXPECT_TRUE(other.start(directory, [](core::values_moved) {}).ok());
}

TEST_F(spill, a_directory_that_cannot_be_made_is_an_error) {
  std::ofstream(directory) << "a file";
  auto const refused = store.start(directory, [](core::values_moved) {});
  EXPECT_EQ(refused.code, muster::code::failed_precondition);
  EXPECT_NE(refused.message.find(directory.string() + ": "), std::string::npos) << refused.message;
}

TEST_F(spill, damaged_or_removed_file_is_reported_to_the_reader) {
  start();
  done({write(1, "\"abc\"")});
  auto const file = segments().at(0);
  std::ofstream(file) << "\"xyz\"";
  EXPECT_EQ(done({read(1)})[0].error,
            file.string() + " is damaged: the checksum of a value does not match");
  std::ofstream(file) << "";
  EXPECT_FALSE(done({read(1)})[0].ok);
  fs::remove(file);
  EXPECT_EQ(done({read(1)})[0].error, file.string() + " cannot be read: No such file or directory");
}

// A file size limit simulates a full disk.
TEST_F(spill, full_disk_is_reported_and_leaves_no_partial_file) {
  start();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto const was = std::signal(SIGXFSZ, SIG_IGN);
  rlimit const small{1'000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  auto const answers_ = done({write(1, std::string(600, '1')), write(2, std::string(600, '2'))});
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, was);
  ASSERT_EQ(answers_.size(), 2u);
  for (auto const& a : answers_) {
    EXPECT_FALSE(a.ok);
    EXPECT_EQ(a.error,
              "values cannot be written to --spill-dir " + directory.string() + ": File too large");
  }
  EXPECT_TRUE(segments().empty());
  EXPECT_TRUE(done({write(1, "1"), read(1)})[1].ok) << "works again with room";
}

TEST_F(spill, disk_without_space_is_reported_as_such) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  start();
  fs::create_symlink("/dev/full", directory / "muster-values-1.tmp");
  auto const answers_ = done({write(1, "1"), read(1)});
  EXPECT_EQ(answers_[0].error, "values cannot be written to --spill-dir " + directory.string() +
                                   ": No space left on device");
  EXPECT_EQ(answers_[1].error, "it is not in --spill-dir " + directory.string());
  EXPECT_TRUE(segments().empty());
  EXPECT_TRUE(done({write(1, "1"), read(1)})[1].ok) << "works again with room";
}

}  // namespace
}  // namespace muster::server
