// Each sample uses its own thread, because ptrace belongs to a thread: when this thread ends, all
// threads that it stopped continue. A process cannot trace its own threads, so a temporary process
// that shares the memory traces them. While a thread is stopped, no code allocates memory, because
// the stopped thread may hold the heap's lock.
#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include "base/process/native/thread_samples.hpp"

namespace muster::native {
namespace {

using clock = std::chrono::steady_clock;

#if defined(__x86_64__)
void take_registers(user_regs_struct const& r, thread_sample& t) {
  std::uint64_t const all[] = {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,
                               r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
  std::copy(std::begin(all), std::end(all), t.registers.begin());
  t.counter = r.rip;
  t.stack_pointer = r.rsp;
}
#elif defined(__aarch64__)
void take_registers(user_regs_struct const& r, thread_sample& t) {
  std::copy(std::begin(r.regs), std::end(r.regs), t.registers.begin());
  t.registers[31] = r.sp;
  t.counter = r.pc;
  t.stack_pointer = r.sp;
}
#else
#error "native stacks are not supported on this processor architecture"
#endif

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> all;
  auto const path = "/proc/" + std::to_string(process) + "/task";
  std::unique_ptr<DIR, int (*)(DIR*)> const dir(::opendir(path.c_str()), ::closedir);
  while (auto const* entry = dir ? ::readdir(dir.get()) : nullptr) {
    std::string_view const name = entry->d_name;
    pid_t id = 0;
    if (std::from_chars(name.begin(), name.end(), id).ptr == name.end() && id > 0)
      all.push_back(id);
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string content(std::string const& path, std::size_t most) {
  std::ifstream in(path);
  std::string text(std::istreambuf_iterator<char>(in), {});
  if (text.size() > most) text.resize(text.rfind('\n', most) + 1);
  return text;
}

// Returns whether the thread is in an uninterruptible system call, so that it cannot be stopped.
bool is_in_kernel(std::string const& task) {
  auto const stat = content(task + "/stat", 1 << 10);
  auto const behind = stat.rfind(") ");
  return behind == std::string::npos || stat[behind + 2] == 'D' || stat[behind + 2] == 'Z';
}

// Returns false if a debugger stopped the thread, or the thread has ended or did not stop in time.
bool await_stop(pid_t thread, clock::time_point until) {
  for (;;) {
    int status = 0;
    auto const got = ::waitpid(thread, &status, __WALL | WNOHANG);
    if (got == thread) return WIFSTOPPED(status);
    if (got < 0 && errno != EINTR) return false;
    if (clock::now() >= until) return false;
    timespec const soon{
        0, 20'000};  // polls, because only waitpid reports the stop, and waitpid has no timeout
    ::nanosleep(&soon, nullptr);
  }
}

bool copy_thread(pid_t process, thread_sample& t, clock::time_point until) {
  if (::ptrace(PTRACE_SEIZE, t.thread, nullptr, nullptr) != 0) return false;
  constexpr std::chrono::milliseconds each_max{20};
  if (::ptrace(PTRACE_INTERRUPT, t.thread, nullptr, nullptr) != 0 ||
      !await_stop(t.thread, std::min(until, clock::now() + each_max)))
    return false;  // the traced thread is released when this thread ends
  user_regs_struct registers{};
  iovec to{&registers, sizeof registers};
  bool const has = ::ptrace(PTRACE_GETREGSET, t.thread, NT_PRSTATUS, &to) == 0;
  if (has) {
    take_registers(registers, t);
    iovec const mine{t.stack.data(), t.stack.size()};
    iovec const its{reinterpret_cast<void*>(t.stack_pointer), t.stack.size()};
    auto const got = ::process_vm_readv(process, &mine, 1, &its, 1, 0);
    t.stack.resize(got < 0 ? 0 : static_cast<std::size_t>(got));  // shrinking does not allocate
  }
  ::ptrace(PTRACE_DETACH, t.thread, nullptr, nullptr);
  return has;
}

process_sample begun(pid_t process, pid_t but_for) {
  process_sample s{.process = process};
  auto const path = "/proc/" + std::to_string(process);
  s.map = content(path + "/maps", map_bytes_max);
  for (auto const id : threads_of(process)) {
    auto const task = path + "/task/" + std::to_string(id);
    if (id == but_for) continue;
    if (s.threads.size() == threads_max || is_in_kernel(task)) {
      ++s.left_out;
      continue;
    }
    thread_sample t{.thread = id, .name = content(task + "/comm", 64)};
    while (!t.name.empty() && t.name.back() == '\n') t.name.pop_back();
    t.stack.resize(stack_bytes_max);
    s.threads.push_back(std::move(t));
  }
  return s;
}

void copy_all(process_sample& s, clock::time_point until) {
  for (auto& t : s.threads)
    if (clock::now() >= until || !copy_thread(s.process, t, until)) t.counter = 0;
}

void end(process_sample& s) {
  auto const gone = std::erase_if(s.threads, [](auto const& t) { return t.counter == 0; });
  s.left_out += gone;
  for (auto& t : s.threads) t.stack.shrink_to_fit();
}

struct own_look {
  process_sample* sample = nullptr;
  clock::time_point until{};
  std::atomic<bool> may_begin = false;
};

int look_from_outside(void* given) {
  auto& look = *static_cast<own_look*>(given);
  timespec const soon{0, 20'000};
  while (!look.may_begin && clock::now() < look.until) ::nanosleep(&soon, nullptr);
  copy_all(*look.sample, look.until);
  ::syscall(SYS_exit_group, 0);
  return 0;
}

}  // namespace

process_sample sample(pid_t process, clock::time_point until) {
  auto s = begun(process, 0);
  std::thread([&s, until] { copy_all(s, until); }).join();
  end(s);
  return s;
}

process_sample sample_own(clock::time_point until) {
  auto s = begun(::getpid(), ::gettid());
  own_look look{&s, until};
  constexpr std::size_t stack_size = std::size_t{256} << 10;
  auto const stack = std::make_unique<char[]>(stack_size);
  // Ends without a signal, which other code that waits for children could receive.
  auto const looker = ::clone(look_from_outside, stack.get() + stack_size,
                              CLONE_VM | CLONE_FS | CLONE_FILES, &look);
  if (looker > 0) {
    ::prctl(PR_SET_PTRACER, looker, 0, 0, 0);  // needed on systems where only ancestors can trace a
                                               // process
    look.may_begin = true;
    while (::waitpid(looker, nullptr, __WALL) < 0 && errno == EINTR) {
    }
    ::prctl(PR_SET_PTRACER, 0, 0, 0, 0);
  }
  end(s);
  return s;
}

}  // namespace muster::native
