#include "server/hub/blob_store.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/no_room.hpp"
#include "tests/blobs/hash.hpp"
#include "tests/blobs/loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class BlobStore : public testing::Test {
 protected:
  void SetUp() override {
    options.files.small_max = 16;
    options.limits.bytes_max = 1'000;
    options.limits.blob_bytes_max = 500;
    options.uploads_max = 2;
  }
  void TearDown() override { store.reset(); }
  void open(bool durable = false, bool named = true) {
    store.reset();
    options.files.durable = durable;
    if (named) options.files.directory = directory / "blobs";
    store = std::make_unique<blob_store>(
        options, blob_dependencies{[this] { return now; },
                                   [this](std::function<void()> work) { engine.post(work); }});
    ASSERT_TRUE(store->start().ok());
  }
  template <class Ask>
  muster::status answer(Ask ask) {
    std::optional<muster::status> said;
    ask([&said](muster::status s) { said = std::move(s); });
    engine.run_until([&] { return said.has_value(); });
    return *said;
  }
  muster::status append(blob_store::upload_id id, std::string piece) {
    return answer([&](auto done) { store->append(id, std::move(piece), done); });
  }
  muster::status finish(blob_store::upload_id id) {
    return answer([&](auto done) { store->finish(id, done); });
  }
  muster::status put(std::string const& bytes, std::string const& name = {}) {
    auto const id = store->begin(name.empty() ? hash_of(bytes) : name, std::nullopt);
    if (!id) return id.error();
    for (std::size_t at = 0; at < bytes.size(); at += 100)
      if (auto const said = append(*id, bytes.substr(at, 100)); !said.ok()) {
        store->abandon(*id);
        return said;
      }
    return finish(*id);
  }
  muster::result<std::string> read(std::string const& bytes, std::uint64_t offset = 0) {
    std::optional<muster::result<std::string>> said;
    store->read(hash_of(bytes), offset, 1'000, [&said](auto got) { said = std::move(got); });
    engine.run_until([&] { return said.has_value(); });
    return *said;
  }
  std::size_t files() const {
    if (!fs::exists(directory / "blobs")) return 0;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(directory / "blobs"), fs::directory_iterator()));
  }

  test::temporary_directory directory;
  blob_store_options options;
  core::time_point now{1'000s};
  loop engine;
  std::unique_ptr<blob_store> store;
  std::string const small = "small", large = std::string(300, 'x') + "large";
};

TEST_F(BlobStore, SmallBlobsAreInMemoryAndLargeOnesInFiles) {
  open();
  ASSERT_TRUE(put(small).ok());
  EXPECT_EQ(files(), 0u);
  ASSERT_TRUE(put(large).ok());
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read(small).value(), small);
  EXPECT_EQ(read(large).value(), large);
  EXPECT_EQ(read(large, 300).value(), "large");
  EXPECT_EQ(read(large, 305).value(), "");
  EXPECT_EQ(store->counts().bytes, small.size() + large.size());
  store->stop();
  EXPECT_EQ(files(), 0u);
}

TEST_F(BlobStore, NameOfAnUploadThatCannotBeStoredIsFree) {
  open(true);
  std::string const other(300, 'y');
  auto const hex = blob_hex_of(hash_of(other));
  auto const occupied = directory / "blobs" / ("put-as-" + hex);
  fs::create_directories(occupied);
  auto const id = store->begin(hash_of(large), std::nullopt, hash_of(other));
  ASSERT_TRUE(id);
  ASSERT_TRUE(append(*id, large).ok());
  EXPECT_FALSE(finish(*id).ok());
  fs::remove(occupied);
  ASSERT_TRUE(put(other).ok());
  EXPECT_TRUE(fs::exists(directory / "blobs" / hex)) << "stored under its hash, so it is durable";
}

