// Random closures draw splits, fail, are lost or succeed. Each split is completed once per epoch.
// The closures never deadlock.
#include <map>
#include <random>

#include "tests/core/objects/bench.hpp"

namespace muster::core::objects {
namespace {

struct running {
  bool waits = false;
  bool end_reached = false;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> seen{};  // epoch and split
};

struct dealing : table_bench {
  dealing(std::uint32_t seed, bool loses) : random(seed), loses(loses) {
    datasets::dataset_spec spec;
    splits = 1 + draw(12);
    epochs = 1 + draw(3);
    for (std::uint32_t i = 0; i < splits; ++i) spec.splits.push_back("s");
    spec.epochs = epochs;
    id = *table.create_dataset(now, s, 1, std::move(spec));
  }

  std::mt19937 random;
  bool const loses;
  session_id const s = open(1);
  dataset_id id{};
  std::uint32_t splits = 0, epochs = 0;
  std::uint64_t last_closure = 0, last_number = 0;
  std::map<std::uint64_t, running> closures{};
  std::map<std::uint64_t, std::uint64_t> asked{};  // by the numbers of their draws
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> done{}, seen{};

  std::uint32_t draw(std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); }

  void take() {
    for (auto const& a : pending_output().answers) {
      auto const it = closures.find(asked.at(a.name.number));
      if (it == closures.end()) continue;
      auto& c = it->second;
      c.waits = false;
      ASSERT_TRUE(a.ok);
      if (a.value.encoding() != encoding::bytes) {
        c.end_reached = true;
        continue;
      }
      auto const bytes = a.value.view();
      std::pair<std::uint32_t, std::uint32_t> const one{bytes[4], bytes[0]};
      ASSERT_LT(one.first, epochs);
      ASSERT_EQ(done[one], 0) << "it was done already";
      ASSERT_FALSE(c.end_reached);
      if (!c.seen.empty()) {
        ASSERT_EQ(c.seen[0].first, one.first) << "a closure reads one epoch";
      }
      c.seen.push_back(one);
      ++seen[one];
    }
  }

  void ask(std::uint64_t closure) {
    datasets::draw_request r;
    r.closure = closure_id{closure};
    r.attempt = 1;
    r.whole = true;
    asked[++last_number] = closure;
    closures[closure].waits = true;
    table.draw(caller_of(core::incarnation{7}), s, {last_number, object_id{raw(id)}, "draw", {}}, r,
               s, "worker:" + std::to_string(closure % 3));
    take();
  }

  void end(std::uint64_t closure, bool succeeds) {
    auto const ended = closures.extract(closure);
    if (succeeds)
      for (auto const& one : ended.mapped().seen) ++done[one];
    table.closure_ended(closure_id{closure}, succeeds);
    take();
  }

  void step() {
    if (closures.size() < 4 && draw(4) == 0) return ask(++last_closure);
    std::vector<std::uint64_t> able;
    for (auto const& [n, c] : closures)
      if (!c.waits) able.push_back(n);
    if (loses && !closures.empty() && draw(12) == 0)
      return end(
          std::next(closures.begin(), draw(static_cast<std::uint32_t>(closures.size())))->first,
          false);
    if (able.empty()) {
      ASSERT_TRUE(closures.empty()) << "all wait, and none can continue";
      return ask(++last_closure);
    }
    auto const n = able[draw(static_cast<std::uint32_t>(able.size()))];
    if (closures[n].end_reached || draw(5) == 0)
      end(n, true);
    else
      ask(n);
  }

  void run() {
    for (int i = 0; i < 100'000 && !table.find(id)->is_over(); ++i) {
      step();
      if (testing::Test::HasFatalFailure()) return;
    }
    ASSERT_TRUE(table.find(id)->is_over()) << "it terminates";
    for (std::uint32_t e = 0; e < epochs; ++e)
      for (std::uint32_t i = 0; i < splits; ++i) {
        ASSERT_EQ((done[{e, i}]), 1);
        int const times = seen[{e, i}];
        ASSERT_TRUE(loses ? times >= 1 : times == 1) << times;
      }
  }
};

TEST(datasets_model, each_split_is_processed_once_per_epoch_despite_losses) {
  for (std::uint32_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    dealing d(seed, seed % 2 == 1);
    d.run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace muster::core::objects
