// Random bytes, alone and after messages of torch's clients: the counters stay consistent, and a
// refused client gets no further answer.
#include <gtest/gtest.h>

#include <random>

#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

class noise {
 public:
  explicit noise(unsigned seed) : random_(seed) {}

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string some_key() {
    static constexpr char const* keys[] = {
        "/a", "/b", "/default_pg/0//cpu//0/1", "/default_pg/0/0/rank_0", "init/", ""};
    return keys[below(6)];
  }
  std::string some_bytes(unsigned most) {
    std::string s;
    for (auto n = below(most); n > 0; --n) s.push_back(static_cast<char>(below(256)));
    return s;
  }
  /// Returns a complete command of numbering c with random arguments.
  std::string some_command() {
    auto const number = static_cast<std::uint8_t>(below(19));
    auto const what = *command_of(numbering::c, number);
    auto const s = shape_of(what);
    std::string all(1, static_cast<char>(number));
    auto const times = s.counted ? below(4) : 1;
    if (s.counted) all += u64(times);
    for (unsigned t = 0; t < times; ++t)
      for (unsigned w = 0; w < s.words; ++w) all += text(w == 0 ? some_key() : some_bytes(20));
    if (what == op::validate) return say::validate();
    return all + u64(below(5)).substr(0, s.number_bytes);
  }

 private:
  std::mt19937 random_;
};

TEST(torch_noise, leaves_all_counts_right) {
  limits l;
  l.keys = 50;
  l.awaited_keys = 20;
  l.unfinished_bytes = 20'000;
  for (unsigned seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    noise n(seed);
    clients s(n.below(2) ? numbering::a : numbering::b, l);
    std::vector<connection_id> open;
    for (int step = 0; step < 300; ++step) {
      if (open.empty() || (open.size() < 8 && n.below(10) == 0)) {
        open.push_back(s.open());
        if (n.below(4) > 0) s.send(open.back(), say::validate() + say::ping(n.below(5)));
      }
      auto const which = n.below(static_cast<unsigned>(open.size()));
      auto const c = open[which];
      if (!s.is_refused(c)) {
        auto bytes = n.below(40) == 0 ? n.some_bytes(40) : n.some_command();
        if (n.below(60) == 0) bytes.resize(n.below(static_cast<unsigned>(bytes.size()) + 1));
        for (std::size_t at = 0; at < bytes.size() && !s.is_refused(c);) {
          auto const piece = bytes.substr(at, 1 + n.below(30));
          s.send(c, piece);
          at += piece.size();
        }
      }
      if (n.below(50) == 0) s.tcp_store.begin_attempt(attempt_cause::asked, s.now);
      if (s.is_refused(c) || n.below(60) == 0) {
        s.close(c);
        open.erase(open.begin() + which);
      }
      s.tcp_store.view(5);
      ASSERT_EQ(s.tcp_store.invalid(), "");
      ASSERT_LE(s.tcp_store.view(1).attempts.size(), 2u);
    }
    for (auto const c : open) s.close(c);
    ASSERT_EQ(s.tcp_store.invalid(), "");
  }
}

TEST(torch_noise, random_bytes_break_no_invariant) {
  for (unsigned seed = 1; seed <= 2'000; ++seed) {
    noise n(seed);
    clients s(n.below(2) ? numbering::a : numbering::b);
    auto const c = s.open();
    for (int i = 0; i < 20 && !s.is_refused(c); ++i) s.send(c, n.some_bytes(60));
    ASSERT_EQ(s.tcp_store.invalid(), "") << "seed " << seed;
    s.close(c);
  }
}

}  // namespace
}  // namespace muster::torch
