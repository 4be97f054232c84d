#include "client/programs/spool.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/process/file_descriptor.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

// A file whose beginning was dropped starts with a hole.
std::uint64_t first_kept(int fd, std::uint64_t size) {
  auto const data = ::lseek(fd, 0, SEEK_DATA);
  return data < 0 ? size : static_cast<std::uint64_t>(data);
}

std::string_view last_line_of(std::string_view text) {
  constexpr std::string_view ends = "\n\r", blank = " \t\n\r";
  auto const last = text.find_last_not_of(blank);
  if (last == std::string_view::npos) return {};
  text = text.substr(0, last + 1);
  auto const before = text.find_last_of(ends);
  return before == std::string_view::npos ? text : text.substr(before + 1);
}

constexpr auto passable = fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;

}  // namespace

spool::spool(fs::path directory)
    : own_(directory.empty() ? std::make_unique<private_temp_directory>("muster-programs-")
                             : nullptr),
      root_(own_ ? own_->path() : fs::absolute(directory)) {
  fs::create_directories(root_ / "logs");
  fs::create_directories(root_ / "work");
  fs::permissions(root_ / "logs", fs::perms::owner_all);
  fs::permissions(root_, passable);
  fs::permissions(root_ / "work", passable);
}

spool::attempt spool::directories_of(std::uint64_t program, std::uint32_t number) const {
  auto const name = std::to_string(program) + "." + std::to_string(number);
  return {root_ / "logs" / name, root_ / "work" / name};
}

void spool::make(attempt_name which, std::set<attempt_name> const& in_use) {
  auto const d = directories_of(which.first, which.second);
  fs::create_directories(d.logs);
  fs::create_directories(d.work);
  fs::permissions(d.work, passable);  // ranks of another user need this, regardless of the umask
  forget_oldest(in_use);
}

// The oldest attempt has the oldest modification time of its log directory.
void spool::forget_oldest(std::set<attempt_name> const& in_use) const {
  std::vector<std::pair<fs::file_time_type, fs::path>> all;
  std::error_code ignored;
  for (auto const& entry : fs::directory_iterator(root_ / "logs", ignored))
    all.emplace_back(entry.last_write_time(ignored), entry.path().filename());
  if (all.size() <= works_max) return;
  std::sort(all.begin(), all.end());
  auto const is_in_use = [&](fs::path const& name) {
    return std::any_of(in_use.begin(), in_use.end(), [&](attempt_name const& a) {
      return directories_of(a.first, a.second).logs.filename() == name;
    });
  };
  for (std::size_t i = 0; i + works_max < all.size(); ++i) {
    auto const& name = all[i].second;
    if (is_in_use(name)) continue;
    fs::remove_all(root_ / "work" / name, ignored);
    if (i + attempts_max < all.size()) fs::remove_all(root_ / "logs" / name, ignored);
  }
}

std::optional<spool::piece> spool::read(std::uint64_t program, std::uint32_t number,
                                        std::uint32_t rank, std::uint64_t offset, bool from_end,
                                        std::size_t bytes_max) const {
  auto const path = directories_of(program, number).logs / (std::to_string(rank) + ".log");
  file_descriptor const file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0) return {};
  piece p{.offset = 0, .data = {}, .size = static_cast<std::uint64_t>(about.st_size)};
  p.offset = from_end ? p.size - std::min(p.size, offset) : std::min(p.size, offset);
  p.offset = std::max(p.offset, first_kept(file.get(), p.size));
  p.data.resize(std::min({bytes_max, read_bytes_max, static_cast<std::size_t>(p.size - p.offset)}));
  auto const got = ::pread(file.get(), p.data.data(), p.data.size(), static_cast<off_t>(p.offset));
  p.data.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return p;
}

std::uint64_t spool::size_of(std::uint64_t program, std::uint32_t number,
                             std::uint32_t rank) const {
  auto const path = directories_of(program, number).logs / (std::to_string(rank) + ".log");
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_size) : 0;
}

std::optional<spool::last> spool::last_line(std::uint64_t program, std::uint32_t number,
                                            std::uint32_t rank, std::uint64_t known) const {
  auto const path = directories_of(program, number).logs / (std::to_string(rank) + ".log");
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 || static_cast<std::uint64_t>(about.st_size) == known)
    return {};
  auto const end = read(program, number, rank, look_bytes, true, look_bytes);
  if (!end) return {};
  return last{end->size, std::string(last_line_of(end->data).substr(0, line_bytes_max))};
}

}  // namespace muster
