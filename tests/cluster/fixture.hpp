// What the tests of resolvers share.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "muster/cluster_error.hpp"
#include "muster/cluster_resolver.hpp"

namespace muster::testing {

/// What `action` throws as a cluster_error: its line. Fails when it throws none.
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

/// `cluster_spec({{"worker", {}}})` could be a copy of one as well.
inline cluster_spec spec_of(std::map<std::string, cluster_spec::tasks> jobs) {
  return cluster_spec(std::move(jobs));
}

/// An environment that only holds `variables`.
inline environment_lookup environment(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](std::string const& name) -> std::optional<std::string> {
    auto const found = variables.find(name);
    if (found == variables.end()) return {};
    return found->second;
  };
}

}  // namespace muster::testing
