// Test names are those of the original service's suites. Each test runs in both dialects, unless
// its suite names the only dialect with the feature.
#pragma once

#include <gtest/gtest.h>

#include "tests/support/served_agents.hpp"

namespace muster::test {

using namespace std::chrono_literals;
using grpc::StatusCode;

/// Shows that a call stays parked.
inline constexpr auto a_while = 60ms;
inline constexpr auto long_time = 20s;
/// Heartbeat timeout of a silent task, and interval of the others.
inline constexpr auto fast_timeout = 500ms;
inline constexpr auto fast_beat = 100ms;

/// Tasks connect and leave without waiting; a silent task fails after `fast_timeout`.
coordination::cluster_spec watched(std::uint32_t tasks);
/// Returns a cluster where connecting and leaving are barriers, as in JAX.
coordination::cluster_spec strict(std::uint32_t tasks);

inline testing::AssertionResult has_code(answer const& a, StatusCode expected) {
  if (a.code == expected) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << "code " << a.code << " instead of " << expected << ": " << a.message;
}
inline testing::AssertionResult says(answer const& a, std::string const& part) {
  if (a.message.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not in: " << a.message;
}
#define EXPECT_CODE(call, code_name) \
  EXPECT_TRUE(::muster::test::has_code((call), ::grpc::StatusCode::code_name))
#define EXPECT_SAYS(call, part) EXPECT_TRUE(::muster::test::says((call), part))

class conformance : public testing::TestWithParam<wire_dialect>, protected served_agents {
 protected:
  /// Creates an unregistered process with its own connection.
  coordination_agent& agent(int task, agent_options o = {});
  void connect(int tasks);
  coordination_agent& operator[](std::size_t i) { return *agents[i]; }
  /// Waits until the service has received the poll; otherwise a later call could overtake it.
  pending polling(std::size_t i);
  bool is_x() const { return GetParam() == wire_dialect::xla; }
};

/// ResetTask exists only in TensorFlow's dialect.
class conformance_of_tensorflow : public conformance {};
/// Only in XLA's dialect requests name the service's incarnation.
class conformance_of_xla : public conformance {};

inline std::string dialect_name(testing::TestParamInfo<wire_dialect> const& d) {
  return d.param == wire_dialect::xla ? "X" : "T";
}

}  // namespace muster::test
