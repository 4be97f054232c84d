// docs/limits.md names a test for each limit, and docs/delivery-guarantees.md for each guarantee.
// Each named test exists, in C++ or, as file.test, in Python.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <string>

namespace {

namespace fs = std::filesystem;

void each_line(fs::path const& file, std::function<void(std::string const&)> const& f) {
  auto in = std::ifstream(file);
  for (std::string line; std::getline(in, line);) f(line);
}

std::set<std::string> declared_tests() {
  std::set<std::string> tests;
  std::regex const declared("^TEST(?:_F|_P)?\\((\\w+), (\\w+)\\)");
  for (auto const& entry :
       fs::recursive_directory_iterator(fs::path(MUSTER_SOURCE_DIR) / "tests")) {
    if (entry.path().extension() != ".cpp") continue;
    each_line(entry.path(), [&](std::string const& line) {
      std::smatch m;
      if (line.starts_with("TEST") && std::regex_search(line, m, declared))
        tests.insert(m[1].str() + "." + m[2].str());
    });
  }
  std::regex const in_python("^def (test_\\w+)\\(");
  for (auto const& entry :
       fs::recursive_directory_iterator(fs::path(MUSTER_SOURCE_DIR) / "python/tests")) {
    if (entry.path().extension() != ".py") continue;
    each_line(entry.path(), [&](std::string const& line) {
      std::smatch m;
      if (std::regex_search(line, m, in_python))
        tests.insert(entry.path().stem().string() + "." + m[1].str());
    });
  }
  return tests;
}

TEST(tidy, every_limit_has_a_test) {
  auto const tests = declared_tests();
  std::regex const name("`(\\w+\\.\\w+)`");
  std::size_t rows = 0;
  each_line(fs::path(MUSTER_SOURCE_DIR) / "docs/limits.md", [&](std::string const& line) {
    if (!line.starts_with("| ") || line.starts_with("| what")) return;
    ++rows;
    auto const cell = line.substr(line.rfind('|', line.size() - 2));
    auto const begin = std::sregex_iterator(cell.begin(), cell.end(), name);
    EXPECT_NE(begin, std::sregex_iterator()) << "no test: " << line;
    for (auto it = begin; it != std::sregex_iterator(); ++it)
      EXPECT_TRUE(tests.contains((*it)[1])) << "no such test: " << (*it)[1];
  });
  EXPECT_GT(rows, 40u);
}

TEST(tidy, delivery_guarantees_name_tests_that_exist) {
  auto const tests = declared_tests();
  std::regex const name("`(\\w+\\.\\w+_\\w+)`");  // without an underscore it is a method
  std::size_t names = 0;
  each_line(fs::path(MUSTER_SOURCE_DIR) / "docs/delivery-guarantees.md",
            [&](std::string const& line) {
              for (std::sregex_iterator it(line.begin(), line.end(), name), end; it != end; ++it) {
                ++names;
                EXPECT_TRUE(tests.contains((*it)[1])) << "no such test: " << (*it)[1];
              }
            });
  EXPECT_GT(names, 60u);
}

}  // namespace
