// Only signals those processes of a rank that have a stack file and, according to the kernel,
// handle the signal. The signal would kill all other processes.
#include "client/programs/stack_files.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <future>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/process/file_descriptor.hpp"
#include "base/process/python_site.hpp"
#include "base/utf8.hpp"
#include "client/programs/processes.hpp"
#include "client/programs/program_options.hpp"

namespace muster {
namespace {

namespace fs = std::filesystem;
using clock = std::chrono::steady_clock;

// This module runs in each Python interpreter of a rank before the program. Must neither fail nor
// print.
constexpr char const* register_stacks =
    R"(# This process writes its stacks into a file when it is asked to.
def _register():
    import faulthandler
    import fcntl
    import os
    import sys

    if getattr(sys, "_muster_stacks", None) == os.environ["MUSTER_STACKS"]:
        return  # this module runs again, by way of another one
    sys._muster_stacks = os.environ["MUSTER_STACKS"]
    number, _, directory = os.environ["MUSTER_STACKS"].partition(":")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    mine = []

    def opened():
        # Named as its descriptor, which says later whether the program still has it; a high one, since
        # programs may count on the low ones.
        path = os.path.join(directory, str(os.getpid()))
        file = os.open(path, flags, 0o600)
        try:
            low, file = file, fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 200)
            os.close(low)
        except OSError:
            pass
        os.rename(path, f"{path}.{file}")
        return file

    def begin():
        try:
            file = opened()
            mine.append((file, os.fstat(file)[1:3]))
            faulthandler.register(int(number), file=file, all_threads=True)
        except Exception:
            faulthandler.unregister(int(number))  # else a copy would write into its parent's file
        if len(mine) > 1:
            old, was = mine.pop(0)
            try:
                if os.fstat(old)[1:3] == was:  # the program may have its own by that number
                    os.close(old)
            except OSError:
                pass

    begin()
    os.register_at_fork(after_in_child=begin)


try:
    _register()
except Exception:
    pass
)";

std::string content(fs::path const& file) {
  std::ifstream in(file);
  std::ostringstream all;
  all << in.rdbuf();
  return std::move(all).str();
}

bool is_stopped(char state) {
  return state == 'T' || state == 't';
}

// Returns true if the process handles the signal and does not block it, and if no such signal is
// pending. A pending signal would survive an exec and kill the program.
bool takes(pid_t pid, int signal) {
  std::istringstream status(content("/proc/" + std::to_string(pid) + "/status"));
  bool caught = false, held = false;
  for (std::string line; std::getline(status, line);) {
    auto const has = [&line, signal](char const* set) {
      return line.starts_with(set) &&
             (std::stoull(line.substr(7), nullptr, 16) >> (signal - 1)) & 1;
    };
    caught = caught || has("SigCgt:");
    held = held || has("SigBlk:") || has("ShdPnd:") || has("SigPnd:");
  }
  return caught && !held;
}

std::string in_words(pid_t pid, char state) {
  auto words = std::string(1, state);
  auto const where = content("/proc/" + std::to_string(pid) + "/wchan");
  if (!where.empty() && where != "0") words += " in " + to_utf8(where);
  return words;
}

// Returns true if the process is waiting for a child, as a shell does for its program.
bool waits_for_child(pid_t pid) {
  return content("/proc/" + std::to_string(pid) + "/wchan").starts_with("do_wait");
}

std::string command_of(pid_t pid) {
  constexpr std::size_t shown_max = 100;
  auto line = content("/proc/" + std::to_string(pid) + "/cmdline");
  while (!line.empty() && line.back() == '\0') line.pop_back();
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 32; }, ' ');
  return shortened(to_utf8(line), shown_max);
}

