#include "client/programs/step_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>

#include "base/process/file_descriptor.hpp"
#include "base/process/steps/step_layout.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;

std::uint64_t monotonic_us() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000u +
         static_cast<std::uint64_t>(now.tv_nsec) / 1'000u;
}

file_descriptor open_file(fs::path const& path) {
  file_descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 1)
    return {};
  return file;
}

std::optional<std::pair<std::uint64_t, std::uint32_t>> attempt_of(std::string const& name) {
  try {
    auto const dot = name.find('.');
    if (dot == std::string::npos) return {};
    return std::pair(std::stoull(name),
                     static_cast<std::uint32_t>(std::stoul(name.substr(dot + 1))));
  } catch (std::exception const&) {
    return {};
  }
}

}  // namespace

step_files::step_files(fs::path directory, std::optional<std::pair<uid_t, gid_t>> owner)
    : directory_(fs::absolute(directory)), owner_(owner) {
  fs::create_directories(directory_);
  fs::permissions(directory_,
                  fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
}

fs::path step_files::of(rank_key const& key) const {
  return prefix(key.program, key.attempt) + std::to_string(key.rank);
}

std::string step_files::prefix(std::uint64_t program, std::uint32_t attempt) const {
  return (directory_ / (std::to_string(program) + "." + std::to_string(attempt) + ".")).string();
}

void step_files::make(rank_key const& key) const {
  auto const path = of(key);
  ::unlink(path.c_str());
  auto const file =
      opened(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600), path.c_str());
  steps::layout const empty{.magic = steps::magic};
  if (::pwrite(file.get(), &empty, sizeof empty, 0) != sizeof empty ||
      (owner_ && ::fchown(file.get(), owner_->first, owner_->second) != 0))
    throw std::system_error(errno, std::generic_category(), path.string());
}

void step_files::remove(rank_key const& key) const {
  ::unlink(of(key).c_str());
}

void step_files::tidy(std::set<std::pair<std::uint64_t, std::uint32_t>> const& in_use) const {
  std::error_code error, ignored;
  for (auto const& entry : fs::directory_iterator(directory_, error)) {
    auto const attempt = attempt_of(entry.path().filename().string());
    if (!attempt || !in_use.contains(*attempt)) fs::remove(entry.path(), ignored);
  }
}

std::optional<seen_steps> step_files::read(rank_key const& key, std::uint64_t since) const {
  auto const file = open_file(of(key));
  steps::layout page;
  std::uint64_t count = 0;
  if (!file || ::pread(file.get(), &page, sizeof page, 0) != sizeof page ||
      ::pread(file.get(), &count, sizeof count, offsetof(steps::layout, count)) != sizeof count)
    return {};
  if (page.count <= since || count < page.count) return {};
  // Since the first read, new entries can have overwritten the oldest entries.
  auto const fresh = count - page.count;
  auto const fits = steps::ring - 1 - std::min<std::uint64_t>(fresh, steps::ring - 2);
  auto const wanted = std::min({page.count - since, fits, std::uint64_t{marks_max}});
  auto const now = monotonic_us();
  seen_steps seen{.count = page.count, .marks = {}, .left_out = 0};
  for (auto i = page.count - wanted; i < page.count; ++i) {
    auto const& e = page.entries[i % steps::ring];
    auto const us = e.ns / 1'000;
    bool const first = seen.marks.empty();
    if (e.step > steps::step_max || us > now) return {};
    // The steps or the clock decreased, so the earlier entries belong to a different run of the
    // counter.
    if (!first && (e.step <= seen.marks.back().step || us < seen.marks.back().us))
      seen.marks.clear();
    seen.marks.push_back({e.step, us});
  }
  seen.left_out = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(page.count - since - seen.marks.size(), UINT32_MAX));
  return seen;
}

void step_files::order(rank_key const& key, std::uint64_t word) const {
  auto const file = open_file(of(key));
  if (!file) return;
  // The result is ignored, because a truncated file has no reader.
  (void)!::pwrite(file.get(), &word, sizeof word, offsetof(steps::layout, order));
}

}  // namespace muster
