#include "server/core/coordination/key_values/key_value_store.hpp"
#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

using lines = std::vector<std::pair<std::string, std::string>>;

lines entries(scene& s, std::string directory) {
  lines out;
  auto const call = s.dir(std::move(directory));
  for (auto const& [k, v] : std::get<std::vector<key_value>>(s.reply_to(call).body))
    out.emplace_back(k, v.view());
  return out;
}

TEST(key_value, normal_keys_have_single_inner_slashes_and_end_at_a_nul) {
  EXPECT_EQ(normal_key("///a//b/c//"), "a/b/c");
  EXPECT_EQ(normal_key("a"), "a");
  EXPECT_EQ(normal_key(""), "");
  EXPECT_EQ(normal_key("////"), "");
  EXPECT_EQ(normal_key(std::string("a/b\0/c", 6)), "a/b");
  EXPECT_EQ(normal_key(std::string("a/\0", 3)), "a");
  EXPECT_EQ(normal_key(std::string("\0a", 2)), "");
}

TEST(key_value, is_set_and_read_before_any_registration) {
  scene s;
  EXPECT_EQ(s.code_of(s.set("/a//b", "1")), code::ok);
  auto const get = s.try_get("a/b/");
  EXPECT_EQ(s.value_of(get), "1");
  EXPECT_EQ(std::get<key_value>(s.reply_to(get).body).first, "a/b/") << "as requested";
}

// Keys are Protobuf strings in listings: one invalid key would make them unreadable.
TEST(key_value, key_that_is_not_utf8_is_refused) {
  scene s;
  EXPECT_EQ(s.code_of(s.set("a/b\xff", "1")), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.set("a/\xc3\xbc", "1")), code::ok);
  EXPECT_EQ(entries(s, "a").size(), 1u);
}

TEST(key_value, existing_key_is_refused_unless_overwriting) {
  scene s;
  s.set("k", "1");
  auto const again = s.set("/k", "2");
  EXPECT_EQ(s.code_of(again), code::already_exists);
  EXPECT_EQ(s.message_of(again), "key k already exists.");
  EXPECT_FALSE(s.fault_of(again).coordination);
  EXPECT_EQ(s.value_of(s.try_get("k")), "1");
  EXPECT_EQ(s.code_of(s.set("k", "2", true)), code::ok);
  EXPECT_EQ(s.value_of(s.try_get("k")), "2");
}

TEST(key_value, missing_is_not_found) {
  scene s;
  auto const get = s.try_get("/x/");
  EXPECT_EQ(s.code_of(get), code::not_found);
  EXPECT_EQ(s.message_of(get), "Config key /x/ not found.");
  EXPECT_TRUE(s.fault_of(get).coordination);
}

TEST(key_value, waits_end_with_the_value) {
  scene s;
  auto const a = s.get("k"), b = s.get("//k");
  EXPECT_TRUE(s.parked(a) && s.parked(b));
  s.set("k", "v");
  EXPECT_EQ(s.value_of(a), "v");
  EXPECT_EQ(std::get<key_value>(s.reply_to(b).body).first, "//k");
  EXPECT_EQ(s.value_of(s.get("k")), "v");
}

TEST(key_value, waits_do_not_end_by_themselves) {
  scene s;
  auto const wait = s.get("k");
  s.advance(24h);
  EXPECT_TRUE(s.parked(wait));
  s.gone(wait);
  EXPECT_EQ(s.current().parked_calls(), 0u);
  s.set("k", "v");
}

TEST(key_value, directories_list_all_keys_below_them) {
  scene s;
  for (auto const* k : {"dir/b", "dir/a", "dir/sub/c", "dir0/x", "dir", "di"}) s.set(k, k);
  EXPECT_EQ(entries(s, "/dir/"),
            (lines{{"dir/a", "dir/a"}, {"dir/b", "dir/b"}, {"dir/sub/c", "dir/sub/c"}}));
  EXPECT_EQ(entries(s, "dir/sub"), (lines{{"dir/sub/c", "dir/sub/c"}}));
  EXPECT_TRUE(entries(s, "di").empty());
  EXPECT_TRUE(entries(s, "dir/a").empty());
  EXPECT_TRUE(entries(s, "nothing").empty());
  EXPECT_TRUE(entries(s, "").empty());
}

