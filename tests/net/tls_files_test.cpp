#include "server/net/tls_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "tests/support/certificates.hpp"

namespace muster::net::test {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using muster::test::authority;

class tls_files_test : public ::testing::Test {
 protected:
  tls_files_test() {
    auto const* test = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::path(::testing::TempDir()) / ("muster_" + std::string(test->name()));
    fs::create_directories(directory_);
  }
  ~tls_files_test() override { fs::remove_all(directory_); }

  std::string write(std::string const& name, std::string const& text) {
    auto const path = directory_ / name;
    std::ofstream(path.string() + ".part") << text;
    fs::rename(path.string() + ".part", path);
    return path.string();
  }
  tls_paths write(muster::test::certificate const& c) {
    return {write("c.pem", c.chain_pem), write("c.key", c.key_pem), {}};
  }
  std::string error_of(tls_paths const& paths) {
    auto const loaded = load_tls(paths);
    EXPECT_FALSE(loaded);
    return loaded ? "" : loaded.error().message;
  }

  fs::path directory_;
  authority const authority_;
};

TEST_F(tls_files_test, pair_is_loaded_with_its_expiry) {
  auto const loaded = load_tls(write(authority_.issue({.ends = 24h})));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_FALSE(loaded->expired());
  auto const left = loaded->not_after - std::chrono::system_clock::now();
  EXPECT_LT(left, 24h + 1min);
  EXPECT_GT(left, 23h);
  auto const old = load_tls(write(authority_.issue({.starts = -3h, .ends = -1h})));
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->expired());
}

TEST_F(tls_files_test, unusable_file_is_named) {
  auto const good = write(authority_.issue());
  EXPECT_EQ(error_of({"/nowhere.pem", good.key, {}}),
            "certificate /nowhere.pem: No such file or directory");
  EXPECT_EQ(error_of({directory_.string(), good.key, {}}),
            "certificate " + directory_.string() + ": Is a directory");
  EXPECT_EQ(error_of({good.key, good.key, {}}),
            "certificate " + good.key + ": contains no PEM certificate");
  EXPECT_EQ(error_of({good.certificate, good.certificate, {}}),
            "key " + good.certificate + ": contains no PEM private key");
  auto const other = write("other.key", authority_.issue().key_pem);
  EXPECT_EQ(error_of({good.certificate, other, {}}),
            "key " + other + ": does not match the certificate " + good.certificate);
  EXPECT_EQ(error_of({good.certificate, good.key, good.key}),
            "client authority " + good.key + ": contains no PEM certificate");
  auto const large = write("large.pem", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(error_of({large, good.key, {}}), "certificate " + large + ": is larger than 1 MiB");
}

TEST_F(tls_files_test, new_pair_replaces_the_old_once_it_is_complete) {
  auto const paths = write(authority_.issue());
  auto loaded = load_tls(paths);
  ASSERT_TRUE(loaded);
  std::promise<std::string> broken, replaced;
  tls_files files(paths, *loaded, [&](bool warning, std::string const& line) {
    (warning ? broken : replaced).set_value(line);  // a second call would throw
  });
  auto const before = files.current();
  auto const next = authority_.issue();
  write("c.key", next.key_pem);
  auto told = broken.get_future();
  ASSERT_EQ(told.wait_for(20s), std::future_status::ready);
  EXPECT_NE(told.get().find("does not match the certificate"), std::string::npos);
  EXPECT_EQ(files.current(), before);
  write("c.pem", next.chain_pem);
  auto done = replaced.get_future();
  ASSERT_EQ(done.wait_for(20s), std::future_status::ready);
  EXPECT_EQ(files.current()->certificate, next.chain_pem);
  EXPECT_NE(files.current(), before);
}

}  // namespace
}  // namespace muster::net::test
