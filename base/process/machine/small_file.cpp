#include "base/process/machine/small_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>

namespace muster {

std::string read_small_file(std::string const& path) {
  constexpr std::size_t most = 1 << 20;
  std::string text;
  int const file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[16 << 10];
  for (ssize_t n = 0; text.size() < most && (n = read(file, part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(n));
  close(file);
  return text;
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  std::uint64_t n = 0;
  auto const [end, wrong] = std::from_chars(text.data() + begin, text.data() + text.size(), n);
  if (wrong != std::errc()) return {};
  return n;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view key) {
  std::optional<std::uint64_t> found;
  each_line(text, [&](std::string_view line) {
    if (!found && line.substr(0, key.size()) == key) {
      line.remove_prefix(key.size());
      if (key.back() == ':' || line.substr(0, 1) == " ") found = leading_number(line);
    }
  });
  return found;
}

std::string_view next_field(std::string_view& text) {
  auto const begin = text.find_first_not_of(" \t");
  text.remove_prefix(begin == std::string_view::npos ? text.size() : begin);
  auto const word = text.substr(0, text.find_first_of(" \t"));
  text.remove_prefix(word.size());
  return word;
}

}  // namespace muster