TEST_F(BlobStore, BlobsOfProgramsAreKeptWhileTheyAreNamed) {
  open();
  auto const blobs_later = [&] {
    now += 20min;
    store->sweep([](core::closure_id) { return false; });
    return store->counts().blobs;
  };
  ASSERT_TRUE(put(small).ok());
  ASSERT_TRUE(put(large).ok());
  store->keep({hash_of(large)});
  EXPECT_EQ(blobs_later(), 1u);
  store->keep({hash_of(large), hash_of(small)});
  ASSERT_TRUE(put(small).ok()) << "it was named before it was put again";
  EXPECT_EQ(blobs_later(), 2u);
  EXPECT_EQ(store->counts().held, 2u);
  store->keep({});
  EXPECT_EQ(blobs_later(), 0u);
}

TEST_F(BlobStore, BlobsOfProgramsAreKeptOnceThereIsRoomForTheirNames) {
  options.limits.blobs_max = 2;
  open();
  auto const first = std::string(32, '\0'), second = std::string(32, '\1');
  store->keep({first, second, hash_of(small)});
  store->keep({first, hash_of(small)});
  store->keep({first, hash_of(small)});
  store->keep({hash_of(small)});
  ASSERT_TRUE(put(small).ok());
  now += 20min;
  store->sweep([](core::closure_id) { return false; });
  EXPECT_EQ(store->counts().blobs, 1u);
}

TEST_F(BlobStore, BlobsSurviveTheProcessWithADataDirectory) {
  open(true);
  ASSERT_TRUE(put(small).ok());
  ASSERT_TRUE(put(large).ok());
  EXPECT_EQ(files(), 2u);
  auto const unfinished = store->begin(hash_of("y"), std::nullopt);
  ASSERT_TRUE(append(*unfinished, std::string(100, 'y')).ok());
  open(true);
  EXPECT_EQ(files(), 2u);
  EXPECT_EQ(read(small).value(), small);
  EXPECT_EQ(read(large).value(), large);
}

TEST_F(BlobStore, BytesThatDoNotMatchTheNameAreRefused) {
  open();
  auto const said = put(large, hash_of(small));
  EXPECT_EQ(said.code, code::invalid_argument);
  EXPECT_NE(said.message.find(blob_hex_of(hash_of(large))), std::string::npos);
  EXPECT_FALSE(store->size_of(hash_of(small)));
  EXPECT_EQ(store->counts().bytes, 0u);
  EXPECT_EQ(files(), 0u);
}

TEST_F(BlobStore, AbortedUploadLeavesNothing) {
  open();
  auto const id = store->begin(hash_of(large), large.size());
  EXPECT_EQ(store->counts().bytes, large.size());
  ASSERT_TRUE(append(*id, large.substr(0, 100)).ok());
  EXPECT_EQ(read(large).error().code, code::not_found);
  store->abandon(*id);
  store->abandon(*id);
  EXPECT_EQ(store->counts().bytes, 0u);
  ASSERT_TRUE(put(large).ok());
  EXPECT_EQ(files(), 1u);
}

TEST_F(BlobStore, FewerOrMoreBytesThanAnnouncedAreRefused) {
  open();
  auto const less = store->begin(hash_of(large), large.size());
  ASSERT_TRUE(append(*less, large.substr(1)).ok());
  EXPECT_EQ(finish(*less).code, code::invalid_argument);
  auto const more = store->begin(hash_of(large), large.size());
  EXPECT_EQ(append(*more, large + "x").code, code::invalid_argument);
  store->abandon(*more);
  EXPECT_EQ(store->counts().bytes, 0u);
}

TEST_F(BlobStore, TwoConcurrentUploadsOfOneBlobSucceed) {
  open();
  auto const one = store->begin(hash_of(large), large.size());
  auto const other = store->begin(hash_of(large), large.size());
  EXPECT_EQ(store->begin(hash_of(small), 1).error().code, code::resource_exhausted);
  ASSERT_TRUE(append(*one, large).ok());
  ASSERT_TRUE(append(*other, large).ok());
  EXPECT_TRUE(finish(*one).ok());
  EXPECT_TRUE(finish(*other).ok());
  EXPECT_EQ(store->counts().bytes, large.size());
  EXPECT_EQ(files(), 1u);
  EXPECT_EQ(read(large).value(), large);
}

