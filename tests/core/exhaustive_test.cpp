// Plays every sequence of events of a small cluster. Afterwards the cluster runs to the end, where
// each closure and the job must have ended once.
#include <array>
#include <map>

#include "tests/core/fixture.hpp"
#include "tests/support/sanitized.hpp"

namespace muster::core {
namespace {

enum class move { attach, lose, succeed, fail, stale, cancel_job, cancel_closure };
struct choice {
  move what;
  std::size_t worker = 0;
};

class play {
 public:
  play(cluster& c, session_spec spec) : c_(c), streaming_(spec.delivery != delivery::job) {
    spec.max_worker_failures = 2;
    job_ = c_.open({"f", "g", "f"}, std::move(spec));
  }

  std::vector<choice> choices() const {
    std::vector<choice> out;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (!here(i)) {
        out.push_back({move::attach, i});
        continue;
      }
      out.push_back({move::lose, i});
      if (c_.held(workers_[i]).empty()) continue;
      out.push_back({move::succeed, i});
      out.push_back({move::fail, i});
      if (i == 1) out.push_back({move::stale, i});
    }
    if (!cancelled_) {
      out.push_back({move::cancel_job});
      if (!streaming_) out.push_back({move::cancel_closure});
    }
    return out;
  }

  void perform(choice const& x) {
    auto& w = workers_[x.worker];
    auto const newest = [&] { return c_.held(w).back(); };
    switch (x.what) {
      case move::attach:
        w = c_.attach({.functions = x.worker == 0 ? names{"f"} : names{"f", "g"},
                       .slots = 1,
                       .credits = x.worker == 0 ? 1u : 2u,
                       .index = static_cast<std::int64_t>(x.worker)});
        break;
      case move::lose:
        c_.lose(w);
        break;
      case move::succeed:
        c_.succeed(w, newest());
        break;
      case move::fail:
        c_.fail(w, newest());
        break;
      case move::stale:
        c_.fail(w, newest(), "stale", failure_kind::stale_handle);
        break;
      case move::cancel_job:
        cancelled_ = true;
        c_.ask(cancel_session{{}, job_.id});
        break;
      case move::cancel_closure:
        cancelled_ = true;
        c_.ask(cancel_closure{{}, job_[0]});
        break;
    }
    look();
  }

  void finish() {
    if (!here(1)) perform({move::attach, 1});
    // Worker 0 can get more closures while worker 1 finishes.
    for (std::size_t const i : {0u, 1u, 0u})
      while (here(i) && !c_.held(workers_[i]).empty()) perform({move::succeed, i});
    auto const v = c_.job(job_.id);
    EXPECT_EQ(v.counts.succeeded + v.counts.failed + v.counts.cancelled, 3u);
    if (streaming_) {
      EXPECT_EQ(c_.watch().unanswered_tokens(job_.id), 0u);
      EXPECT_FALSE(v.stopping);
    } else {
      EXPECT_EQ(ended_.size(), 3u);
      EXPECT_TRUE(ended(v.state));
    }
    clear_away();
  }

 private:
  bool here(std::size_t i) const { return c_.watch().attached(workers_[i]); }

  /// Checks that ended closures do not change.
  void look() {
    for (auto const id : job_.closures) {
      auto const state = c_.state(id);
      if (state == closure_state::queued || state == closure_state::running) {
        EXPECT_FALSE(ended_.contains(id)) << "ended, and continued afterwards";
      } else {
        EXPECT_EQ(ended_.try_emplace(id, state).first->second, state) << "ended twice";
      }
    }
  }

  void clear_away() {
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (here(i)) c_.leave(workers_[i]);
    if (streaming_)
      c_.step(close_session{job_.id});
    else
      c_.ask(delete_session{{}, job_.id});
  }

  cluster& c_;
  bool streaming_;
  opened job_;
  std::array<stream_id, 2> workers_{};
  bool cancelled_ = false;
  std::map<closure_id, closure_state> ended_;
};

// Each further choice takes six times as long.
constexpr std::size_t choices_played = sanitized ? 5 : 6;

/// Returns the lower limit; fewer sequences would mean that choices are missing.
constexpr std::size_t at_least(std::size_t sequences) {
  return sanitized ? sequences / 8 : sequences;
}

/// Plays every sequence of `length` choices and returns their number.
std::size_t play_all(session_spec const& spec, std::size_t length) {
  config settings;
  settings.ended_sessions_max = 2;
  // Shared: creating coordinators would dominate the run time.
  cluster c(settings);
  std::vector<std::size_t> path;
  std::size_t played = 0;
  for (;;) {
    play p(c, spec);
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < length; ++i) {
      auto const options = p.choices();
      if (i == path.size()) path.push_back(0);
      widths.push_back(options.size());
      p.perform(options.at(path[i]));
    }
    p.finish();
    ++played;
    if (testing::Test::HasFailure()) {
      ADD_FAILURE() << "choices " << testing::PrintToString(path);
      return played;
    }
    while (!path.empty() && ++path.back() == widths[path.size() - 1]) path.pop_back();
    if (path.empty()) return played;
  }
}

TEST(exhaustive, every_closure_of_a_fail_fast_job_ends_once) {
  EXPECT_GT(play_all(fail_fast(), choices_played), at_least(5'000));
}

TEST(exhaustive, every_closure_of_a_job_that_continues_ends_once) {
  EXPECT_GT(play_all(continue_all(), choices_played), at_least(2'000));
}

TEST(exhaustive, every_closure_of_a_stream_ends_once) {
  EXPECT_GT(play_all(streaming(), choices_played), at_least(2'000));
}

}  // namespace
}  // namespace muster::core
