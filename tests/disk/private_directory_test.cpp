#include "server/disk/private_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/e2e/cluster.hpp"

namespace muster::e2e {
namespace {

namespace fs = std::filesystem;
using server::mode_of;

class private_directory : public ::testing::Test {
 protected:
  private_directory() : before_(::umask(022)) {}
  ~private_directory() override { ::umask(before_); }

  void stop(process& server) {
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait(), 0);
  }
  void put_blob() {
    muster::http_request r;
    r.method = "PUT";
    r.body = std::string(2'000'000, 'b');
    r.url = c.url() + "/api/v1/blobs/" + sha256;
    auto const answer = muster::http_client().send(r);
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 201u) << answer->body;
  }

  // Of 2,000,000 times 'b', too many bytes for memory.
  static constexpr auto sha256 = "5b48d4be723fdf466901528c75ff5c27000f7f8f3795fabb526d59e79a6267fc";
  cluster c;

 private:
  mode_t const before_;
};

TEST_F(private_directory, is_made_for_its_owner_whatever_the_umask) {
  auto const data = c.file("above/data"), values = c.file("values"), copy = c.file("copies/copy");
  auto& server = c.serve({"--data-dir", data, "--spill-dir", values});
  put_blob();
  for (auto const& d : {data, data / "blobs", values}) EXPECT_EQ(mode_of(d), 0700u) << d;
  EXPECT_EQ(mode_of(c.file("above")), 0755u) << "the parent directory is not restricted";
  EXPECT_EQ(server.errors().find("closed_to_others"), std::string::npos) << server.errors();
  stop(server);

  ASSERT_EQ(c.run({"data", "backup", data, copy}).status, 0);
  for (auto const& d : {copy, copy / "blobs"}) EXPECT_EQ(mode_of(d), 0700u) << d;
  fs::create_directory(c.file("again"));
  ASSERT_EQ(c.run({"data", "restore", copy, c.file("again")}).status, 0);
  EXPECT_EQ(mode_of(c.file("again")), 0700u);
}

TEST_F(private_directory, of_an_earlier_server_is_restricted_and_logged_at_the_start) {
  auto const data = c.file("data"), values = c.file("values");
  words const flags{"--data-dir", data, "--spill-dir", values};
  auto& first = c.serve(flags);
  put_blob();
  stop(first);
  for (auto const& d : {data, data / "blobs", values}) ASSERT_EQ(::chmod(d.c_str(), 0755), 0);
  EXPECT_EQ(c.run({"data", "backup", data, c.file("copy")}).status, 0);
  EXPECT_EQ(mode_of(c.file("copy")), 0700u);
  EXPECT_EQ(mode_of(data), 0755u) << "a backup changes nothing";

  auto& second = c.serve(flags);
  for (auto const& d : {data, data / "blobs", values}) EXPECT_EQ(mode_of(d), 0700u) << d;
  for (auto const& line : {"closed_to_others data_dir=" + data.string() + " mode_before=0755",
                           "closed_to_others spill_dir=" + values.string() + " mode_before=0755"})
    EXPECT_TRUE(second.says(line));
  stop(second);
}

TEST_F(private_directory, is_created_by_commands_without_a_server_too) {
  auto const data = c.file("data");
  fs::create_directory(data);
  auto const made = c.run({"token", "create", "--role", "viewer", "--data-dir", data});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(mode_of(data), 0700u);
}

TEST_F(private_directory, foreign_directories_keep_their_permissions) {
  auto const shared = c.file("shared"), papers = c.file("papers");
  for (auto const& d : {shared, papers}) fs::create_directory(d), std::ofstream(d / "paper") << "";
  auto& server = c.serve({"--spill-dir", shared});
  EXPECT_EQ(mode_of(shared), 0755u);
  EXPECT_EQ(mode_of(shared / "muster-values-lock"), 0600u);
  put_blob();
  EXPECT_EQ(mode_of(shared / "blobs"), 0700u);
  stop(server);
  EXPECT_EQ(
      c.spawn({"serve", "--http", "127.0.0.1:0", "--grpc", "127.0.0.1:0", "--data-dir", papers})
          .wait(),
      2);
  EXPECT_EQ(mode_of(papers), 0755u);
}

TEST_F(private_directory, foreign_directories_with_the_same_name_keep_their_permissions) {
  auto const shared = c.file("shared"), blobs = shared / "blobs", papers = c.file("papers");
  for (auto const& d : {shared, blobs, papers}) fs::create_directory(d);
  auto& server = c.serve({"--data-dir", c.file("data"), "--spill-dir", shared});
  EXPECT_EQ(mode_of(blobs), 0755u) << "the data directory has the blobs of this server";
  EXPECT_EQ(mode_of(shared), 0755u);
  stop(server);
  fs::remove(blobs);
  fs::create_directory_symlink(papers, blobs);
  auto& other = c.serve({"--spill-dir", shared});
  EXPECT_EQ(mode_of(papers), 0755u);
  stop(other);
}

}  // namespace
}  // namespace muster::e2e
