// The tables of docs/architecture.md that trace a call: each named module exists, and their number
// is that of the table's head.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "tests/tidy/tree.hpp"

namespace muster::tidy {
namespace {

bool is_room(std::vector<source> const& all, std::string const& name) {
  return std::any_of(all.begin(), all.end(), [&](source const& s) {
    auto const stem = s.path.substr(0, s.path.rfind('.'));
    return stem == name || stem.ends_with("/" + name);
  });
}

// Returns the modules of a row. Parentheses contain explanations, not modules.
std::set<std::string> rooms_in(std::string row) {
  static std::regex const aside("\\([^)]*\\)"), name("`([^`]+)`");
  row = std::regex_replace(row.substr(0, row.find('|', 1)), aside, "");
  std::set<std::string> found;
  for (std::sregex_iterator m(row.begin(), row.end(), name), end; m != end; ++m)
    found.insert((*m)[1]);
  return found;
}

}  // namespace

TEST(tidy, modules_of_the_architecture_page_exist_and_are_counted) {
  static std::regex const head("^\\| (\\d+) modules \\|");
  auto const page = read_tree([](std::string const& p) { return p == "docs/architecture.md"; });
  ASSERT_EQ(page.size(), 1u);
  auto const& lines = page[0].lines;
  std::size_t tables = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch m;
    if (!std::regex_search(lines[i], m, head)) continue;
    ++tables;
    std::set<std::string> rooms;
    for (auto row = i + 2; row < lines.size() && lines[row].starts_with("|"); ++row)
      for (auto const& room : rooms_in(lines[row])) {
        EXPECT_TRUE(is_room(cpp_sources(), room))
            << page[0].path << ":" << row + 1 << ": no " << room;
        EXPECT_TRUE(rooms.insert(room).second)
            << page[0].path << ":" << row + 1 << ": " << room << " is counted twice";
      }
    EXPECT_EQ(rooms.size(), std::stoul(m[1])) << page[0].path << ":" << i + 1;
  }
  EXPECT_EQ(tables, 3u);
}

}  // namespace muster::tidy
