// Batches as etcd operations, applied to a map that rejects what etcd rejects.
#include <gtest/gtest.h>

#include <random>

#include "server/journal/etcd/transaction_plan.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal::etcd {
namespace plan_cases {

using kind = change::kind;

names const at{"/t"};

struct map_of_etcd {
  std::map<std::string, std::string> entries;

  void apply(std::vector<wire::RequestOp> const& operations) {
    expect_no_overlap(operations);
    for (auto const& o : operations) {
      if (o.has_request_put()) {
        entries[o.request_put().key()] = o.request_put().value();
        continue;
      }
      auto const& d = o.request_delete_range();
      auto const from = entries.lower_bound(d.key());
      auto const to =
          d.range_end().empty() ? entries.upper_bound(d.key()) : entries.lower_bound(d.range_end());
      entries.erase(from, to);
    }
  }

  static void expect_no_overlap(std::vector<wire::RequestOp> const& operations) {
    std::map<std::string, int> puts;
    for (auto const& o : operations)
      if (o.has_request_put()) ++puts[o.request_put().key()];
    for (auto const& [key, times] : puts) EXPECT_EQ(times, 1) << key;
    for (auto const& o : operations) {
      if (o.has_request_put()) continue;
      auto const& d = o.request_delete_range();
      auto const end = d.range_end().empty() ? d.key() + '\0' : d.range_end();
      EXPECT_LT(d.key(), end);
      EXPECT_EQ(puts.lower_bound(d.key()), puts.lower_bound(end)) << d.key();
    }
  }

  /// Returns the entries without their prefix.
  std::map<std::string, std::string> shown() const {
    std::map<std::string, std::string> all;
    auto const start = at.entry("");
    for (auto it = entries.lower_bound(start); it != entries.end() && it->first.starts_with(start);
         ++it) {
      auto& value = all[it->first.substr(start.size())];
      if (it->second.starts_with('=')) {
        value = it->second.substr(1);
        continue;
      }
      auto const number = referenced(it->second).value();
      auto p = entries.lower_bound(at.piece(number, 1));
      for (; p != entries.end() && p->first.starts_with(at.pieces(number)); ++p) value += p->second;
    }
    return all;
  }

  std::size_t pieces() const {
    std::size_t n = 0;
    for (auto const& [key, value] : entries) n += key.starts_with(at.pieces());
    return n;
  }
};

std::map<std::string, std::string> all_of(memory_store const& s) {
  std::map<std::string, std::string> all;
  (void)s.read("", [&](auto key, auto value) { return all.emplace(key, value), true; });
  return all;
}

TEST(etcd_plan, equals_the_batch_applied_in_order) {
  std::mt19937 random(1);
  auto const pick = [&](std::size_t n) { return random() % n; };
  auto const word = [&](std::size_t longest) {
    std::string w;
    for (std::size_t n = 1 + pick(longest); n > 0; --n)
      w += std::string_view("ab\0\xff", 4)[pick(4)];
    return w;
  };
  for (int round = 0; round < 300; ++round) {
    map_of_etcd etcd;
    memory_store store;
    piece_table pieces;
    for (int batches = 0; batches < 6; ++batches) {
      std::vector<change> batch;
      for (std::size_t n = pick(12); n > 0; --n) {
        auto const what = static_cast<kind>(pick(3));
        auto const large = pick(8) == 0;
        batch.push_back({what, word(what == kind::erase_below ? 2 : 4),
                         what == kind::put ? std::string(large ? piece_bytes + 7 : pick(4), 'v')
                                           : std::string()});
      }
      ASSERT_TRUE(store.write(batch).ok());
      auto p = plan_of(at, batch, pieces);
      etcd.apply(p.operations);
      pieces = p.pieces;
      auto const expected = all_of(store);
      ASSERT_EQ(etcd.shown(), expected);
      std::size_t large = 0;
      for (auto const& [key, value] : expected) large += value.size() > piece_bytes;
      ASSERT_EQ(etcd.pieces(), large * 3) << "no entry is left behind";
      ASSERT_EQ(pieces.numbers.size(), large);
    }
  }
}

TEST(etcd_plan, is_cut_by_count_and_bytes) {
  std::vector<wire::RequestOp> all;
  for (int i = 0; i < 10; ++i) all.push_back(put(std::to_string(i), std::string(100, 'v')));
  EXPECT_EQ(cut(all, 3, 1 << 20).size(), 4u);
  EXPECT_EQ(cut(all, 100, 250).size(), 5u);
  EXPECT_EQ(cut(all, 100, 10).size(), 10u) << "one at least";
  EXPECT_TRUE(cut({}, 100, 10).empty());
}

}  // namespace plan_cases
}  // namespace muster::server::journal::etcd
