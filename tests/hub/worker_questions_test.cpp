#include "server/hub/worker_questions.hpp"

#include <gtest/gtest.h>

namespace muster::server {
namespace worker_question_cases {

constexpr core::stream_id one{1}, two{2};

struct worker_questions_test : testing::Test {
  worker_questions<int> all{"numbers"};
  std::vector<std::string> said;
  std::uint64_t ask(core::stream_id stream) {
    return all.expect(stream, [this](muster::result<int> r) {
      said.push_back(r ? std::to_string(*r) : std::string(name(r.error().code)));
    });
  }
};

TEST_F(worker_questions_test, are_answered_once_and_only_by_the_asked_worker) {
  auto const q = ask(one);
  all.deliver(two, q, 1);
  all.deliver(one, q + 1, 2);
  EXPECT_TRUE(said.empty());
  all.deliver(one, q, 3);
  all.deliver(one, q, 4);
  EXPECT_EQ(said, std::vector<std::string>{"3"});
}

TEST_F(worker_questions_test, end_with_their_worker_or_are_forgotten) {
  ask(one);
  auto const forgotten = ask(two);
  all.forget(forgotten);
  all.forget_worker(one);
  all.forget_worker(two);
  EXPECT_EQ(said, std::vector<std::string>{"UNAVAILABLE"});
}

TEST_F(worker_questions_test, have_a_limit) {
  for (std::size_t i = 0; i < worker_questions<int>::waiting_max; ++i) EXPECT_NE(ask(one), 0u);
  EXPECT_EQ(ask(one), 0u);
  EXPECT_EQ(said, std::vector<std::string>{"RESOURCE_EXHAUSTED"});
}

}  // namespace worker_question_cases
}  // namespace muster::server
