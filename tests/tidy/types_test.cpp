// A class has at most six references to others, so that a reader knows its surroundings, and a
// struct at most 32 fields, so that it is one thing.
#include "tests/tidy/types.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <map>

namespace {

struct big_type {
  std::string_view file, name;  // the file without its folder
  std::size_t max;
};

constexpr std::size_t references_max = 6;
// Those that have more. The lists only shrink: a number may fall, and nobody joins.
constexpr big_type with_more_references[] = {
    {"worker_stream.hpp", "resources", 8},
};

// A record of one thing may have many fields; the limit finds structs that collect several things.
constexpr std::size_t fields_max = 32;
constexpr big_type with_more_fields[] = {
    {"config.hpp", "config", 56},  // flags of the core, one each
    {"explanation.hpp", "explanation", 39},
};

using counting = std::function<std::size_t(defined_type const&)>;

void expect_few(std::size_t max, big_type const* begin, big_type const* end, counting const& count,
                std::string const& advice) {
  std::map<big_type const*, std::size_t> met;
  for (auto const& s : cpp_sources())
    for (auto const& t : type_scanner(code_of(s)).found) {
      auto const n = count(t);
      if (n <= max) continue;
      auto const file = fs::path(s.path).filename().string();
      auto const* const it = std::find_if(
          begin, end, [&](big_type const& a) { return a.file == file && a.name == t.name; });
      if (it != end) met[it] = std::max(met[it], n);
      if (it == end || n > it->max)
        ADD_FAILURE() << s.path << ": " << t.name << " has " << n << "; " << advice;
    }
  for (auto const* a = begin; a != end; ++a)
    if (met[a] < a->max)
      ADD_FAILURE() << a->file << ": " << a->name << " has "
                    << (met[a] == 0 ? "no more than others" : std::to_string(met[a]))
                    << " by now: say so in the list, not " << a->max;
}

TEST(tidy, classes_have_few_references) {
  expect_few(
      references_max, std::begin(with_more_references), std::end(with_more_references),
      [](defined_type const& t) { return t.references.size(); },
      "a class refers to six others at most: divide it, or let one of them do the work");
}

TEST(tidy, structs_have_few_fields) {
  expect_few(
      fields_max, std::begin(with_more_fields), std::end(with_more_fields),
      [](defined_type const& t) { return t.is_struct ? t.fields.size() : 0; },
      "32 fields at most: does it collect several things?");
}

// Methods that change nothing and answer: of the class of that name in the header.
std::size_t queries_of(std::string const& path, std::string const& name) {
  std::size_t n = 0;
  for (auto const& s : cpp_sources()) {
    if (s.path != path) continue;
    bool within = false;
    for (auto const& line : s.lines) {
      if (line.starts_with("class " + name + " {")) within = true;
      if (line == "};") within = false;
      n += within && line.ends_with(") const;");
    }
  }
  return n;
}

TEST(tidy, the_coordinator_is_asked_few_questions) {
  auto const n = queries_of("server/core/coordinator.hpp", "coordinator");
  EXPECT_GT(n, 0u) << "the header or its class has another name";
  EXPECT_LE(n, 20u) << "what only readers want is a listener below server/history, or one of the "
                       "queries by subject in server/core/queries";
}

std::vector<defined_type> scanned(std::vector<std::string> lines) {
  return type_scanner(code_of({"some.hpp", std::move(lines)})).found;
}

TEST(tidy, references_and_fields_are_recognised) {
  auto const found = scanned({
      "#define OPEN {",
      "namespace a {",
      "template <class T>",
      "class one final : public base<T> {",
      " public:",
      "  one(int& a, int b) : a_(a), b_{b}, c_{b} {}",
      "  int& get() const { return a_; }",
      "  one& operator=(one const&) = delete;",
      "  static int& shared;",
      "  using pair = std::pair<int&, int>;",
      "  std::function<void(int&)> told = [](int& x) { x = 1; };",
      " private:",
      "  enum class kind { first, second };",
      "  struct row { int x = 0, y{1}; char const* text = \"; int z;\"; };  // int& w;",
      "  std::map<int, std::vector<int&>> all_;",
      "  int& a_;",
      "  int b_ = 0, c_{2};",
      "  int const& d_ = b_;",
      "  row rows_[2] = {{1, 2}, {3, 4}};",
      "};",
      "struct later;",
      "int f(int& x) { struct hidden { int y; }; return x; }",
      "}",
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "one");
  EXPECT_FALSE(found[0].is_struct);
  EXPECT_EQ(found[0].references.size(), 2u);
  EXPECT_EQ(found[0].fields.size(), 7u);
  EXPECT_EQ(found[1].name, "row");
  EXPECT_TRUE(found[1].is_struct);
  EXPECT_EQ(found[1].fields.size(), 3u);
  EXPECT_TRUE(found[1].references.empty());
}

// What it counts is there: a scanner that has lost its way finds less.
TEST(tidy, the_types_of_the_tree_are_found) {
  std::size_t types = 0, begins = 0;
  static std::regex const begin(R"(^\s*(?:class|struct) \w[^;()=]*\{$)");
  for (auto const& s : cpp_sources()) {
    types += type_scanner(code_of(s)).found.size();
    for (auto const& line : s.lines) begins += std::regex_search(line, begin);
  }
  EXPECT_GT(types, begins * 95 / 100);
  EXPECT_GT(begins, 1'000u);
}

}  // namespace
