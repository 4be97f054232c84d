#include "launch/ranks/step_lines.hpp"

#include <fcntl.h>
#include <re2/re2.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>

#include "base/process/steps/step_layout.hpp"
#include "base/text.hpp"

namespace muster::launch {
namespace {

file_descriptor opened_page(std::string const& path) {
  file_descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat about {};
  std::uint64_t magic = 0;
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 1 ||
      ::pread(file.get(), &magic, sizeof magic, 0) != sizeof magic || magic != steps::magic)
    return {};
  return file;
}

// If the write fails, the step is lost, and the rank continues.
template <class T>
void put(int file, std::size_t at, T const& what) {
  (void)!::pwrite(file, &what, sizeof what, static_cast<off_t>(at));
}

}  // namespace

step_lines::step_lines(std::string const& pattern, std::string const& file)
    : pattern_(std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet)), file_(opened_page(file)) {
  if (!pattern_->ok() || pattern_->NumberOfCapturingGroups() < 1) file_.reset();
}

step_lines::~step_lines() = default;

void step_lines::take(std::string_view line) {
  if (!file_) return;
  line = line.substr(0, line_bytes_max);
  re2::StringPiece number;
  if (!re2::RE2::PartialMatch({line.data(), line.size()}, *pattern_, &number)) return;
  auto const step = parse_number(std::string_view(number.data(), number.size()));
  if (!step || *step > steps::step_max || step == last_) return;
  last_ = step;
  say(*step);
}

// Writes the entry before the count, as a program that maps the file does.
void step_lines::say(std::uint64_t step) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  steps::entry const e{step, static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u +
                                 static_cast<std::uint64_t>(now.tv_nsec)};
  put(file_.get(), offsetof(steps::layout, entries) + count_ % steps::ring * sizeof e, e);
  put(file_.get(), offsetof(steps::layout, count), ++count_);
}

}  // namespace muster::launch
