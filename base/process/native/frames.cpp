#include "base/process/native/frames.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elfutils/libdwfl.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace muster::native {
namespace {

using clock = std::chrono::steady_clock;

struct walked_process {
  process_sample const* sample = nullptr;
  thread_sample const* thread = nullptr;
  decltype(&dwfl_thread_state_registers) set_registers = nullptr;
  decltype(&dwfl_thread_state_register_pc) set_counter = nullptr;
};

pid_t next_thread(Dwfl*, void*, void**) {
  return 0;
}

bool get_thread(Dwfl*, pid_t, void* given, void** thread) {
  *thread = given;
  return true;
}

bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* given) {
  auto const& t = *static_cast<walked_process*>(given)->thread;
  if (address < t.stack_pointer || address - t.stack_pointer > t.stack.size() ||
      t.stack.size() - (address - t.stack_pointer) < sizeof *word)
    return false;
  std::memcpy(word, t.stack.data() + (address - t.stack_pointer), sizeof *word);
  return true;
}

bool set_registers(Dwfl_Thread* thread, void* given) {
  auto const& w = *static_cast<walked_process*>(given);
#if defined(__x86_64__)
  Dwarf_Word all[17];
  std::copy_n(w.thread->registers.begin(), 16, all);
  all[16] = w.thread->counter;
  return w.set_registers(thread, 0, 17, all);
#else
  Dwarf_Word all[32];
  std::copy_n(w.thread->registers.begin(), 32, all);
  w.set_counter(thread, w.thread->counter);
  return w.set_registers(thread, 0, 32, all);
#endif
}

constexpr Dwfl_Thread_Callbacks threads_by_sample{next_thread,   get_thread, read_memory,
                                                  set_registers, nullptr,    nullptr};

// Does not search for separate debug files, because the search could use the network.
int no_other_file(Dwfl_Module*, void**, char const*, Dwarf_Addr, char const*, char const*,
                  GElf_Word, char**) {
  return -1;
}

struct walked_thread {
  std::vector<std::uint64_t> addresses{};
  decltype(&dwfl_frame_pc) pc = nullptr;
};

int note_frame(Dwfl_Frame* frame, void* given) {
  auto& w = *static_cast<walked_thread*>(given);
  Dwarf_Addr address = 0;
  bool is_exact = false;
  if (!w.pc(frame, &address, &is_exact) || address == 0) return DWARF_CB_ABORT;
  // Subtracts 1, because the return address can belong to the next line or function.
  w.addresses.push_back(is_exact ? address : address - 1);
  return w.addresses.size() < frame_finder::frames_max ? DWARF_CB_OK : DWARF_CB_ABORT;
}

std::string demangled(char const* name) {
  int error = 0;
  std::unique_ptr<char, decltype(&std::free)> const plain(
      abi::__cxa_demangle(name, nullptr, nullptr, &error), &std::free);
  std::string said = error == 0 ? plain.get() : name;
  if (said.size() > frame_finder::name_bytes_max) {
    said.resize(frame_finder::name_bytes_max);
    said += "…";
  }
  std::replace_if(
      said.begin(), said.end(), [](unsigned char c) { return c < 32; }, '?');
  return said;
}

std::string file_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

#define MUSTER_LIBDW(apply)                                                                   \
  apply(dwfl_begin) apply(dwfl_end) apply(dwfl_linux_proc_maps_report) apply(dwfl_report_end) \
      apply(dwfl_linux_proc_find_elf) apply(dwfl_attach_state) apply(dwfl_getthread_frames)   \
          apply(dwfl_thread_state_registers) apply(dwfl_thread_state_register_pc)             \
              apply(dwfl_frame_pc) apply(dwfl_addrmodule) apply(dwfl_module_info)             \
                  apply(dwfl_module_addrinfo) apply(dwfl_module_getsrc) apply(dwfl_lineinfo)

struct frame_finder::functions {
#define MUSTER_MEMBER(name) decltype(&::name) name = nullptr;
  MUSTER_LIBDW(MUSTER_MEMBER)
#undef MUSTER_MEMBER

