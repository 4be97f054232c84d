#include <gtest/gtest.h>

#include "server/hub/blob_store.hpp"
#include "tests/blobs/hash.hpp"
#include "tests/blobs/loop.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server {
namespace {

struct told final : holder_sink {
  void on_upload_requested(std::string_view name) override { wanted.emplace_back(name); }
  bool on_ticket(std::string_view ticket, std::string_view name) override {
    tickets.emplace_back(std::string(ticket), name);
    return room;
  }
  void on_released(std::string_view name) override { unneeded.emplace_back(name); }
  std::vector<std::string> wanted, unneeded;
  std::vector<std::pair<std::string, std::string>> tickets;
  bool room = true;
};

class Holders : public testing::Test {
 protected:
  Holders() { EXPECT_TRUE(store.start().ok()); }
  ~Holders() override { EXPECT_EQ(store.holders().table().invalid(), ""); }

  void hold(core::holder_id by, std::string const& held) {
    ASSERT_TRUE(store.holders().table().hold(by, held, 5, now));
  }
  void sweep(bool has_value) {
    store.sweep([has_value](core::closure_id) { return has_value; },
                [](std::vector<core::closure_id> const&) {});
  }
  void put(std::string const& bytes, std::string const& under) {
    auto const id = store.begin(hash_of(bytes), bytes.size(), under);
    ASSERT_TRUE(id);
    bool done = false;
    store.append(*id, bytes, [&](muster::status const& s) {
      ASSERT_TRUE(s.ok());
      store.finish(*id, [&](muster::status const& said) { done = said.ok(); });
    });
    engine.run_until([&] { return done; });
  }

