// Reads the file in chunks and counts as it goes.
#include "client/functions/word_count.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "process/file_descriptor.hpp"

namespace muster {
namespace {

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

// 0 for what is no letter, else the letter in lower case.
char letter(char c) {
  if (c >= 'a' && c <= 'z') return c;
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return 0;
}

}  // namespace

std::map<std::string, std::uint64_t> count_words(std::string const& path, std::stop_token stop) {
  auto const fail = [&path] { throw std::system_error(errno, std::generic_category(), path); };
  file_descriptor const file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) fail();

  std::unordered_map<std::string, std::uint64_t> counts;
  std::string word;  // goes on across chunks
  std::vector<char> chunk(chunk_bytes);
  while (!stop.stop_requested()) {
    auto const got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail();
    if (got == 0) break;
    for (ssize_t i = 0; i < got; ++i) {
      if (char const c = letter(chunk[static_cast<std::size_t>(i)])) {
        word += c;
      } else if (!word.empty()) {
        ++counts[word];
        word.clear();
      }
    }
  }
  if (!word.empty()) ++counts[word];
  return {counts.begin(), counts.end()};
}

}  // namespace muster