TEST(key_value, deleting_takes_the_key_and_all_below) {
  scene s;
  for (auto const* k : {"a", "a/b", "a/b/c", "a0", "ab"}) s.set(k, "1");
  EXPECT_EQ(s.code_of(s.erase("/a/")), code::ok);
  EXPECT_EQ(s.code_of(s.try_get("a")), code::not_found);
  EXPECT_EQ(s.code_of(s.try_get("a/b/c")), code::not_found);
  EXPECT_EQ(s.code_of(s.try_get("a0")), code::ok);
  EXPECT_EQ(s.code_of(s.try_get("ab")), code::ok);
  EXPECT_EQ(s.code_of(s.erase("never was")), code::ok);
  EXPECT_EQ(s.generation().keys, 2u);
  EXPECT_EQ(s.generation().key_bytes, 6u);
}

TEST(key_value, increments_count_in_64_bits) {
  scene s;
  auto const wait = s.get("n");
  EXPECT_EQ(s.value_of(s.increment("n", 5)), "5");
  EXPECT_EQ(s.value_of(wait), "5");
  EXPECT_EQ(s.value_of(s.increment("n", -7)), "-2");
  EXPECT_EQ(s.value_of(s.increment("n", 5'000'000'002)), "5000000000");
  s.set("n", "9223372036854775807", true);
  EXPECT_EQ(s.code_of(s.increment("n", 1)), code::failed_precondition);
  EXPECT_EQ(s.value_of(s.try_get("n")), "9223372036854775807");
  EXPECT_EQ(s.value_of(s.increment("m", std::numeric_limits<std::int64_t>::min())),
            "-9223372036854775808");
  EXPECT_EQ(s.code_of(s.increment("m", -1)), code::failed_precondition);
}

TEST(key_value, increments_parse_numbers_like_the_original) {
  scene s;
  for (auto const* good : {" 41", "41\n", "+41", "041"}) {
    s.set("n", good, true);
    EXPECT_EQ(s.value_of(s.increment("n", 1)), "42") << good;
  }
  for (auto const* bad : {"", " ", "x", "1x", "1 2", "+-1", "--1", "9223372036854775808", "1.5"}) {
    s.set("n", bad, true);
    auto const call = s.increment("n", 1);
    EXPECT_EQ(s.code_of(call), code::failed_precondition) << bad;
    EXPECT_TRUE(s.fault_of(call).coordination);
  }
}

TEST(key_value, waits_are_named_by_task_when_incarnation_or_address_is_known) {
  scene s;
  s.enlist_all();
  s.ask(get_key_value{{}, "a", true, incarnation{100}, {}});
  s.ask(get_key_value{{}, "a", true, {}, "10.0.0.1:4711"});
  s.ask(get_key_value{{}, "a", true, {}, "1.2.3.4:5"});
  auto const waits = s.current().views().key_waits("", 10);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].count, 3u);
  EXPECT_EQ(waits[0].waiters[0].task, "/job:worker/task:0");
  EXPECT_EQ(waits[0].waiters[1].task, "/job:worker/task:1");
  EXPECT_EQ(waits[0].waiters[2].task, "1.2.3.4:5");
  EXPECT_EQ(s.agent(0).waiting_for, std::vector<std::string>{"key a"});
}

TEST(key_value, waits_end_when_the_service_stops) {
  scene s;
  auto const wait = s.get("k");
  s.stop();
  EXPECT_EQ(s.code_of(wait), code::cancelled);
  EXPECT_FALSE(s.fault_of(wait).coordination);
}

}  // namespace
}  // namespace muster::core::coordination
