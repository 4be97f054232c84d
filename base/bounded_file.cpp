// One read of one byte more than the limit.
#include "base/bounded_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>

namespace muster {
namespace {

std::string in_words(std::size_t bytes) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return bytes % mebibyte == 0 ? std::to_string(bytes / mebibyte) + " MiB"
                               : std::to_string(bytes) + " bytes";
}

}  // namespace

result<std::string> read_bounded_file(std::string const& path, std::size_t bytes_max) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[64 << 10];
  while (file && text.size() <= bytes_max) {
    file.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  // A directory can be opened, and not read.
  if (!file.is_open() || file.bad())
    return status{code::not_found, errno ? std::strerror(errno) : "cannot be read"};
  if (text.size() > bytes_max)
    return status{code::invalid_argument, "is larger than " + in_words(bytes_max)};
  return text;
}

}  // namespace muster