TEST_F(BlobStore, BlobEvictedDuringItsUploadIsStored) {
  open();
  ASSERT_TRUE(put(large).ok());
  auto const again = store->begin(hash_of(large), large.size());
  ASSERT_TRUE(append(*again, large).ok());
  now += 10min;
  store->sweep([](core::closure_id) { return false; });
  EXPECT_FALSE(store->size_of(hash_of(large)));
  EXPECT_TRUE(finish(*again).ok());
  EXPECT_EQ(read(large).value(), large);
}

TEST_F(BlobStore, BlobsAndTheirTotalAreLimited) {
  open();
  EXPECT_EQ(put(std::string(501, 'x')).code, code::out_of_range);
  EXPECT_EQ(store->begin(hash_of("x"), 501).error().code, code::out_of_range);
  ASSERT_TRUE(put(std::string(500, 'a')).ok());
  ASSERT_TRUE(put(std::string(500, 'b')).ok());
  EXPECT_EQ(put(std::string(20, 'c')).code, code::resource_exhausted);
  EXPECT_EQ(store->counts().bytes, 1'000u);
  now += 31s;
  EXPECT_TRUE(put(std::string(20, 'c')).ok());
}

TEST_F(BlobStore, AValueKeepsTheBlobThatItNames) {
  open();
  ASSERT_TRUE(put(large).ok());
  auto const value = R"({"$blob":")" + blob_hex_of(hash_of(large)) + R"(","bytes":305})";
  EXPECT_EQ(blob_named_by(value), hash_of(large));
  store->name(core::closure_id{7}, blob_named_by(value));
  now += 24h;
  bool there = true;
  auto const has_value = [&](core::closure_id id) { return id == core::closure_id{7} && there; };
  store->sweep(has_value);
  EXPECT_EQ(read(large).value(), large);
  EXPECT_EQ(store->counts().held, 1u);
  there = false;
  store->sweep(has_value);
  EXPECT_EQ(store->counts().held, 0u);
  now += 10min;
  store->sweep(has_value);
  EXPECT_FALSE(store->size_of(hash_of(large)));
}

TEST_F(BlobStore, LeaseKeepsTheBlobsNamedByArguments) {
  open();
  ASSERT_TRUE(put(large).ok());
  for (int i = 0; i < 3; ++i) {
    now += 9min;
    store->sweep([](core::closure_id) { return false; });
    EXPECT_TRUE(store->lease(hash_of(large)));
  }
  EXPECT_FALSE(store->lease(hash_of(small)));
}

TEST_F(BlobStore, OneSweepExaminesALimitedNumberOfClosures) {
  open();
  ASSERT_TRUE(put(large).ok());
  auto const n = blob_store::looks * 2;
  for (std::size_t i = 1; i <= n; ++i) store->name(core::closure_id{i}, hash_of(large));
  std::size_t looked = 0;
  auto const has_value = [&looked](core::closure_id) {
    ++looked;
    return true;
  };
  store->sweep(has_value);
  EXPECT_EQ(looked, blob_store::looks);
  store->sweep(has_value);
  store->sweep(has_value);
  EXPECT_GE(looked, n);
}

TEST_F(BlobStore, OwnDirectoryIsRemovedWithTheStore) {
  auto const own = [] {
    std::size_t n = 0;
    for (auto const& e : fs::directory_iterator(fs::temp_directory_path()))
      n += e.path().filename().string().starts_with("muster-blobs-") ? 1 : 0;
    return n;
  };
  auto const left_over = fs::temp_directory_path() / "muster-blobs-killed";
  fs::create_directories(left_over);
  open(false, false);
  ASSERT_TRUE(put(large).ok());
  EXPECT_FALSE(fs::exists(left_over));
  EXPECT_GE(own(), 1u);
  EXPECT_EQ(read(large).value(), large);
}

TEST_F(BlobStore, FilesOfAnEarlierServerAreRemovedAndOthersStay) {
  fs::create_directories(directory / "blobs" / "papers");
  std::ofstream(directory / "blobs" / "mine") << "not of a server";
  std::ofstream(directory / "blobs" / "put-7") << "broken off";
  std::ofstream(directory / "blobs" / blob_hex_of(hash_of(large))) << large;
  open();
  EXPECT_EQ(files(), 2u);
  EXPECT_FALSE(store->size_of(hash_of(large)));
  ASSERT_TRUE(put(large).ok());
  store->stop();
  EXPECT_EQ(files(), 2u) << "files of other programs are kept";
}

TEST_F(BlobStore, TwoServersDoNotShareADirectory) {
  open();
  ASSERT_TRUE(put(large).ok());
  auto const first = std::move(store);
  store = std::make_unique<blob_store>(
      options, blob_dependencies{[this] { return now; },
                                 [this](std::function<void()> work) { engine.post(work); }});
  auto const refused = store->start();
  EXPECT_EQ(refused.code, code::failed_precondition);
  EXPECT_EQ(
      refused.message,
      (directory / "blobs").string() +
          ": another server stores its blobs there; use a separate directory for each server");
  first->stop();
  EXPECT_TRUE(store->start().ok());
}

// A limit on the size of files simulates a disk that fails during a write.
TEST_F(BlobStore, AWriteThatFailsLeavesNoHalfFile) {
  open();
  ASSERT_TRUE(put(large).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto const was = std::signal(SIGXFSZ, SIG_IGN);
  rlimit const at_most{150, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &at_most), 0);
  auto const said = put(large + "another");
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, was);
  EXPECT_EQ(said.code, code::unavailable);
  EXPECT_EQ(said.message, (directory / "blobs" / "put-2").string() + ": File too large");
  EXPECT_EQ(store->counts().bytes, large.size());
  EXPECT_TRUE(put(large + "another").ok()) << "works again with room";
  EXPECT_EQ(files(), 2u);
}

