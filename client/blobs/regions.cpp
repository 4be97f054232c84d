// Kernel leases (fcntl(2), F_SETLEASE) show whether a region is free.
#include "client/blobs/regions.hpp"

#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <iterator>
#include <set>
#include <thread>

namespace muster::detail {
namespace {

[[noreturn]] void refuse_region(char const* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

file_descriptor opened_again(int fd, int how) {
  return opened(open(("/proc/self/fd/" + std::to_string(fd)).c_str(), how | O_CLOEXEC),
                "memory cannot be opened again");
}

std::atomic<region_store*> of_process{nullptr};

}  // namespace

region::region(std::string_view name, memory_parts parts, std::size_t size) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  auto const all = (size + label_bytes + page - 1) / page * page;
  room_ = all - label_bytes;
  {
    // Reopens the memory, because the descriptor that created it does not count as a writer and
    // cannot have a lease.
    auto const label = "muster-" + absl::BytesToHexString(random_name());
    auto const made =
        opened(memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING), "memfd_create");
    fd_ = opened_again(made.get(), O_RDWR);
  }
  mark_ = closed_in_forks(fd_.get());
  auto const fd = fd_.get();
  if (ftruncate(fd, static_cast<off_t>(all)) != 0) refuse_region("ftruncate");
  auto* const at =
      mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);  // sealing comes later
  if (at == MAP_FAILED) refuse_region("memory cannot be mapped");
  at_ = static_cast<char*>(at);
  madvise(at_, all, MADV_DONTFORK);
  try {
    for (auto const& part : parts) write_all(fd, part);
    auto const end = content_label(name, size);
    if (pwrite(fd, end.data(), end.size(), static_cast<off_t>(room_)) !=
        static_cast<ssize_t>(end.size()))
      refuse_region("memory cannot be written");
    seal_labelled(fd);
    // Signal that the kernel sends when a process opens the memory during a lease. The default
    // action ignores this signal.
    if (fcntl(fd, F_SETSIG, SIGURG) != 0) refuse_region("F_SETSIG");
  } catch (...) {
    munmap(at_, all);
    throw;
  }
}

region::~region() {
  munmap(at_, room_ + label_bytes);
}

void region::write(std::string_view name, memory_parts parts, std::size_t size) {
#ifdef MADV_POPULATE_WRITE
  constexpr int populate = MADV_POPULATE_WRITE;
#else
  constexpr int populate = 23;
#endif
  if (!populated_) populated_ = madvise(at_, room_ + label_bytes, populate) == 0;
  auto* at = at_;
  for (auto const& part : parts) {
    copy_by_several(at, part);
    at += part.size();
  }
  auto const end = content_label(name, size);
  std::memcpy(at_ + room_, end.data(), end.size());
}

file_descriptor region::given() {
  auto made = opened_again(fd_.get(), O_RDONLY);
  free_since_.reset();
  return made;
}

bool region::is_free() {
  if (free_since_) return true;
  if (fcntl(fd_.get(), F_SETLEASE, F_WRLCK) != 0) return false;
  std::memset(at_ + room_, 0, label_bytes);
  fcntl(fd_.get(), F_SETLEASE, F_UNLCK);
  free_since_ = clock::now();
  return true;
}

region_store& region_store::of_this_process() {
  auto* found = of_process.load();
  if (found) return *found;
  auto made = std::make_unique<region_store>();
  if (!of_process.compare_exchange_strong(found, made.get())) return *found;
  return *made.release();  // never freed, because the store's thread can outlive main()
}

void region_store::forget_in_fork() {
  of_process.store(nullptr);
}

bool region_store::can_be() {
  static bool const can = [] {
    try {
      std::string_view const byte("x");
      region tried(std::string(name_bytes, '\0'), {&byte, 1}, 1);
      {
        auto fd = tried.given();
        if (tried.is_free()) return false;
        mapping const has(fd.get());
        fd.reset();
        if (tried.is_free()) return false;
      }
      return tried.is_free();
    } catch (std::system_error const&) {
      return false;
    }
  }();
  return can;
}

file_descriptor region_store::make(std::string_view name, memory_parts parts,
                                   std::size_t free_max) {
  std::size_t size = 0;
  for (auto const& part : parts) size += part.size();
  std::unique_ptr<region> found;
  regions gone;
  {
    std::lock_guard const held(shared_->mutex);
    if (can_be()) found = shared_->fitting(size);
    shared_->free_max = free_max;
    gone = shared_->too_many();
  }
  gone.clear();
  if (!found && (size > free_max || !can_be()))
    return filled_memory(name, [parts](int fd) {
      for (auto const& part : parts) write_all(fd, part);
    });
  if (found)
    found->write(name, parts, size);
  else
    found = std::make_unique<region>(name, parts, size);
  auto fd = found->given();
  std::lock_guard const held(shared_->mutex);
  shared_->all.push_back(std::move(found));
  gone = shared_->too_many();
  if (!shared_->tended) {
    std::thread([of = shared_] { tend(of); }).detach();
    shared_->tended = true;
  }
  return fd;
}

void region_store::clear() {
  regions all;
  std::lock_guard const held(shared_->mutex);
  all.swap(shared_->all);
}

std::size_t region_store::size() const {
  std::lock_guard const held(shared_->mutex);
  return shared_->all.size();
}

std::unique_ptr<region> region_store::state::fitting(std::size_t size) {
  auto const page = static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE));
  auto const it = std::find_if(all.begin(), all.end(), [&](auto const& r) {
    return size <= r->room() && r->room() <= size + size / 16 + page && r->is_free();
  });
  if (it == all.end()) return {};
  auto found = std::move(*it);
  all.erase(it);
  return found;
}

// Removes and returns the regions that are no longer tracked. The remaining regions keep their
// order.
region_store::regions region_store::state::too_many() {
  std::vector<region*> unused, used;
  for (auto const& r : all) (r->is_free() ? unused : used).push_back(r.get());
  std::set<region*> over;
  for (std::size_t i = 0; i + limits.used_max < used.size(); ++i) over.insert(used[i]);
  std::size_t bytes = 0;
  for (auto const* r : unused) bytes += r->room();
  auto const now = region::clock::now();
  for (std::size_t i = 0; i < unused.size(); ++i) {
    bool const stays = i + limits.free_max >= unused.size() && bytes <= free_max &&
                       now - unused[i]->free_since() <= limits.free_stays;
    if (stays) continue;
    bytes -= unused[i]->room();
    over.insert(unused[i]);
  }
  auto const kept = std::stable_partition(
      all.begin(), all.end(), [&over](auto const& r) { return !over.contains(r.get()); });
  regions gone(std::make_move_iterator(kept), std::make_move_iterator(all.end()));
  all.erase(kept, all.end());
  return gone;
}

void region_store::tend(std::shared_ptr<state> const& of) {
  for (bool more = true; more;) {
    std::this_thread::sleep_for(of->limits.look_every);
    regions gone;
    std::lock_guard const held(of->mutex);
    gone = of->too_many();
    more = of->tended = !of->all.empty();
  }
}

}  // namespace muster::detail
