// docs/decisions: each number is a heading of one page, and a row of the index that names the page.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "tests/tidy/tree.hpp"

namespace {

struct decision {
  std::string title, page;
};

/// By number. A duplicate fails the test.
using decisions = std::map<int, decision>;

void note(decisions& all, std::smatch const& m, std::string const& page, std::string const& line) {
  auto const added = all.emplace(std::stoi(m[1].str()), decision{m[2].str(), page}).second;
  EXPECT_TRUE(added) << page << ": there already: " << line;
}

TEST(tidy, every_decision_has_one_page_and_one_row_of_the_index) {
  static std::regex const heading("^## (\\d+)\\. (.+)$");
  static std::regex const row("^\\| (\\d+) \\| \\[([^\\]]+)\\]\\(([a-z-]+\\.md)#[^)]*\\) \\|");
  std::string const folder = "docs/decisions/";
  decisions written, listed;
  for (auto const& s : read_tree([&](std::string const& p) { return p.starts_with(folder); })) {
    auto const page = s.path.substr(folder.size());
    for (auto const& line : s.lines) {
      std::smatch m;
      if (page == "README.md" && std::regex_search(line, m, row))
        note(listed, m, m[3].str(), line);
      else if (page != "README.md" && std::regex_search(line, m, heading))
        note(written, m, page, line);
    }
  }
  EXPECT_GT(written.size(), 100u);
  for (auto const& [n, d] : written) {
    auto const it = listed.find(n);
    if (it == listed.end()) {
      ADD_FAILURE() << n << " of " << d.page << " has no row in the index";
      continue;
    }
    EXPECT_EQ(it->second.page, d.page) << n;
    EXPECT_EQ(it->second.title, d.title) << n;
  }
  for (auto const& [n, d] : listed)
    EXPECT_TRUE(written.contains(n)) << n << " is in the index but on no page";
}

}  // namespace
