#include "client/programs/native_stacks.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <string_view>

#include "base/process/child.hpp"
#include "base/process/native/frames.hpp"
#include "base/utf8.hpp"
#include "client/log_line.hpp"

namespace muster {
namespace {

using clock = std::chrono::steady_clock;

bool write_all(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const wrote = ::write(to, bytes.data(), bytes.size());
    if (wrote < 0 && errno != EINTR) return false;
    bytes.remove_prefix(wrote < 0 ? 0 : static_cast<std::size_t>(wrote));
  }
  return true;
}

std::string read_all(int from) {
  std::string all;
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (;;) {
    auto const had = all.size();
    all.resize(had + piece);
    auto const got = ::read(from, all.data() + had, piece);
    if (got < 0 && errno == EINTR) {
      all.resize(had);
      continue;
    }
    all.resize(had + (got < 0 ? 0 : static_cast<std::size_t>(got)));
    if (got <= 0) return all;
  }
}

// Writes samples to memory, because a pipe could delay sampling.
file_descriptor samples_of(std::vector<pid_t> const& processes, clock::time_point until) {
  auto file = opened(::memfd_create("samples", MFD_CLOEXEC), "memfd_create");
  std::size_t bytes = 0, count = 0;
  for (auto const pid : processes) {
    if (++count > native_stacks::processes_max || clock::now() >= until) break;
    auto const sample = native::sample(pid, until);
    if (sample.threads.empty()) continue;
    auto const one = native::to_bytes(sample);
    bytes += one.size();
    if (bytes > native_stacks::sample_bytes_max || !write_all(file.get(), one)) break;
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

std::string read_text_until(int out, clock::time_point until) {
  std::string all;
  char buffer[4096];
  for (;;) {
    auto const left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - clock::now()).count();
    pollfd fd{out, POLLIN, 0};
    if (left <= 0 || ::poll(&fd, 1, static_cast<int>(left)) == 0) return all;
    auto const got = ::read(out, buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) return all;
    if (got > 0) all.append(buffer, static_cast<std::size_t>(got));
  }
}

// Parses the reader's output, and ignores an incomplete entry.
std::map<pid_t, std::string> parse_texts(std::string_view said) {
  std::map<pid_t, std::string> texts;
  for (;;) {
    pid_t pid = 0;
    std::size_t size = 0;
    auto const end = said.find('\n');
    if (end == std::string_view::npos) return texts;
    auto const first = std::from_chars(said.begin(), said.begin() + end, pid);
    if (first.ec != std::errc() || *first.ptr != ' ') return texts;
    auto const second = std::from_chars(first.ptr + 1, said.begin() + end, size);
    said.remove_prefix(end + 1);
    if (second.ec != std::errc() || size > said.size()) return texts;
    texts[pid] = to_utf8(said.substr(0, size));
    said.remove_prefix(size);
  }
}

}  // namespace

std::map<pid_t, std::string> native_stacks::of(std::vector<pid_t> const& processes,
                                               clock::time_point until) const {
  auto const left = until - clock::now();
  if (reader_.empty() || processes.empty() || left <= left.zero()) return {};
  try {
    // Reserves half of the time for the reader, because some stacks are better than no stacks.
    auto const samples = samples_of(processes, until - left / 2);
    child_options o{.argv = reader_, .environment = {}, .cwd = "/", .in = samples.get()};
    if (owner_) o.user = process_user{owner_->first, owner_->second};
    auto const reader = start_child(o);
    auto const said = read_text_until(reader.out.get(), until);
    ::kill(reader.pid, SIGKILL);
    while (::waitpid(reader.pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    return parse_texts(said);
  } catch (std::exception const& e) {
    log(log_level::warning, std::string("native stacks cannot be read: ") + e.what());
    return {};
  }
}

int read_samples(int in, int out) {
  auto const all = read_all(in);
  std::string_view left = all;
  native::frame_finder finder;
  constexpr std::chrono::milliseconds names_max{700};  // the parent waits only slightly longer
  auto const until = clock::now() + names_max;
  while (auto const sample = native::from_bytes(left)) {
    auto text = finder.frames_of(*sample, until);
    text.resize(std::min(text.size(), native_stacks::text_bytes_max));
    auto const head = std::to_string(sample->process) + ' ' + std::to_string(text.size()) + '\n';
    if (!write_all(out, head) || !write_all(out, text)) return 1;
  }
  return finder.can() && left.empty() ? 0 : 1;
}

}  // namespace muster
