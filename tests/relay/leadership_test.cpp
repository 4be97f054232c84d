#include <gtest/gtest.h>

#include "server/relay/leader_choice.hpp"

namespace muster::relay {
namespace {

using namespace std::chrono_literals;

class leadership_of_three : public testing::Test {
 protected:
  void after(std::chrono::milliseconds d) { now += d; }
  void asked(std::size_t server) { l.asked(server, now); }
  void answered(std::size_t server, bool serves) { l.answered(server, serves, now); }
  std::optional<std::size_t> leader() const { return l.leader(); }

  leader_choice l{3, 1s};
  leader_choice::time_point now{};
};

TEST_F(leadership_of_three, there_is_no_leader_before_a_server_claims_it) {
  EXPECT_EQ(leader(), std::nullopt);
  answered(0, false);
  EXPECT_EQ(leader(), std::nullopt);
  answered(2, true);
  EXPECT_EQ(leader(), 2u);
}

TEST_F(leadership_of_three, leader_stays_until_it_reports_otherwise) {
  answered(1, true);
  answered(0, true);
  EXPECT_EQ(leader(), 1u);
  answered(1, false);
  EXPECT_EQ(leader(), 0u);
  answered(0, false);
  EXPECT_EQ(leader(), std::nullopt);
}

TEST_F(leadership_of_three, silent_leader_is_replaced_by_a_serving_server) {
  answered(0, true);
  asked(0);
  after(900ms);
  answered(1, true);
  EXPECT_EQ(leader(), 0u);
  after(200ms);
  answered(2, false);
  EXPECT_EQ(leader(), 1u) << "server 1 serves, and server 0 has been silent for over a second";
  answered(0, true);
  EXPECT_EQ(leader(), 1u);
}

TEST_F(leadership_of_three, silent_leader_stays_while_no_other_server_serves) {
  answered(0, true);
  asked(0);
  after(4s);
  answered(1, false);
  EXPECT_EQ(leader(), 0u);
  answered(0, false);  // no answer within the limit
  EXPECT_EQ(leader(), std::nullopt);
}

TEST_F(leadership_of_three, silent_server_is_not_chosen) {
  answered(0, true);
  answered(1, true);
  answered(2, true);
  asked(1);
  after(2s);
  answered(0, false);
  EXPECT_EQ(leader(), 2u);
}

}  // namespace
}  // namespace muster::relay
