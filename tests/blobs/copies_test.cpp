#include <gtest/gtest.h>

#include "server/core/api/explanation.hpp"
#include "server/hub/blob_store.hpp"
#include "tests/blobs/hash.hpp"
#include "tests/blobs/loop.hpp"

namespace muster {
namespace {

using namespace std::chrono_literals;
using core::holder_id;
using ids = std::vector<holder_id>;
using names = std::vector<std::string>;

class CopiesTable : public testing::Test {
 protected:
  CopiesTable() : table({.names_max = 3, .holders_max = 4}) {
    for (holder_id id = 1; id <= 6; ++id)
      table.open(id, {"socket", "worker:" + std::to_string(id), id % 2 ? "odd" : "even"});
    table.open(client, {"client"});
    EXPECT_TRUE(table.hold(1, "a", 10, now));
  }
  ~CopiesTable() override { EXPECT_EQ(table.invalid(), ""); }

  static constexpr holder_id client = 9;
  core::holder_table table;
  core::time_point now{1'000s};
};

TEST_F(CopiesTable, AreRegisteredForWorkersThatTookAnOutput) {
  EXPECT_TRUE(table.copy(2, "a", 10, now));
  EXPECT_TRUE(table.copy(2, "a", 10, now)) << "repeated";
  EXPECT_EQ(table.find("a")->by, (ids{1, 2}));
  EXPECT_FALSE(table.copy(3, "a", 11, now)) << "another size";
  EXPECT_FALSE(table.copy(client, "a", 10, now));
  EXPECT_FALSE(table.copy(client, "b", 10, now));
  ASSERT_TRUE(table.hold(client, "b", 5, now));
  EXPECT_FALSE(table.copy(2, "b", 5, now)) << "an argument, which its client drops";
  EXPECT_EQ(table.counts().copies, 1u);
  EXPECT_EQ(table.counts().copy_bytes, 10u);
  EXPECT_EQ(table.counts().bytes, 15u) << "each once";
  EXPECT_EQ(table.counts().outputs, 1u);
  EXPECT_EQ(table.workers(9).size(), 2u);
  EXPECT_EQ(table.workers_to_drop("a"), (ids{1, 2}));
}

TEST_F(CopiesTable, AreListedUpToALimitWithRoomForTheMaker) {
  EXPECT_TRUE(table.copy(2, "a", 10, now) && table.copy(3, "a", 10, now) &&
              table.copy(4, "a", 10, now));
  EXPECT_FALSE(table.copy(5, "a", 10, now));
  table.close(1, now);
  EXPECT_FALSE(table.copy(5, "a", 10, now));
  table.open(7, {"socket", "worker:1", "odd", 1});
  EXPECT_TRUE(table.hold(7, "a", 10, now)) << "it has returned";
  EXPECT_EQ(table.find("a")->by.size(), 4u);
  table.drop(3, "a", now);
  EXPECT_TRUE(table.copy(5, "a", 10, now));
}

TEST_F(CopiesTable, AreReturnedRoundRobinWithTheCallersHostFirst) {
  for (holder_id id = 2; id <= 4; ++id) ASSERT_TRUE(table.copy(id, "a", 10, now));
  EXPECT_EQ(table.holders_round_robin("a", ""), (ids{1, 2, 3, 4}));
  EXPECT_EQ(table.holders_round_robin("a", ""), (ids{2, 3, 4, 1}));
  EXPECT_EQ(table.holders_round_robin("a", "even"), (ids{4, 2, 3, 1}));
  EXPECT_EQ(table.holders_round_robin("a", "even"), (ids{4, 2, 1, 3}));
  EXPECT_EQ(table.holders_round_robin("a", "even"), (ids{2, 4, 1, 3}));
  EXPECT_TRUE(table.holders_round_robin("b", "even").empty());
}

TEST_F(CopiesTable, KeepAValueThatLosesOneOfItsHolders) {
  ASSERT_TRUE(table.copy(2, "a", 10, now));
  table.close(1, now);
  EXPECT_EQ(table.find("a")->by, (ids{2}));
  EXPECT_TRUE(table.take_orphans(now + 2s, 10).empty()) << "its maker can return";
  EXPECT_EQ(table.take_orphans(now + 3s, 10), names{"a"});
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty());
  table.close(2, now + 99s);
  EXPECT_TRUE(table.take_lost(now + 101s, 10).empty());
  EXPECT_EQ(table.take_lost(now + 102s, 10), names{"a"});
}

TEST_F(CopiesTable, ValueIsLostWhenItsLastCopyIsDropped) {
  ASSERT_TRUE(table.copy(2, "a", 10, now));
  table.drop(2, "a", now);
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty()) << "its maker has it";
  ASSERT_TRUE(table.copy(2, "a", 10, now));
  table.close(1, now);
  table.drop(2, "a", now + 1s);
  EXPECT_EQ(table.take_lost(now + 4s, 10), names{"a"});
  EXPECT_TRUE(table.take_orphans(now + 9s, 10).empty());
}

TEST_F(CopiesTable, CanBeReportedBeforeTheirMakerReturns) {
  table.close(1, now);
  EXPECT_TRUE(table.copy(2, "a", 10, now + 1s));
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty());
  table.open(7, {"socket", "worker:1"});
  EXPECT_TRUE(table.hold(7, "a", 10, now));
  EXPECT_FALSE(table.hold(3, "a", 10, now)) << "another has made it";
  EXPECT_EQ(table.find("a")->maker, 7u);
}

