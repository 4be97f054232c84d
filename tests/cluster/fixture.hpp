// Helpers of resolver tests.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::testing {

/// Returns the message of the cluster_error that `action` throws.
inline std::string fault_of(std::function<void()> const& action,
                            cluster_error::code expected = cluster_error::code::invalid) {
  try {
    action();
  } catch (cluster_error const& e) {
    EXPECT_EQ(e.kind(), expected) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no cluster_error";
  return {};
}

/// Avoids `cluster_spec({{"worker", {}}})`, which could also be a copy.
inline cluster_spec spec_of(std::map<std::string, cluster_spec::tasks> jobs) {
  return cluster_spec(std::move(jobs));
}

inline environment_lookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string const& name) -> std::optional<std::string> {
    auto const found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

}  // namespace muster::testing
