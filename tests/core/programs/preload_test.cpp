#include "tests/core/programs/fixture.hpp"

namespace muster::core::programs {
namespace {

program_spec with_preload(std::uint32_t ranks, std::vector<std::string> modules = {"numpy"}) {
  auto s = of_workers(ranks);
  s.preload = std::move(modules);
  return s;
}

std::vector<std::string> reasons(bench& b, program_id p) {
  std::vector<std::string> all;
  for (auto const& r : b.core->ranks(p).value()) all.push_back(r.not_preloaded);
  return all;
}

TEST(program_preload, reports_for_each_rank_why_it_started_without_preload) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(with_preload(2));
  EXPECT_EQ(b.orders(a).starts.at(0).sheet->spec->preload, std::vector<std::string>{"numpy"});
  b.report(a, {{{p, 1, 0}, 100}, {{p, 1, 1}, 101, "threads"}});
  EXPECT_EQ(reasons(b, p), (std::vector<std::string>{"", "threads"}));
  EXPECT_EQ(b.state(p), program_state::running) << "this does not affect the program";
}

TEST(program_preload, older_workers_are_used_and_reported_as_not_preloading) {
  bench b;
  process const old{
      .incarnation = 1, .index = 0, .host = "old", .resources = {}, .preloads = false};
  auto const a = b.attach(old);
  auto const p = b.submit(with_preload(1)), plain = b.submit(of_workers(1));
  b.run(a, p, 1, {0});
  b.run(a, plain, 1, {0});
  EXPECT_EQ(reasons(b, p),
            std::vector<std::string>{"its worker's version does not support preload"});
  EXPECT_EQ(reasons(b, plain), std::vector<std::string>{""});
}

TEST(program_preload, is_reported_again_after_a_reconnect) {
  bench b;
  auto const a = b.attach(0);
  auto const p = b.submit(with_preload(1));
  b.cut(a);
  b.attach({1, 0, "host0", {}}, {{{p, 1, 0}, 100, {}, "threads"}});
  EXPECT_EQ(reasons(b, p), std::vector<std::string>{"threads"});
}

TEST(program_preload, accepts_module_names) {
  bench b;
  auto const field = [&b](std::vector<std::string> modules) {
    return b.step([&] { return b.core->submit(b.now, with_preload(1, std::move(modules))); })
        .error()
        .field;
  };
  for (auto const* wrong : {"", "-c", "a-b", "a b", "a,b", "../x"})
    EXPECT_EQ(field({"numpy", wrong}), "preload") << wrong;
  EXPECT_EQ(field(std::vector<std::string>(65, "x")), "preload");
  b.submit(with_preload(1, {"os.path", "_x1", "\u00fcber"}));
}

}  // namespace
}  // namespace muster::core::programs