TEST_F(BlobStore, AFileThatWasCutShortIsAnError) {
  open();
  ASSERT_TRUE(put(large).ok());
  auto const file = directory / "blobs" / blob_hex_of(hash_of(large));
  fs::resize_file(file, 10);
  EXPECT_EQ(read(large).error().code, code::internal);
  fs::remove(file);
  EXPECT_EQ(read(large).error().code, code::not_found);
}

TEST_F(BlobStore, OwnDirectoryIsKeptWhileItIsInUse) {
  open(false, false);
  ASSERT_TRUE(put(large).ok());
  auto first = std::move(store);
  auto const left_over = fs::temp_directory_path() / "muster-blobs-broken-off";
  fs::create_directories(left_over);
  std::ofstream(left_over / "put-1") << "x";
  std::ofstream(left_over / blob_hex_of(hash_of(small))) << small;
  open(false, false);
  ASSERT_TRUE(put(large + "another").ok());
  EXPECT_FALSE(fs::exists(left_over));
  store.swap(first);
  EXPECT_EQ(read(large).value(), large);
}

TEST_F(BlobStore, FullDiskIsReported) {
  if (!fs::exists("/dev/full")) GTEST_SKIP();
  open();
  ASSERT_TRUE(put(large).ok());  // creates the directory
  fs::create_symlink("/dev/full", directory / "blobs/put-2");
  auto const said = put(large + "another");
  EXPECT_TRUE(is_no_room(said)) << said.message;
  EXPECT_EQ(store->counts().bytes, large.size());
}

TEST_F(BlobStore, NamesConsistOfHexDigits) {
  EXPECT_EQ(blob_hash_of("../../etc/passwd"), "");
  EXPECT_EQ(blob_hash_of(std::string(63, 'a')), "");
  EXPECT_EQ(blob_hash_of(std::string(64, 'A')), "");
  EXPECT_EQ(blob_hash_of(std::string(63, 'a') + "/"), "");
  EXPECT_EQ(blob_hash_of(blob_hex_of(hash_of(small))), hash_of(small));
}

TEST_F(BlobStore, EverythingIsUnavailableAfterTheStop) {
  open();
  ASSERT_TRUE(put(small).ok());
  auto const id = store->begin(hash_of(large), std::nullopt);
  store->stop();
  EXPECT_EQ(append(*id, "x").code, code::unavailable);
  EXPECT_EQ(finish(*id).code, code::unavailable);
  EXPECT_EQ(read(small).error().code, code::unavailable);
}

}  // namespace
}  // namespace muster::server