  bool load_all(void* library) {
    bool all = true;
#define MUSTER_LOAD(name)                                           \
  name = reinterpret_cast<decltype(name)>(::dlsym(library, #name)); \
  all = all && name != nullptr;
    MUSTER_LIBDW(MUSTER_LOAD)
#undef MUSTER_LOAD
    return all;
  }
};
#undef MUSTER_LIBDW

struct frame_finder::walk {
  Dwfl* files = nullptr;
  clock::time_point until{};
  walked_process* process = nullptr;
};

frame_finder::frame_finder(char const* library) {
  auto* const found = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  auto all = std::make_unique<functions>();
  if (found && all->load_all(found)) calls_ = all.release();
}

frame_finder::~frame_finder() {
  delete calls_;
}

std::optional<std::string> frame_finder::frame_text(walk& w, std::uint64_t address) {
  auto* const module = calls_->dwfl_addrmodule(w.files, address);
  if (!module) return std::string("File \"\" in ??");
  Dwarf_Addr begin = 0;
  auto const* path = calls_->dwfl_module_info(module, nullptr, &begin, nullptr, nullptr, nullptr,
                                              nullptr, nullptr);
  std::string const file = path ? path : "";
  auto const key = std::pair(file, address - begin);
  if (auto const it = known_.find(key); it != known_.end()) return it->second;
  if (clock::now() >= w.until) return {};
  GElf_Off offset = 0;
  GElf_Sym symbol;
  auto const* name =
      calls_->dwfl_module_addrinfo(module, address, &offset, &symbol, nullptr, nullptr, nullptr);
  auto const function = name ? demangled(name) : std::string("??");
  int line = 0;
  auto* const source = calls_->dwfl_module_getsrc(module, address);
  auto const* where =
      source ? calls_->dwfl_lineinfo(source, nullptr, &line, nullptr, nullptr, nullptr) : nullptr;
  auto said = where ? "File \"" + std::string(where) + "\", line " + std::to_string(line)
                    : "File \"" + file_name(file) + '"';
  said += " in " + function;
  if (known_.size() < known_names_max) known_.emplace(key, said);
  return said;
}

std::optional<std::string> frame_finder::thread_text(walk& w, thread_sample const& t) {
  w.process->thread = &t;
  walked_thread seen{{}, calls_->dwfl_frame_pc};
  // Ignores the result, because the function always reports an error at the last frame.
  (void)calls_->dwfl_getthread_frames(w.files, t.thread, note_frame, &seen);
  if (seen.addresses.empty()) seen.addresses.push_back(t.counter);
  std::string frames;
  for (auto const address : seen.addresses) {
    auto const frame = frame_text(w, address);
    if (!frame) return {};
    frames += "  " + *frame + '\n';
  }
  return frames;
}

std::string frame_finder::frames_of(process_sample const& s, clock::time_point until) {
  if (!can() || s.threads.empty()) return {};
  Dwfl_Callbacks const files{calls_->dwfl_linux_proc_find_elf, no_other_file, nullptr, nullptr};
  std::unique_ptr<Dwfl, void (*)(Dwfl*)> const dwfl(calls_->dwfl_begin(&files), calls_->dwfl_end);
  std::string map = s.map;
  std::unique_ptr<FILE, int (*)(FILE*)> const lines(::fmemopen(map.data(), map.size(), "r"),
                                                    &std::fclose);
  if (!dwfl || !lines || calls_->dwfl_linux_proc_maps_report(dwfl.get(), lines.get()) != 0 ||
      calls_->dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0)
    return {};
  walked_process process{&s, nullptr, calls_->dwfl_thread_state_registers,
                         calls_->dwfl_thread_state_register_pc};
  if (!calls_->dwfl_attach_state(dwfl.get(), nullptr, s.process, &threads_by_sample, &process))
    return {};
  walk w{dwfl.get(), until, &process};
  struct alike {
    std::string names;
    std::size_t count = 0;
  };
  std::map<std::string, alike> others;
  auto left_out = s.left_out;
  auto const first = std::find_if(s.threads.begin(), s.threads.end(),
                                  [&s](auto const& t) { return t.thread == s.process; });
  // Puts the first thread last, as readers expect.
  std::string said =
      "Thread (most recent call first):\n  in a system call that cannot be interrupted\n";
  if (first != s.threads.end()) {
    auto const frames = thread_text(w, *first);
    if (!frames) return {};
    said = "Thread " + first->name + " (most recent call first):\n" + *frames;
  }
  for (auto const& t : s.threads) {
    if (t.thread == s.process) continue;
    auto const frames = thread_text(w, t);
    if (!frames) {
      ++left_out;
      continue;
    }
    auto& a = others[*frames];
    if (a.count++ == 0) a.names = t.name;
  }
  std::vector<std::pair<std::string, alike>> groups(others.begin(), others.end());
  std::stable_sort(groups.begin(), groups.end(),
                   [](auto const& a, auto const& b) { return a.second.count < b.second.count; });
  std::string all;
  if (left_out > 0)
    all = std::to_string(left_out) + (left_out == 1 ? " thread is" : " threads are") +
          " omitted: blocked in an uninterruptible system call, beyond the thread limit, or not "
          "read in time\n";
  for (auto const& [frames, who] : groups) {
    all += "Thread " + who.names;
    if (who.count > 1)
      all += " and " + std::to_string(who.count - 1) +
             (who.count == 2 ? " identical thread" : " identical threads");
    all += " (most recent call first):\n" + frames;
  }
  return all + said;
}

}  // namespace muster::native
