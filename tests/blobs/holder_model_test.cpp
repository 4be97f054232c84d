// The table of holders, compared with a model that records every claim, in random sequences of
// connects, disconnects, holds, copies and drops. A value is lost if it had no holder for `away`,
// or if another process has the task of its last holder.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "server/core/blobs/holder_table.hpp"

namespace muster::core {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t names_few = 6, processes = 7, holders_max = 4;

/// A random sequence of events. The model follows the table's decisions, so the test checks their
/// consequences.
class course {
 public:
  explicit course(std::uint32_t seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += std::chrono::milliseconds(draw(1'500));
      step();
      check();
    }
    for (auto const& [id, of] : std::map(open_)) close(id);
    now_ += 10s;
    check();
    EXPECT_TRUE(by_.empty() && away_.empty());
    EXPECT_EQ(table_.counts().names, 0u);
  }

  std::uint64_t lost = 0, saved = 0, orphans = 0, replaced = 0;  // counts of events

 private:
  std::size_t draw(std::size_t below) { return random_() % below; }
  std::string some_name() { return std::string(1, static_cast<char>('a' + draw(names_few))); }
  static std::uint64_t size_of(std::string const& name) { return 10 + name[0]; }

  void step() {
    auto const what = draw(10);
    if (open_.size() < processes && (open_.empty() || what == 0)) return open();
    auto const at = std::next(open_.begin(), static_cast<long>(draw(open_.size())));
    auto const id = at->first;
    auto const name = some_name();
    if (what == 1) return close(id);
    // The new stream of a process can arrive before the old one is known to be broken.
    if (what == 2 && open_.size() < 2 * processes) return open(id);
    if (what < 4) return drop(id, name);
    bool const had = by_[name].contains(id);
    bool const taken = what < 7 ? table_.hold(id, name, size_of(name), now_)
                                : table_.copy(id, name, size_of(name), now_);
    if (had) {
      EXPECT_TRUE(taken || what < 7) << "it already is a holder";
    }
    if (taken) begin(id, name);
    if (by_[name].empty()) by_.erase(name);
  }
  void open(holder_id former = 0) {
    auto const task =
        former != 0 ? open_[former].task : "worker:" + std::to_string(draw(processes));
    table_.open(++last_, {"socket", task, "", former});
    open_[last_] = {former, task};
    if (former != 0) return;
    for (auto& [name, of] : away_)  // its previous process is dead
      if (of.task == task) of.since = {}, ++replaced;
  }
  void begin(holder_id id, std::string const& name) {
    auto& by = by_[name];
    if (auto const former = open_[id].former; by.contains(former) && !by.contains(id))
      by.erase(former);
    saved += away_.erase(name);
    by.insert(id);
  }
  void close(holder_id id) {
    table_.close(id, now_);
    for (auto it = by_.begin(); it != by_.end();) it = gone(it, id, true);
    open_.erase(id);
  }
  void drop(holder_id id, std::string const& name) {
    auto const it = by_.find(name);
    auto const* p = table_.find(name);
    bool const made_it = p && p->maker == id;
    table_.drop(id, name, now_);
    if (it != by_.end()) gone(it, id, !made_it);
  }
  using by_name = std::map<std::string, std::set<holder_id>>;
  by_name::iterator gone(by_name::iterator it, holder_id id, bool back) {
    if (it->second.erase(id) > 0 && it->second.empty()) {
      if (back) away_[it->first] = {now_, open_[id].task};
      return by_.erase(it);
    }
    return std::next(it);
  }

  void check() {
    ASSERT_EQ(table_.invalid(), "");
    std::uint64_t copies = 0;
    for (auto const& [name, ids] : by_) {
      auto const* p = table_.find(name);
      ASSERT_TRUE(p) << name << " has holders";
      ASSERT_EQ(std::set(p->by.begin(), p->by.end()), ids);
      ASSERT_EQ(table_.holders_round_robin(name, "").size(), ids.size());
      copies += ids.size() - 1;
    }
    ASSERT_EQ(table_.counts().names, by_.size());
    ASSERT_EQ(table_.counts().copies, copies);
    std::set<std::string> due;
    for (auto const& [name, of] : away_)
      if (of.since + 3s <= now_) due.insert(name);
    auto const told = table_.take_lost(now_, 100);
    ASSERT_EQ(std::set(told.begin(), told.end()), due)
        << "lost while every holder was disconnected";
    ASSERT_EQ(told.size(), due.size()) << "each once";
    for (auto const& name : due) away_.erase(name);
    lost += due.size();
    for (auto const& name : table_.take_orphans(now_, 100)) {
      ASSERT_TRUE(by_.contains(name)) << "it has no maker, but a holder";
      ++orphans;
    }
    table_.take_copied(now_, 100);
    table_.take_unreferenced(now_, 100);
  }

  std::mt19937 random_;
  holder_table table_{{.names_max = names_few, .holders_max = holders_max}};
  time_point now_{1'000s};
  holder_id last_ = 0;
  struct process {
    holder_id former = 0;
    std::string task;
  };
  struct absence {
    time_point since{};
    std::string task;
  };
  std::map<holder_id, process> open_;
  by_name by_;
  std::map<std::string, absence> away_;
};

TEST(HolderModel, ValueIsLostExactlyWhenItHasNoHolderForTheGracePeriod) {
  std::uint64_t lost = 0, saved = 0, orphans = 0, replaced = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    course c(seed);
    c.run(400);
    if (HasFailure()) return;
    lost += c.lost, saved += c.saved, orphans += c.orphans, replaced += c.replaced;
  }
  EXPECT_GT(lost, 100u);
  EXPECT_GT(saved, 100u);
  EXPECT_GT(orphans, 100u);
  EXPECT_GT(replaced, 100u);
}

}  // namespace
}  // namespace muster::core