// The path can be any kind of file that the rank's user has created.
file_descriptor open_own(fs::path const& path) {
  file_descriptor file(::open(path.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about {
  }, directory{};
  if (!file || ::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_nlink != 1 ||
      ::stat(path.parent_path().c_str(), &directory) != 0 || about.st_uid != directory.st_uid)
    return {};
  return file;
}

// If the process has closed its stack file, the stack could be written into another file that
// reuses the descriptor.
bool has_open(pid_t pid, fs::path const& file) {
  std::error_code error;
  auto const descriptor = file.extension().string();  // ".200"
  if (descriptor.size() < 2) return false;
  return fs::read_symlink("/proc/" + std::to_string(pid) + "/fd/" + descriptor.substr(1), error) ==
         file;
}

std::size_t size_of(fs::path const& file) {
  struct stat about {};
  return ::lstat(file.c_str(), &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
}

// Removes thread addresses, so that equal stacks have equal texts.
std::string without_addresses(std::string const& text) {
  std::istringstream in(text);
  std::string all;
  for (std::string line; std::getline(in, line);) {
    auto const address = line.find("hread 0x");
    if (address != std::string::npos && address <= sizeof "Current t") {
      auto const from = address + 5, to = line.find(' ', from + 1);
      line.erase(from, to == std::string::npos ? to : to - from);
    }
    all += line + '\n';
  }
  return all;
}

// Removes WORKS/ATTEMPT/RANK/ from the beginning of file names.
std::string without_directory(std::string text, std::string const& works) {
  auto const begin = "File \"" + works + "/";
  constexpr std::size_t name_at = sizeof "File \"" - 1;
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at + name_at)) {
    auto const rank = text.find_first_of("/\"\n", at + begin.size());
    if (rank == std::string::npos || text[rank] != '/') continue;
    auto const file = text.find_first_of("/\"\n", rank + 1);
    if (file != std::string::npos && text[file] == '/')
      text.erase(at + name_at, file + 1 - (at + name_at));
  }
  return text;
}

// A signalled process. The stack file is opened only when needed, because a worker can have as many
// ranks as descriptors.
struct asked {
  pid_t pid = 0;
  std::uint32_t rank = 0;
  fs::path file{};
  std::size_t size = 0;  // size at the previous check
  int still = 0;         // consecutive checks with this size
  bool done = false;
};

std::string read_all(asked const& a, std::size_t most) {
  std::string text(std::min(a.size, 4 * most), '\0');
  auto const file = open_own(a.file);
  auto const got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return without_addresses(to_utf8(text));
}

// Waits until each process has written its stack and stopped writing.
void await(std::vector<asked>& all, clock::time_point until) {
  constexpr std::chrono::milliseconds every{10};
  constexpr int looks = 10;  // stacks are written in parts, and the process can be preempted
  for (bool waits = true; waits && clock::now() < until;) {
    std::this_thread::sleep_for(every);  // there is no signal for a complete file
    waits = false;
    for (auto& a : all) {
      if (a.done) continue;
      auto const size = size_of(a.file);
      a.still = size > 0 && size == a.size ? a.still + 1 : 0;
      a.done = a.still == looks;
      a.size = size;
      waits = waits || !a.done;
    }
  }
}

v1::StackState state_without_python(char process, bool has_registered, bool has_text) {
  if (is_stopped(process)) return v1::STACK_STOPPED;
  if (process == 'D') return v1::STACK_IN_KERNEL;
  if (has_registered) return v1::STACK_NO_ANSWER;
  return has_text ? v1::STACK_NATIVE : v1::STACK_NOT_PYTHON;
}

// Returns the processes to sample from outside for a rank without a stack. The rank's own process
// comes first.
std::vector<pid_t> processes_of(std::uint32_t rank, pid_t first,
                                std::map<pid_t, std::uint32_t> const& ranks,
                                seen_processes const& seen) {
  constexpr std::size_t most = 4;
  std::vector<pid_t> all, busy;
  for (auto const& [pid, about] : seen)
    if (about.state != 'Z' && rank_of(pid, ranks, seen) == rank) all.push_back(pid);
  std::sort(all.begin(), all.end(), [first](pid_t a, pid_t b) {
    return std::pair(a != first, a) < std::pair(b != first, b);
  });
  std::copy_if(all.begin(), all.end(), std::back_inserter(busy),
               [](pid_t pid) { return !waits_for_child(pid); });
  if (!busy.empty()) all = std::move(busy);
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace

int default_stack_signal() {
  return SIGRTMIN + 5;
}

stack_files::stack_files(fs::path directory, fs::path const& works,
                         std::optional<std::pair<uid_t, gid_t>> owner, int signal,
                         native_stacks native)
    : modules_(fs::weakly_canonical(fs::absolute(directory)) / "modules"),
      now_(fs::weakly_canonical(fs::absolute(directory)) / "now"),  // as in /proc
      works_(fs::absolute(works).string()),
      resolved_works_(fs::weakly_canonical(works_).string()),
      signal_(signal),
      native_(std::move(native)) {
  if (signal_ == 0) return;
  for (auto const& made : {modules_, now_}) fs::create_directories(made);
  auto const passable = fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec;
  fs::permissions(directory, passable);
  fs::permissions(modules_, passable | fs::perms::group_read | fs::perms::others_read);
  fs::permissions(now_, fs::perms::owner_all);
  if (owner && ::chown(now_.c_str(), owner->first, owner->second) != 0)
    throw std::system_error(errno, std::generic_category(), now_.string());
  write_python_site(modules_, register_stacks);
}

void stack_files::tidy() const {
  std::error_code error, ignored;
  for (auto const& entry : fs::directory_iterator(now_, error))
    if (!look_at(std::atoi(entry.path().filename().c_str()))) fs::remove(entry.path(), ignored);
}

stack_files::prepared stack_files::of_ranks() const {
  return signal_ == 0 ? prepared{} : prepared{modules_, now_, signal_};
}

struct stack_files::look {
  std::map<std::uint32_t, pid_t> const& pids;
  std::map<pid_t, std::uint32_t> ranks{};
  seen_processes seen{};
  std::vector<asked> all{};
  std::map<pid_t, std::string> native{};

  explicit look(std::map<std::uint32_t, pid_t> const& of) : pids(of), seen(all_processes()) {
    for (auto const& [rank, pid] : pids) ranks.emplace(pid, rank);
  }
  template <class Predicate>
  bool any_asked(std::uint32_t rank, Predicate is) const {
    return std::any_of(all.begin(), all.end(),
                       [&](asked const& a) { return a.rank == rank && is(a); });
  }
  // Returns the processes of ranks in which no process will write a stack or, if `after` is set, no
  // process has written a stack.
  std::vector<pid_t> ranks_without_stack(bool after) const {
    std::vector<pid_t> some;
    for (auto const& [rank, pid] : pids) {
      bool const speaks =
          any_asked(rank, [after](asked const& a) { return after ? a.size > 0 : !a.done; });
      auto const those = speaks ? std::vector<pid_t>() : processes_of(rank, pid, ranks, seen);
      if (std::none_of(those.begin(), those.end(), [this](pid_t p) { return native.contains(p); }))
        some.insert(some.end(), those.begin(), those.end());
    }
    return some;
  }
  std::string text_of(std::uint32_t rank, pid_t first, std::size_t most) const {
    std::string own, others;
    auto const add = [&](pid_t pid, std::string const& text) {
      if (pid == first)
        own = text;
      else if (!text.empty())
        others += "A process that it has started (" + command_of(pid) + "):\n" + text;
    };
    for (auto const& a : all)
      if (a.rank == rank && a.size > 0) add(a.pid, read_all(a, most));
    if (own.empty() && others.empty())
      for (auto const& [pid, text] : native)
        if (rank_of(pid, ranks, seen) == rank) add(pid, text);
    return own + others;
  }
};

void stack_files::ask(look& l) const {
  std::error_code error;
  for (auto const& entry : fs::directory_iterator(now_, error)) {
    auto const pid = static_cast<pid_t>(std::atoi(entry.path().filename().c_str()));
    auto const p = look_at(pid);
    std::error_code ignored;
    if (!p) fs::remove(entry.path(), ignored);
    auto const rank = p ? rank_of(pid, l.ranks, l.seen) : std::nullopt;
    bool const asked_already =
        std::any_of(l.all.begin(), l.all.end(), [pid](auto const& a) { return a.pid == pid; });
    if (!rank || asked_already || !has_open(pid, entry.path())) continue;
    if (l.all.size() == processes_max) break;
    auto const file = open_own(entry.path());
    if (!file || ::ftruncate(file.get(), 0) != 0) continue;
    asked a{.pid = pid, .rank = *rank, .file = entry.path()};
    a.done = is_stopped(p->state) || !takes(pid, signal_) || ::kill(pid, signal_) != 0;
    l.all.push_back(std::move(a));
  }
  std::sort(l.all.begin(), l.all.end(), [](auto const& a, auto const& b) { return a.pid < b.pid; });
}

// While other processes write their stack files, samples the processes without a stack file. Then
// samples the processes that have not written their file.
void stack_files::look_from_outside(look& l, clock::time_point until) const {
  auto found = std::async(std::launch::async, [this, processes = l.ranks_without_stack(false),
                                               until] { return native_.of(processes, until); });
  await(l.all, until);
  l.native = found.get();
  l.native.merge(native_.of(l.ranks_without_stack(true), clock::now() + after_silence));
}

void stack_files::take(std::map<std::uint32_t, pid_t> const& pids, v1::RankStacks& to,
                       std::chrono::milliseconds wait) const {
  auto const until = clock::now() + wait;
  std::unique_lock const alone(taking_, until);
  to.set_busy(!alone && signal_ != 0);
  std::optional<look> l;
  if (alone && signal_ != 0) {
    ask(l.emplace(pids));
    look_from_outside(*l, until);
  }
  auto const most =
      std::min(rank_bytes_max, answer_bytes_max / std::max<std::size_t>(1, pids.size()));
  for (auto const& [rank, pid] : pids) {
    auto& s = *to.add_stack();
    s.set_rank(rank);
    s.set_state(v1::STACK_OFF);
    if (signal_ == 0) continue;
    auto const p = look_at(pid);
    s.set_state(v1::STACK_UNKNOWN);
    if (!p) continue;
    s.set_process(in_words(pid, p->state));
    if (l) {
      auto text = without_directory(l->text_of(rank, pid, most), works_);
      if (resolved_works_ != works_) text = without_directory(std::move(text), resolved_works_);
      s.set_text(shortened(text, most));
    }
    bool const by_python = l && l->any_asked(rank, [](asked const& a) { return a.size > 0; });
    bool const registered = !l || l->any_asked(rank, [](asked const&) { return true; });
    s.set_state(by_python ? v1::STACK_TAKEN
                          : state_without_python(p->state, registered, !s.text().empty()));
  }
}

}  // namespace muster
