// Values are written with write(), because writing to a mapping causes SIGBUS if memory is full.
#include "client/blobs/memory.hpp"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "base/check.hpp"
#include "base/process/machine/control_group.hpp"

namespace muster::detail {
namespace {

constexpr std::size_t memory_bytes_max = std::size_t{4} << 30;
constexpr std::size_t written_at_once = std::size_t{1} << 30;
constexpr int whole = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
constexpr int seals = whole | F_SEAL_WRITE;
constexpr int labelled_seals = whole | F_SEAL_FUTURE_WRITE;

[[noreturn]] void refuse(char const* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The owner writes to the memory only when no other process has access.
struct label {
  char magic[8];
  std::uint64_t size;
  char name[name_bytes];
};
static_assert(sizeof(label) == label_bytes);
constexpr std::string_view label_magic = "MUSTER-R";

// The value that the label names, or nothing without a label. The name is empty while a value is
// being written.
struct content {
  std::string name;
  std::uint64_t size = 0;
};
std::optional<content> labelled(int fd) {
  auto const sealed = fcntl(fd, F_GET_SEALS);
  if (sealed < 0 || (sealed & (seals | labelled_seals)) != labelled_seals) return {};
  struct stat of {};
  label l{};
  if (fstat(fd, &of) != 0 || of.st_size < static_cast<off_t>(sizeof l)) return content{};
  auto const end = of.st_size - static_cast<off_t>(sizeof l);
  if (pread(fd, &l, sizeof l, end) != static_cast<ssize_t>(sizeof l)) return content{};
  if (std::string_view(l.magic, sizeof l.magic) != label_magic ||
      l.size > static_cast<std::uint64_t>(end))
    return content{};
  return content{std::string(l.name, sizeof l.name), l.size};
}

// Returns the link target, which contains the value's name.
std::string path_of(int fd) {
  char link[4096];
  auto const at = "/proc/self/fd/" + std::to_string(fd);
  auto const length = readlink(at.c_str(), link, sizeof link);
  return std::string(link, length < 0 ? 0 : static_cast<std::size_t>(length));
}

constexpr std::size_t copying_threads_max = 4;
constexpr std::size_t copied_by_thread_min = std::size_t{4} << 20;

std::size_t processors() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set))
                                                     : 1;
}

// Calls `some` for each part of `size` bytes, on separate threads.
template <class Some>
void by_several(std::size_t size, Some const& some) {
  auto const count = std::min({copying_threads_max, size / copied_by_thread_min, processors()});
  if (count < 2) return some(0, size);
  auto const step = (size + count - 1) / count;
  std::vector<std::thread> begun;
  begun.reserve(count);
  for (auto begin = step; begin < size; begin += step) {
    auto const part = std::min(step, size - begin);
    try {
      begun.emplace_back([&some, begin, part] { some(begin, part); });
    } catch (std::system_error const&) {  // no more threads can be created
      some(begin, part);
    }
  }
  some(0, step);
  for (auto& thread : begun) thread.join();
}

}  // namespace

std::string content_label(std::string_view name, std::uint64_t size) {
  label l{};
  std::memcpy(l.magic, label_magic.data(), sizeof l.magic);
  l.size = size;
  std::memcpy(l.name, name.data(), std::min(name.size(), sizeof l.name));
  return {reinterpret_cast<char const*>(&l), sizeof l};
}

void seal_labelled(int fd) {
  if (fcntl(fd, F_ADD_SEALS, labelled_seals) != 0) refuse("memory cannot be sealed");
}

void copy_by_several(char* into, std::string_view bytes) {
  by_several(bytes.size(), [into, bytes](std::size_t begin, std::size_t size) {
    std::memcpy(into + begin, bytes.data() + begin, size);
  });
}

bool same_bytes(char const* one, char const* other, std::size_t size) {
  std::atomic<bool> same = true;
  by_several(size, [&](std::size_t begin, std::size_t part) {
    if (std::memcmp(one + begin, other + begin, part) != 0) same = false;
  });
  return same;
}

bool memory_can_be_shared() {
  struct stat of {};
  return stat("/proc/self/fd", &of) == 0 && of.st_uid == geteuid();
}

std::string const& this_host() {
  static std::string const host = [] {
    std::string kernel;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), kernel);
    char network[256];
    auto const length = readlink("/proc/self/ns/net", network, sizeof network);
    if (kernel.empty() || length <= 0) return std::string();
    auto const text = kernel + " " + std::string(network, static_cast<std::size_t>(length)) + " " +
                      std::to_string(geteuid());
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256(reinterpret_cast<unsigned char const*>(text.data()), text.size(), hash);
    return absl::BytesToHexString({reinterpret_cast<char const*>(hash), sizeof hash / 2});
  }();
  return host;
}

std::size_t memory_max(std::optional<std::size_t> asked) {
  if (!memory_can_be_shared()) return 0;
  if (asked) return *asked;
  auto const total = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)) *
                     static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  auto const limit = control_group("").memory_limit().value_or(total);
  return std::min<std::size_t>(memory_bytes_max, std::min<std::size_t>(total, limit) / 2);
}

std::string random_name() {
  std::string name(name_bytes, '\0');
  check(RAND_bytes(reinterpret_cast<unsigned char*>(name.data()), name_bytes) == 1,
        "the system must provide random numbers");
  return name;
}

file_descriptor make_memory(std::string_view name, std::string_view bytes) {
  return filled_memory(name, [bytes](int fd) { write_all(fd, bytes); });
}

file_descriptor filled_memory(std::string_view name, std::function<void(int fd)> const& fill) {
  auto const label = "muster-" + absl::BytesToHexString({name.data(), name.size()});
  auto made = opened(memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");
  fill(made.get());
  if (fcntl(made.get(), F_ADD_SEALS, seals) != 0) refuse("memory cannot be sealed");
  return made;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    auto const wrote = write(fd, bytes.data(), std::min(bytes.size(), written_at_once));
    if (wrote < 0 && errno != EINTR) refuse("memory cannot be written");
    if (wrote > 0) bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

std::uint64_t content_size(int fd) {
  if (auto const content = labelled(fd)) return content->size;
  struct stat of {};
  if (fstat(fd, &of) != 0) refuse("fstat");
  return static_cast<std::uint64_t>(of.st_size);
}

std::string wrong_memory(int fd, std::string_view name, std::uint64_t size) {
  auto const hex = absl::BytesToHexString({name.data(), name.size()});
  auto const another = "the received memory does not contain " + hex;
  if (auto const of = labelled(fd)) return of->name == name && of->size == size ? "" : another;
  struct stat of {};
  if (!is_named(fd, name) || fstat(fd, &of) != 0 || static_cast<std::uint64_t>(of.st_size) != size)
    return another;
  auto const sealed = fcntl(fd, F_GET_SEALS);
  if (sealed < 0 || (sealed & seals) != seals) return "the memory of " + hex + " is not sealed";
  return {};
}

bool is_named(int fd, std::string_view name) {
  if (auto const of = labelled(fd)) return of->name == name;
  auto const hex = absl::BytesToHexString({name.data(), name.size()});
  return path_of(fd).find(hex) != std::string::npos;
}

mapping::mapping(int fd) {
  auto const size = content_size(fd);
  if (size == 0) return;
  auto* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) refuse("memory cannot be mapped");
  bytes_ = {static_cast<char const*>(at), size};
}

mapping::~mapping() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace muster::detail
