// text.word_count, compared with the coreutils pipeline that defines it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

#include "client/functions/bundled_functions.hpp"

namespace muster {
namespace {

struct temporary_file {
  explicit temporary_file(std::string const& content) {
    int const fd = mkstemp(path.data());
    close(fd);
    std::ofstream(path, std::ios::binary) << content;
  }
  ~temporary_file() { std::remove(path.c_str()); }
  std::string path = "/tmp/muster_words_XXXXXX";
};

std::map<std::string, std::uint64_t> by_coreutils(std::string const& path) {
  auto const command = "LC_ALL=C tr -cs 'A-Za-z' '\\n' < " + path +
                       " | tr 'A-Z' 'a-z' | sed '/^$/d' | sort | uniq -c";
  FILE* out = popen(command.c_str(), "r");
  std::map<std::string, std::uint64_t> counts;
  std::string text;
  for (int c = std::fgetc(out); c != EOF; c = std::fgetc(out)) text += static_cast<char>(c);
  pclose(out);
  std::istringstream lines(text);
  std::uint64_t count = 0;
  for (std::string word; lines >> count >> word;) counts[word] = count;
  return counts;
}

void expect_same(std::string const& content) {
  temporary_file const file(content);
  EXPECT_EQ(count_words(file.path, {}), by_coreutils(file.path));
}

TEST(word_count, counts_words) {
  temporary_file const file("The cat, the Cat; THE end");
  auto const counts = count_words(file.path, {});
  EXPECT_EQ(counts.at("the"), 3u);
  EXPECT_EQ(counts.at("cat"), 2u);
  EXPECT_EQ(counts.size(), 3u);
}

TEST(word_count, equals_coreutils_on_tricky_bytes) {
  expect_same("");
  expect_same("\n\n\n");
  expect_same("word");
  expect_same("no newline at the end\nword");
  expect_same("don't stop-gap_under1two\r\nthree\tfour");
  expect_same(
      "caf\xC3\xA9 na\xC3\xAFve \xFF\xFE"
      "x\xE2\x82\xAC"
      "y");
  expect_same(std::string("nul\0between\0words\0", 18));
  expect_same("@A[Z`a{z");
}

TEST(word_count, equals_coreutils_on_random_bytes_and_across_chunks) {
  std::mt19937 random(7);
  std::string content;
  for (int i = 0; i < 700'000; ++i)
    content += random() % 4 == 0 ? static_cast<char>(random() & 0xFF)
                                 : static_cast<char>('a' + random() % 3);
  expect_same(content);
  expect_same(std::string(600'000, 'Q') + " end");
}

TEST(word_count, missing_file_is_an_error_with_the_path) {
  try {
    count_words("/nowhere/at/all", {});
    FAIL();
  } catch (std::system_error const& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/at/all"), std::string::npos);
  }
  EXPECT_THROW(count_words("/tmp", {}), std::system_error);
}

}  // namespace
}  // namespace muster
