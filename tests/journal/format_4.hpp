// A data directory of format 4, written in November 2026, with every kind of entry. Each line is
// one key and value; all but printable ASCII is escaped.
#pragma once

#include <absl/strings/escaping.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "server/journal/store.hpp"

namespace muster::server::journal {

inline std::string format_4_file(std::string const& name) {
  return std::string(MUSTER_SOURCE_DIR) + "/tests/journal/format_4/" + name;
}

inline std::vector<change> format_4_entries() {
  std::vector<change> all;
  std::ifstream in(format_4_file("entries"));
  for (std::string key, value; std::getline(in, key, '\t') && std::getline(in, value);) {
    auto& c = all.emplace_back();
    EXPECT_TRUE(absl::CUnescape(key, &c.key) && absl::CUnescape(value, &c.value)) << key;
  }
  EXPECT_FALSE(all.empty()) << format_4_file("entries");
  return all;
}

}  // namespace muster::server::journal
