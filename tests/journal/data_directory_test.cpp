#include "app/data_directory.hpp"

#include <gtest/gtest.h>

#include "muster/journal/v1/records.pb.h"
#include "server/journal/entries.hpp"
#include "server/journal/inspection.hpp"
#include "server/journal/rocks_store.hpp"
#include "server/journal/rocks_view.hpp"
#include "tests/journal/format_4.hpp"
#include "tests/support/goldens.hpp"
#include "tests/support/temporary_directory.hpp"

namespace muster::server {
namespace {

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};

struct hub_in_a_box {
  coordination_dependencies dependencies() {
    coordination_dependencies e{
        .now = [] { return at; }, .arm = [](core::time_point) {}, .tell = [](log_event const&) {}};
    data.attach_to(e);
    e.store = [this] { return data.view(); };
    return e;
  }
  data_directory data{{.now = [] { return at; },
                       .post = [](std::function<void()> const&) {},
                       .tell = [](log_event const&) {}}};
  coordination_hub hub{{.journalled = true}, 1, dependencies()};
};

void set_format(std::filesystem::path const& where, std::string const& value) {
  auto s = journal::rocks_store::open(where);
  ASSERT_TRUE(s.has_value());
  ASSERT_TRUE((*s)->write({{journal::change::kind::put, "format", value}}).ok());
}

TEST(data_directory, restores_the_state_for_the_next_process) {
  test::temporary_directory t;
  {
    hub_in_a_box a;
    ASSERT_TRUE(a.data.open(t / "d", "1.0", a.hub).ok());
    a.data.start({});
    auto const made = a.hub.create({.name = "train", .jobs = {{"worker", 1, false}}});
    ASSERT_TRUE(made.has_value());
    core::coordination::insert_key_value put{
        .from = {}, .key = "k", .value = core::blob("v"), .overwrite = true};
    bool told = false;
    a.hub.ask(*made, std::move(put), [&](auto const& r) { told = !r.fault; });
    EXPECT_FALSE(told) << "nothing is acknowledged before it is durable";
    a.data.stop();
    a.data.answer_waiting_requests();
    EXPECT_TRUE(told);
  }
  hub_in_a_box b;
  ASSERT_TRUE(b.data.open(t / "d", "1.0", b.hub).ok());
  auto const found = b.hub.state().find("train");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(b.hub.state().current(*found).views().key("k").has_value());
}

TEST(data_directory, counts_its_epochs) {
  test::temporary_directory t;
  for (int i = 0; i < 3; ++i) {
    hub_in_a_box a;
    ASSERT_TRUE(a.data.open(t / "d", "1.0", a.hub).ok());
  }
  auto const s = journal::rocks_store::open(t / "d");
  ASSERT_TRUE(s.has_value());
  muster::journal::v1::Format f;
  ASSERT_TRUE((*s)->read("format",
                         [&](auto, auto value) {
                           return f.ParseFromArray(value.data(), static_cast<int>(value.size()));
                         })
                  .ok());
  EXPECT_EQ(f.epoch(), 3u);
  EXPECT_EQ(f.version(), journal::format_known);
  EXPECT_EQ(f.written_by(), "1.0");
}

TEST(data_directory, writes_the_golden_entry_of_the_format) {
  std::string golden;
  for (auto const& g : test::read_goldens("tests/journal/goldens/records"))
    if (g.name == "format") golden = g.value;
  muster::journal::v1::Format before;
  ASSERT_TRUE(before.ParseFromString(golden));
  before.set_epoch(before.epoch() - 1);
  before.set_sessions(before.sessions() - (1u << 20));  // every start reserves this many
  before.set_written_by("9.8");
  test::temporary_directory t;
  set_format(t / "d", before.SerializeAsString());
  {
    hub_in_a_box a;
    ASSERT_TRUE(a.data.open(t / "d", "9.9", a.hub).ok());
  }
  auto const s = journal::rocks_store::open(t / "d");
  ASSERT_TRUE(s.has_value());
  ASSERT_TRUE((*s)->read("format",
                         [&](auto, auto value) {
                           EXPECT_EQ(value, golden);
                           return true;
                         })
                  .ok());
}

// The command line and the server use the same format.
TEST(data_directory, is_recognised_by_muster_data) {
  test::temporary_directory t;
  {
    hub_in_a_box a;
    ASSERT_TRUE(a.data.open(t / "d", "1.0", a.hub).ok());
  }
  auto const view = journal::rocks_view::open(t / "d");
  ASSERT_TRUE(view.has_value()) << view.error().message;
  auto const found = journal::inspect(**view);
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_EQ(found->format, journal::format_known);
  EXPECT_EQ(found->written_by, "1.0");
  EXPECT_TRUE(found->unknown.empty()) << found->unknown[0].kind << " is in no row of entry_kinds()";
}

TEST(data_directory, of_format_4_is_opened_completely) {
  test::temporary_directory t;
  {
    auto s = journal::rocks_store::open(t / "d");
    ASSERT_TRUE(s.has_value());
    ASSERT_TRUE((*s)->write(journal::format_4_entries()).ok());
  }
  hub_in_a_box a;
  auto const opened = a.data.open(t / "d", "1.0", a.hub);
  ASSERT_TRUE(opened.ok()) << opened.message;
  EXPECT_EQ(a.data.epoch(), 2u);
  EXPECT_EQ(a.data.take_tokens().size(), 1u);
  EXPECT_EQ(a.data.take_jobs().size(), 11u) << "ten jobs, and the values without a job";
  auto const found = a.hub.state().find("train");
  ASSERT_TRUE(found.has_value());
  EXPECT_TRUE(a.hub.state().current(*found).views().key("a/b").has_value());
}

TEST(data_directory, of_a_newer_server_is_refused_and_left_unchanged) {
  test::temporary_directory t;
  muster::journal::v1::Format f;
  f.set_version(journal::format_known + 1);
  f.set_written_by("9.9");
  f.set_epoch(5);
  set_format(t / "d", f.SerializeAsString());
  hub_in_a_box a;
  auto const refused = a.data.open(t / "d", "1.0", a.hub);
  EXPECT_EQ(refused.code, code::failed_precondition);
  auto const next = std::to_string(journal::format_known + 1);
  EXPECT_NE(refused.message.find("newer server (9.9, format " + next), std::string::npos)
      << refused.message;
  EXPECT_NE(refused.message.find((t / "d").string()), std::string::npos);
  auto const s = journal::rocks_store::open(t / "d");
  ASSERT_TRUE(s.has_value()) << "the lock was not released";
  (void)(*s)->read("format", [&](auto, auto value) {
    EXPECT_EQ(value, f.SerializeAsString());
    return true;
  });
}

TEST(data_directory, with_an_unreadable_format_is_refused) {
  test::temporary_directory t;
  set_format(t / "d", "\xff\xff");
  hub_in_a_box a;
  EXPECT_EQ(a.data.open(t / "d", "1.0", a.hub).code, code::failed_precondition);
}

}  // namespace
}  // namespace muster::server
