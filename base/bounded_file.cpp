#include "base/bounded_file.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <tuple>
#include <utility>

namespace muster {
namespace {

std::string in_words(std::size_t bytes) {
  constexpr std::size_t mebibyte = std::size_t{1} << 20;
  return bytes % mebibyte == 0 ? std::to_string(bytes / mebibyte) + " MiB"
                               : std::to_string(bytes) + " bytes";
}

result<std::string> read_now(std::string const& path, std::size_t bytes_max) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  char piece[64 << 10];
  while (file && text.size() <= bytes_max) {
    file.read(piece, sizeof piece);
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  }
  // The program can open a directory but not read it.
  if (!file.is_open() || file.bad())
    return status{code::not_found, errno ? std::strerror(errno) : "cannot be read"};
  if (text.size() > bytes_max)
    return status{code::invalid_argument, "is larger than " + in_words(bytes_max)};
  return text;
}

using pipe_key = std::tuple<std::string, dev_t, ino_t>;

/// Locks during the read, so that two threads do not share a pipe's bytes.
result<std::string> read_pipe(pipe_key const& key, std::size_t bytes_max) {
  static std::mutex mutex;
  static std::deque<std::pair<pipe_key, std::string>> kept;
  std::lock_guard const lock(mutex);
  for (auto const& [of, text] : kept)
    if (of == key) return text;
  auto text = read_now(std::get<0>(key), bytes_max);
  if (!text) return text;
  kept.emplace_back(key, *text);
  if (kept.size() > named_pipes_max) kept.pop_front();
  return text;
}

}  // namespace

result<std::string> read_bounded_file(std::string const& path, std::size_t bytes_max) {
  struct stat of {};
  if (::stat(path.c_str(), &of) == 0 && S_ISFIFO(of.st_mode))
    return read_pipe({path, of.st_dev, of.st_ino}, bytes_max);
  return read_now(path, bytes_max);
}

result<std::string> first_line_of(std::string const& path) {
  auto text = read_bounded_file(path);
  if (!text) return text;
  auto line = text->substr(0, text->find('\n'));
  line.resize(line.find_last_not_of(" \t\r") + 1);
  if (line.empty()) return status{code::invalid_argument, "its first line is empty"};
  return line;
}

}  // namespace muster
