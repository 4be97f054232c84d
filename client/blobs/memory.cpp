// Made by write(), and not by a mapping, where a full memory is SIGBUS.
#include "client/blobs/memory.hpp"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

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

// The end of memory that its maker, a process of Python, uses again when nobody else has it
// (python/muster/_shared/ regions.py). Until then nobody writes to it, but its name is the one that
// it was made with.
struct label {
  char magic[8];
  std::uint64_t size;  // of the content
  char name[name_bytes];
};
constexpr std::string_view label_magic = "MUSTER-R";

// Nothing: it has none. Of what is being written the name is empty.
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

}  // namespace

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
        "the system has random numbers");
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
  auto const another = "this is not the memory of " + hex;
  if (auto const of = labelled(fd)) return of->name == name && of->size == size ? "" : another;
  char link[256];
  auto const at = "/proc/self/fd/" + std::to_string(fd);
  auto const length = readlink(at.c_str(), link, sizeof link);
  std::string_view const called(link, length < 0 ? 0 : static_cast<std::size_t>(length));
  struct stat of {};
  if (called.find(hex) == called.npos || fstat(fd, &of) != 0 ||
      static_cast<std::uint64_t>(of.st_size) != size)
    return another;
  auto const sealed = fcntl(fd, F_GET_SEALS);
  if (sealed < 0 || (sealed & seals) != seals) return "the memory of " + hex + " is not sealed";
  return {};
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
