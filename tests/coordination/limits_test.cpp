#include "tests/coordination/fixture.hpp"

namespace muster::core::coordination {
namespace {

constexpr auto int64_max = std::numeric_limits<std::int64_t>::max();
constexpr auto int64_min = std::numeric_limits<std::int64_t>::min();

TEST(limits, counters_at_the_ends_of_64_bits_are_mismatches) {
  scene s({.tasks = 1, .spec = {.recoverable = true}, .limits = {.finished_barriers_max = 1}});
  s.enlist(0);
  for (auto const counter : {int64_min, std::int64_t{-1}, int64_max, int64_max - 1})
    EXPECT_EQ(s.code_of(s.barrier("b", 0, {.counter = counter})), code::internal) << counter;
  // b is forgotten; now counters of callers are accepted.
  s.barrier("x", 0), s.barrier("y", 0);
  EXPECT_EQ(s.code_of(s.barrier("b", 0, {.counter = int64_max})), code::internal);
  s.barrier("x", 0), s.barrier("y", 0);
  auto const high = (std::int64_t{1} << 62) - 1;
  EXPECT_EQ(s.code_of(s.barrier("c", 0, {.counter = high})), code::ok);
  EXPECT_EQ(s.code_of(s.barrier("c", 0, {.counter = high + 1})), code::ok);
  EXPECT_EQ(s.code_of(s.barrier("c", 0, {.counter = high + 2})), code::internal);
  EXPECT_EQ(s.code_of(s.barrier("c", 0)), code::ok);
  EXPECT_EQ(s.code_of(s.cancel("c", int64_min)), code::failed_precondition);
  EXPECT_EQ(s.code_of(s.cancel("z", int64_max)), code::failed_precondition);
}

TEST(limits, timeouts_can_be_arbitrarily_long_but_not_negative) {
  scene s;
  s.enlist_all();
  auto const a = s.barrier("a", 0, {.timeout = duration::max(), .deadline = time_point::max()});
  EXPECT_TRUE(s.parked(a));
  for (auto const timeout : {duration::min(), duration(-1)}) {
    auto const call = s.barrier("b", 0, {.timeout = timeout});
    EXPECT_EQ(s.code_of(call), code::invalid_argument);
    EXPECT_FALSE(s.fault_of(call).barrier) << "no instance was touched";
  }
  auto const far = s.get("k", time_point::max() - 1us);
  EXPECT_TRUE(s.parked(far));
}

TEST(limits, declarations_with_endless_times_are_refused) {
  for (auto const field : {&cluster_spec::heartbeat_timeout, &cluster_spec::register_timeout,
                           &cluster_spec::shutdown_timeout, &cluster_spec::stuck_after}) {
    cluster_spec spec;
    spec.*field = duration::max();
    EXPECT_EQ(validate(spec).code, code::invalid_argument);
  }
}

TEST(limits, huge_ids_and_keys_are_refused_by_name) {
  scene s;
  s.enlist_all();
  auto const id = s.barrier(std::string(5'000, 'b'), 0);
  EXPECT_EQ(s.code_of(id), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.cancel(std::string(5'000, 'b'))), code::failed_precondition);
  std::string const key(70'000, 'k');
  for (auto const call : {s.set(key, "v"), s.get(key), s.increment(key, 1)})
    EXPECT_EQ(s.code_of(call), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.try_get(key)), code::not_found);
  std::string const fits(60'000, 'k');
  s.set(fits, "v");
  EXPECT_EQ(s.code_of(s.set(fits, "v")), code::already_exists);
}

TEST(limits, texts_and_ids_together_fit_into_a_trailer) {
  scene s;
  s.enlist_all();
  std::string id;
  while (id.size() < 4'000) id += "\xE2\x82\xAC";
  auto const a = s.barrier(id, 0, {.timeout = 1s});
  s.advance(1s);
  auto const& f = s.fault_of(a);
  ASSERT_TRUE(f.barrier);
  std::size_t bytes = f.barrier->id.size() * 4 / 3;
  for (char const c : f.message) bytes += c >= 0x20 && c <= 0x7E && c != '%' ? 1 : 3;
  EXPECT_LE(bytes, 7'000u);
  EXPECT_NE(f.message.find("timed out"), std::string::npos);
}

TEST(limits, texts_are_cut_between_characters) {
  scene s;
  s.enlist_all();
  auto const poll = s.poll(1);
  std::string text = "x";
  while (text.size() < 10'000) text += "\xE2\x82\xAC";
  s.report(0, code::internal, text);
  auto cut = s.message_of(poll);
  constexpr std::string_view mark = " ... [truncated]";
  ASSERT_TRUE(cut.ends_with(mark));
  cut.resize(cut.size() - mark.size());
  EXPECT_EQ((cut.size() - 1) % 3, 0u);
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(
      shortened("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 17),
      mark);
}

TEST(limits, parked_calls_beyond_the_limit_are_refused_at_once) {
  scene s({.tasks = 2, .limits = {.parked_calls_max = 2}});
  s.enlist_all();
  s.get("a"), s.get("b");
  for (auto const call : {s.get("c"), s.poll(0), s.barrier("b", 0), s.alive(0, {0, 1}),
                          s.watch(s.version()), s.leave(0), s.devices(0, {})}) {
    EXPECT_EQ(s.code_of(call), code::resource_exhausted);
    EXPECT_FALSE(s.fault_of(call).barrier);
  }
  s.set("a", "1");
  EXPECT_TRUE(s.parked(s.get("c")));
}

TEST(limits, registration_at_the_limit_leaves_no_trace) {
  scene s({.tasks = 2, .limits = {.parked_calls_max = 1}});
  s.get("a");
  EXPECT_EQ(s.code_of(s.enlist(0)), code::resource_exhausted);
  EXPECT_EQ(s.agent(0).health, agent_health::missing);
}

TEST(limits, running_barriers_are_bounded) {
  scene s({.tasks = 2, .limits = {.barriers_max = 3}});
  s.enlist_all();
  for (auto const* id : {"a", "b", "c"}) EXPECT_TRUE(s.parked(s.barrier(id, 0)));
  EXPECT_EQ(s.code_of(s.barrier("d", 0)), code::resource_exhausted);
  EXPECT_EQ(s.code_of(s.barrier("a", 1)), code::ok);
  EXPECT_TRUE(s.parked(s.barrier("d", 0)));
}

TEST(limits, barriers_that_end_together_can_be_evicted_at_once) {
  scene s({.tasks = 3, .limits = {.finished_barriers_max = 1}});
  s.enlist_all();
  s.poll(2);
  auto const leaving = s.leave(1);
  std::vector<call_id> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(s.barrier("b" + std::to_string(i), 1));
  s.report(0, code::internal, "x");
  EXPECT_EQ(s.code_of(leaving), code::internal);
  for (auto const call : calls) EXPECT_EQ(s.code_of(call), code::internal);
  EXPECT_EQ(s.generation().barriers_remembered, 1u);
  EXPECT_EQ(s.code_of(s.leave(2)), code::internal) << "reopens the shutdown barrier";
}

TEST(limits, keys_values_and_devices_are_bounded) {
  scene s({.limits = {.keys_max = 2, .value_bytes_max = 20, .device_bytes_max = 4}});
  EXPECT_EQ(s.code_of(s.set("a", "12345678")), code::ok);
  EXPECT_EQ(s.code_of(s.set("b", "123456789012")), code::resource_exhausted);
  EXPECT_EQ(s.code_of(s.set("b", "1234567890")), code::ok);
  EXPECT_EQ(s.code_of(s.set("a", "123456789", true)), code::resource_exhausted);
  s.set("b", "", true);
  EXPECT_EQ(s.code_of(s.set("c", "")), code::resource_exhausted);
  EXPECT_EQ(s.code_of(s.increment("c", 1)), code::resource_exhausted);
  EXPECT_EQ(s.code_of(s.devices(0, {"abc", "de"})), code::resource_exhausted);
}

TEST(limits, names_of_devices_are_cut) {
  scene s({.limits = {.device_names_max = 2, .device_name_bytes_max = 20}});
  s.devices(0, {"a", std::string(30, 'b'), "c"});
  EXPECT_EQ(s.agent(0).devices, 3u);
  EXPECT_EQ(s.agent(0).device_names, (std::vector<std::string>{"a", "bbbb ... [truncated]"}));
}

TEST(limits, clusters_and_their_tasks_are_bounded) {
  scene s({.limits = {.clusters_max = 2, .tasks_max = 10}});
  cluster_spec spec;
  spec.name = "b";
  spec.jobs = {{"w", 0xFFFFFFFF, false}, {"v", 0xFFFFFFFF, false}};
  EXPECT_EQ(s.create(spec).error().code, code::invalid_argument);
  spec.jobs = {{"w", 10, false}};
  EXPECT_TRUE(s.create(spec).has_value());
  spec.name = "c";
  EXPECT_EQ(s.create(spec).error().code, code::resource_exhausted);
}

TEST(limits, a_cluster_without_agents_answers_everything) {
  scene s;
  cluster_spec spec;
  spec.name = "empty";
  s.id = *s.create(spec);
  EXPECT_EQ(s.code_of(s.enlist(0)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.barrier("b", 0)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.leave(0)), code::invalid_argument);
  EXPECT_EQ(s.code_of(s.alive(0, {0})), code::invalid_argument);
  EXPECT_TRUE(s.states_of(s.watch(-1))->tasks.empty());
  EXPECT_EQ(s.generation().state, generation_state::waiting);
  EXPECT_TRUE(s.current().views().tasks(s.now(), 0, 10).empty());
}

TEST(limits, repeated_and_unknown_disconnects_are_harmless) {
  scene s;
  auto const a = s.get("k");
  s.gone(a);
  s.all.step(s.now(), coordination::call_abandoned{s.id, a});
  s.all.step(s.now(), coordination::call_abandoned{s.id, call_id{999'999}});
  EXPECT_EQ(s.all.violated_invariant(), "");
}

}  // namespace
}  // namespace muster::core::coordination