  core::time_point now{1'000s};
  loop engine;
  std::vector<core::closure_id> made_again;
  blob_store store{{},
                   {.now = [this] { return now; },
                    .post = [this](std::function<void()> work) { engine.post(std::move(work)); },
                    .recompute = [this](core::closure_id id) { made_again.push_back(id); }}};
  told worker, client;
  core::holder_id const by_worker = store.holders().open(worker, {"w", "worker:0", "here"});
  core::holder_id const by_client = store.holders().open(client, {"c"});
  std::string const name = std::string(32, 'n');
};

TEST_F(Holders, OutputIsUnneededWhenItsValueIsRemoved) {
  hold(by_worker, name);
  store.name(core::closure_id{1}, name);
  now += 1min;
  sweep(true);
  EXPECT_TRUE(worker.unneeded.empty());
  sweep(false);
  EXPECT_EQ(worker.unneeded, std::vector{name});
}

TEST_F(Holders, UnnamedOutputIsUnneededAfterAWhile) {
  hold(by_worker, name);
  hold(by_client, std::string(32, 'a'));
  now += 29s;
  sweep(true);
  EXPECT_TRUE(worker.unneeded.empty());
  now += 1s;
  sweep(true);
  EXPECT_EQ(worker.unneeded, std::vector{name});
  EXPECT_TRUE(client.unneeded.empty()) << "arguments are their client's";
}

TEST_F(Holders, OutputThatStaysNamedIsUploaded) {
  hold(by_worker, name);
  store.name(core::closure_id{1}, name);
  now += 9s;
  sweep(true);
  EXPECT_TRUE(worker.wanted.empty());
  now += 1s;
  sweep(true);
  EXPECT_EQ(worker.wanted, std::vector{name});
}

TEST_F(Holders, ArgumentNamedByAValueIsUploadedAtOnce) {
  hold(by_client, name);
  EXPECT_TRUE(client.wanted.empty());
  store.name(core::closure_id{1}, name);
  EXPECT_EQ(client.wanted, std::vector{name}) << "its client releases it when the closure ends";
  put("bytes", name);
  store.name(core::closure_id{2}, name);
  EXPECT_EQ(client.wanted, std::vector{name}) << "the server has it";
}

TEST_F(Holders, ValuesAreLostWithTheirWorkerUnlessTheServerHasThem) {
  auto const copied = std::string(32, 'c');
  hold(by_worker, name);
  hold(by_worker, copied);
  store.name(core::closure_id{1}, name);
  store.name(core::closure_id{2}, copied);
  put("bytes", copied);
  store.holders().close(by_worker, now);
  std::vector<core::closure_id> lost;
  auto const look = [&] {
    store.sweep([](core::closure_id) { return true; }, [&](auto found) { lost = found; });
  };
  now += 2s;
  look();
  EXPECT_TRUE(lost.empty()) << "it can return";
  now += 1s;
  look();
  EXPECT_EQ(lost, std::vector{core::closure_id{1}});
}

TEST_F(Holders, UploadedOutputIsReportedOnceAndCanBeRequested) {
  hold(by_worker, name);
  store.name(core::closure_id{1}, name);
  std::vector<core::closure_id> copied;
  auto const look = [&] {
    copied.clear();
    store.sweep([](core::closure_id) { return true; }, {}, [&](auto found) { copied = found; });
    return copied;
  };
  EXPECT_TRUE(look().empty());
  store.copy(core::closure_id{1});
  store.copy(core::closure_id{2});
  EXPECT_EQ(worker.wanted, std::vector{name});
  put("bytes", name);
  EXPECT_EQ(look(), std::vector{core::closure_id{1}});
  EXPECT_TRUE(look().empty());
  store.copy(core::closure_id{1});
  EXPECT_EQ(worker.wanted.size(), 1u) << "it is there";
}

TEST_F(Holders, RequestForALostNameReturnsTheRecomputedValue) {
  auto const again = std::string(32, 'y');
  hold(by_worker, name);
  store.name(core::closure_id{1}, name);
  store.holders().close(by_worker, now);
  EXPECT_FALSE(store.can_arrive(name));
  now += 3s;
  sweep(true);
  EXPECT_TRUE(store.can_arrive(name));
  store.want(name);
  store.want(name);
  engine.run_until([&] { return !made_again.empty(); });
  EXPECT_EQ(made_again, std::vector{core::closure_id{1}}) << "once per interval";
  EXPECT_EQ(store.current(name), name);
  auto const other = store.holders().open(worker, {"w2", "worker:1"});
  hold(other, again);
  store.name(core::closure_id{1}, again);
  EXPECT_EQ(store.current(name), again);
  store.want(store.current(name));
  EXPECT_EQ(worker.wanted, std::vector{again});
  store.holders().close(other, now);
}

TEST_F(Holders, AValueUnderANameDoesNotOutliveTheProcess) {
  test::temporary_directory directory;
  blob_store_options options;
  options.files = {.directory = directory / "blobs", .durable = true};
  auto const here = [&] {
    return std::make_unique<blob_store>(
        options,
        blob_dependencies{[this] { return now; },
                          [this](std::function<void()> work) { engine.post(std::move(work)); }});
  };
  auto durable = here();
  ASSERT_TRUE(durable->start().ok());
  for (auto const& under : {name, std::string()}) {
    auto const id = durable->begin(hash_of("bytes"), 5, under);
    bool done = false;
    durable->append(*id, "bytes", [&](muster::status const&) {
      durable->finish(*id, [&](muster::status const& said) { done = said.ok(); });
    });
    engine.run_until([&] { return done; });
  }
  EXPECT_TRUE(durable->size_of(name) && durable->size_of(hash_of("bytes")));
  EXPECT_FALSE(durable->is_hash(name));
  EXPECT_TRUE(durable->is_hash(hash_of("bytes")));
  durable = here();
  ASSERT_TRUE(durable->start().ok());
  EXPECT_FALSE(durable->size_of(name)) << "its holder can put it again";
  EXPECT_TRUE(durable->size_of(hash_of("bytes")));
}

TEST_F(Holders, ValueIsStoredUnderItsNameAndNotUnderItsHash) {
  hold(by_worker, name);
  put("bytes", name);
  EXPECT_EQ(store.size_of(name), 5u);
  EXPECT_FALSE(store.size_of(hash_of("bytes")));
  std::string got;
  store.read(name, 0, 10, [&](muster::result<std::string> r) { got = r.value(); });
  engine.run_until([&] { return !got.empty(); });
  EXPECT_EQ(got, "bytes");
}

TEST_F(Holders, FetchWaitsForTheUpload) {
  hold(by_worker, name);
  int came = 0;
  store.fetch(name, 10s, [&] { ++came; });
  EXPECT_EQ(worker.wanted, std::vector{name});
  sweep(true);
  EXPECT_EQ(came, 0);
  put("bytes", name);
  engine.run_until([&] { return came == 1; });
  store.fetch(name, 10s, [&] { ++came; });
  EXPECT_EQ(worker.wanted.size(), 1u) << "it is there";
  engine.run_until([&] { return came == 2; });
}

TEST_F(Holders, FetchWaitsNoLongerThanItsTimeout) {
  hold(by_worker, name);
  int came = 0;
  store.fetch(name, 10s, [&] { ++came; });
  now += 10s;
  sweep(true);
  engine.run_until([&] { return came == 1; });
  store.fetch(std::string(32, 'u'), 10s, [&] { ++came; });
  engine.run_until([&] { return came == 2; });
}

TEST_F(Holders, FetchesHaveALimit) {
  hold(by_worker, name);
  std::size_t came = 0;
  for (std::size_t i = 0; i < blob_store::fetches_max + 1; ++i)
    store.fetch(name, 10s, [&] { ++came; });
  engine.run_until([&] { return came == 1; });
}

TEST_F(Holders, TicketsAreIssuedToBothEndsOnly) {
  told far;
  auto const by_far =
      store.holders().open(far, {"f", "worker:1", "there"}, {"10.0.0.1:7", "the certificate"});
  auto const there = std::string(32, 'f');
  hold(by_worker, name);
  hold(by_far, there);
  EXPECT_FALSE(store.holders().give_ticket(name, by_worker)) << "its process takes no connections";
  auto const first = store.holders().give_ticket(there, by_far);
  auto const second = store.holders().give_ticket(there, by_far);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->at.address, "10.0.0.1:7");
  EXPECT_EQ(first->at.certificate, "the certificate");
  EXPECT_NE(first->bytes, second->bytes);
  ASSERT_EQ(far.tickets.size(), 2u);
  EXPECT_EQ(far.tickets[0], (std::pair{first->bytes, there}));
  far.room = false;
  EXPECT_FALSE(store.holders().give_ticket(there, by_far)) << "it does not read";
  store.holders().close(by_far, now);
}

TEST_F(Holders, DisconnectedHoldersReceiveNoRequests) {
  hold(by_worker, name);
  store.name(core::closure_id{1}, name);
  store.holders().close(by_worker, now);
  EXPECT_FALSE(store.holders().knows(name));
  EXPECT_FALSE(store.holders().want(name, now));
  sweep(false);
  EXPECT_TRUE(worker.wanted.empty() && worker.unneeded.empty());
}

}  // namespace
}  // namespace muster::server