TEST_F(CopiesTable, MoveToTheNewerStreamOfAProcess) {
  ASSERT_TRUE(table.copy(2, "a", 10, now));
  table.open(7, {"socket", "worker:2", "", 2});
  EXPECT_TRUE(table.copy(7, "a", 10, now));
  EXPECT_EQ(table.find("a")->by, (ids{1, 7}));
  table.open(8, {"client", "", "", 7});
  EXPECT_FALSE(table.copy(8, "a", 10, now));
  EXPECT_FALSE(table.hold(8, "a", 10, now));
}

TEST_F(CopiesTable, OfALostValueHaveAGracePeriodEach) {
  table.close(1, now);
  ASSERT_TRUE(table.copy(2, "a", 10, now + 2s));
  table.close(2, now + 2s);
  EXPECT_TRUE(table.take_lost(now + 4s, 10).empty());
  EXPECT_EQ(table.take_lost(now + 5s, 10), names{"a"});
  EXPECT_TRUE(table.take_lost(now + 99s, 10).empty()) << "once";
}

TEST_F(CopiesTable, AreUploadedByOneHolderAfterAnother) {
  ASSERT_TRUE(table.copy(2, "a", 10, now));
  ASSERT_TRUE(table.copy(3, "a", 10, now));
  EXPECT_EQ(table.choose_uploader("a", now), 1u);
  EXPECT_EQ(table.choose_uploader("a", now + 4s), 1u) << "the upload may have begun";
  EXPECT_EQ(table.choose_uploader("a", now + 5s), 2u);
  EXPECT_EQ(table.choose_uploader("a", now + 10s), 3u);
  EXPECT_EQ(table.choose_uploader("a", now + 15s), 1u);
  EXPECT_EQ(table.choose_uploader("b", now), std::nullopt);
}

struct told final : server::holder_sink {
  void on_upload_requested(std::string_view name) override { wanted.emplace_back(name); }
  bool on_ticket(std::string_view, std::string_view) override { return true; }
  void on_released(std::string_view name) override { unneeded.emplace_back(name); }
  names wanted, unneeded;
};

class CopiesStore : public testing::Test {
 protected:
  CopiesStore() {
    EXPECT_TRUE(store.start().ok());
    EXPECT_TRUE(store.holders().table().hold(maker, name, 5, now));
    store.name(closure, name);
    EXPECT_TRUE(store.holders().table().copy(other, name, 5, now));
  }
  ~CopiesStore() override { EXPECT_EQ(store.holders().table().invalid(), ""); }
  std::vector<core::closure_id> sweep(bool has_value = true) {
    std::vector<core::closure_id> lost;
    store.sweep([has_value](core::closure_id) { return has_value; },
                [&](std::vector<core::closure_id> const& all) { lost = all; });
    return lost;
  }

  core::time_point now{1'000s};
  server::loop engine;
  server::blob_store store{{},
                           {[this] { return now; },
                            [this](std::function<void()> work) { engine.post(std::move(work)); }}};
  told by_maker, by_other;
  core::closure_id const closure{1};
  holder_id const maker = store.holders().open(by_maker, {"m", "worker:0", "here"});
  holder_id const other = store.holders().open(by_other, {"o", "worker:1", "there"});
  std::string const name = std::string(32, 'n');
};

TEST_F(CopiesStore, AreDroppedWithTheValue) {
  sweep(false);
  EXPECT_EQ(by_maker.unneeded, names{name});
  EXPECT_EQ(by_other.unneeded, names{name});
}

TEST_F(CopiesStore, AreUploadedWhenTheirMakerHasLeftAndTheValueIsKept) {
  store.holders().close(maker, now);
  now += 3s;
  EXPECT_TRUE(sweep().empty());
  EXPECT_EQ(by_other.wanted, names{name});
  EXPECT_TRUE(store.can_arrive(name));
  EXPECT_EQ(store.place_of(name).holders, names{"worker:1"});
  store.holders().close(other, now);
  now += 3s;
  EXPECT_EQ(sweep(), std::vector{closure});
}

TEST_F(CopiesStore, AreNotUploadedDuringAnotherUpload) {
  store.want(name);
  EXPECT_EQ(by_maker.wanted, names{name});
  auto const id = store.begin(server::hash_of("bytes"), 5, name);
  ASSERT_TRUE(id);
  now += 60s;
  store.want(name);
  EXPECT_TRUE(by_other.wanted.empty());
  store.abandon(*id);
  store.want(name);
  EXPECT_EQ(by_other.wanted, names{name});
}

TEST_F(CopiesStore, OfAnInputAreListedInTheExplanationOfARunningClosure) {
  core::explanation e;
  e.state = core::closure_state::running;
  e.why = core::closure_reason::running;
  e.worker = "worker:7";
  auto const hex = [](char const* digits) {
    std::string all;
    for (int i = 0; i < 32; ++i) all += digits;
    return all;
  };
  e.waits.emplace().large = {{core::closure_id{5}, hex("6e")}};
  store.explain_input(e);
  EXPECT_EQ(e.why, core::closure_reason::input_elsewhere);
  EXPECT_EQ(e.input, core::closure_id{5});
  EXPECT_EQ(e.place->holders, (names{"worker:0", "worker:1"}));
  EXPECT_EQ(e.place->bytes, 5u);
  e.why = core::closure_reason::running;
  e.worker = "worker:1";
  store.explain_input(e);
  EXPECT_EQ(e.why, core::closure_reason::running) << "its own worker has it";
}

}  // namespace
}  // namespace muster
