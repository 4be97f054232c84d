// Implements the C interface, which represents stores as numbers and exceptions as error codes.
#include "client/blobs/values.h"

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <map>
#include <thread>

#include "client/blobs/giving.hpp"
#include "client/blobs/peer_giving.hpp"
#include "client/blobs/peer_taking.hpp"
#include "client/blobs/regions.hpp"
#include "client/blobs/taking.hpp"

namespace muster::detail {
namespace {

class refused : public std::runtime_error {
 public:
  refused(int code, std::string const& why) : std::runtime_error(why), code(code) {}
  int const code;
};

thread_local std::string last_error;

template <class F>
auto guarded(F const& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (refused const& e) {
    last_error = e.what();
    return e.code;
  } catch (std::exception const& e) {
    last_error = e.what();
    return MUSTER_VALUES_FAILED;
  }
}

template <class F>
int done(F const& f) noexcept {
  return guarded([&f] {
    f();
    return 0;
  });
}

// Threads that are started while this object exists block all signals.
class signals_blocked {
 public:
  signals_blocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(signals_blocked const&) = delete;

 private:
  sigset_t before_;
};

std::string named(void const* name) {
  return {static_cast<char const*>(name), name_bytes};
}

void write_text(std::string const& text, char* into, std::size_t size) {
  if (text.size() >= size) throw std::invalid_argument("the text is longer than the buffer");
  std::memcpy(into, text.c_str(), text.size() + 1);
}

class store {
 public:
  explicit store(std::size_t bytes_max)
      : work_(loop_.get_executor()),
        gives(loop_, bytes_max),
        takes(loop_, [this](std::string const& name) { report(name); }),
        thread_([this] { loop_.run(); }) {}
  ~store() { close(); }
  store(store const&) = delete;

  void report(std::string const& name) {
    std::lock_guard const held(mutex_);
    dropped_.push_back(name);
    changed_.notify_all();
  }
  void wake() {
    std::lock_guard const held(mutex_);
    woken_ = true;
    changed_.notify_all();
  }
  void close() {
    {
      std::lock_guard const held(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    std::call_once(closed_, [this] {
      listen_with(nullptr);
      boost::asio::post(loop_, [this] {
        gives.close();
        takes.close();
        work_.reset();
      });
      thread_.join();
    });
  }
  std::shared_ptr<peer_value_server> peers() {
    std::lock_guard const held(mutex_);
    return peers_;
  }
  /// Returns false if the store is already listening.
  bool listen_with(std::shared_ptr<peer_value_server> const& by) {
    std::shared_ptr<peer_value_server> before;
    std::lock_guard const held(mutex_);
    if (by && (peers_ || over_)) return false;
    before = std::exchange(peers_, by);
    return true;
  }
  int wait(char* name) {
    std::unique_lock held(mutex_);
    changed_.wait(held, [this] { return over_ || woken_ || !dropped_.empty(); });
    if (over_) throw refused(MUSTER_VALUES_CLOSED, "the store is closed");
    if (!dropped_.empty()) {
      std::memcpy(name, dropped_.front().data(), name_bytes);
      dropped_.pop_front();
      return 1;
    }
    woken_ = false;
    return 0;
  }

 private:
  boost::asio::io_context loop_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;

 public:
  memory_server gives;
  memory_client takes;
  peer_value_client from_peers;

 private:
  std::mutex mutex_;  // protects the following members except thread_
  std::shared_ptr<peer_value_server> peers_;
  std::condition_variable changed_;
  std::deque<std::string> dropped_;
  bool woken_ = false, over_ = false;

  std::once_flag closed_;
  std::thread thread_;
};

// The stores of this process. A forked process starts without stores and does not access its
// parent's stores, whose mutex may be locked.
struct stores {
  std::mutex mutex;  // protects the following members
  std::map<std::int64_t, std::shared_ptr<store>> by_number;
};
std::atomic<stores*> of_this_process{nullptr};
std::atomic<std::int64_t> numbers{0};

void forget_all() {
  region_store::forget_in_fork();
  of_this_process.store(new stores);
}

stores& all_stores() {
  [[maybe_unused]] static bool const begun = [] {
    of_this_process.store(new stores);
    close_marked_in_forks(forget_all);
    return true;
  }();
  return *of_this_process.load();
}

std::shared_ptr<store> store_of(std::int64_t number) {
  auto& all = all_stores();
  std::lock_guard const held(all.mutex);
  auto const it = all.by_number.find(number);
  if (it == all.by_number.end()) throw refused(MUSTER_VALUES_CLOSED, "the store is closed");
  return it->second;
}

std::shared_ptr<peer_value_server> peers_of(std::int64_t number) {
  auto found = store_of(number)->peers();
  if (!found) throw refused(MUSTER_VALUES_FAILED, "the store is not listening");
  return found;
}

std::shared_ptr<peer_value_server> listening(store& s, std::string const& listen, std::string told,
                                             std::string const& server) {
  auto const where = listen_address(listen, server);
  if (told.empty() && where.is_any()) told = listen_address("", server).host;
  return std::make_shared<peer_value_server>(
      [&s](std::string const& name) { return s.gives.opened(name); }, where, told);
}

std::string why_full(memory_server::occupancy const& is, std::uint64_t size) {
  return std::to_string(size) + " bytes exceed the limit: " + std::to_string(is.bytes) + " of " +
         std::to_string(is.bytes_max) + " are in use, in " + std::to_string(is.names) + " of " +
         std::to_string(is.names_max) + " values";
}

}  // namespace
}  // namespace muster::detail

// NOLINTNEXTLINE(google-build-using-namespace): only the interface follows
using namespace muster::detail;

int muster_values_interface(void) {
  return MUSTER_VALUES_INTERFACE;
}

char const* muster_values_error(void) {
  return last_error.c_str();
}

int64_t muster_values_bytes_max(int64_t asked) {
  return guarded([&]() -> std::int64_t {
    if (asked < 0) return static_cast<std::int64_t>(memory_max({}));
    return static_cast<std::int64_t>(memory_max(static_cast<std::size_t>(asked)));
  });
}

int muster_values_host(char* into, size_t size) {
  return done([&] { write_text(this_host(), into, size); });
}

int muster_values_memory_is_reused(void) {
  return region_store::can_be() ? 1 : 0;
}

int muster_values_make(void const* name, void const* const* parts, size_t const* sizes,
                       size_t count, uint64_t free_max) {
  return guarded([&] {
    all_stores();  // must come first, so that forked processes close the new descriptor
    std::vector<std::string_view> all;
    for (std::size_t i = 0; i < count; ++i)
      all.emplace_back(static_cast<char const*>(parts[i]), sizes[i]);
    signals_blocked const here;
    return region_store::of_this_process().make(named(name), all, free_max).release();
  });
}

void muster_values_forget_unused(void) {
  region_store::of_this_process().clear();
}

int64_t muster_values_size(int fd) {
  return guarded([&] { return static_cast<std::int64_t>(content_size(fd)); });
}

int muster_values_check(int fd, void const* name, uint64_t size) {
  return done([&] {
    auto const why = wrong_memory(fd, named(name), size);
    if (!why.empty()) throw refused(MUSTER_VALUES_FAILED, why);
  });
}

int muster_values_is_named(int fd, void const* name) {
  return guarded([&] { return is_named(fd, named(name)) ? 1 : 0; });
}

int muster_values_same(void const* one, void const* other, size_t size) {
  return guarded([&] {
    signals_blocked const here;
    return same_bytes(static_cast<char const*>(one), static_cast<char const*>(other), size) ? 1 : 0;
  });
}

int64_t muster_values_open(uint64_t bytes_max) {
  return guarded([&]() -> std::int64_t {
    auto& all = all_stores();
    signals_blocked const here;
    auto made = std::make_shared<store>(bytes_max);
    std::lock_guard const held(all.mutex);
    auto const number = ++numbers;
    all.by_number.emplace(number, std::move(made));
    return number;
  });
}

int muster_values_close(int64_t number) {
  return done([&] {
    auto& all = all_stores();
    auto const closed = store_of(number);
    {
      std::lock_guard const held(all.mutex);
      all.by_number.erase(number);
    }
    closed->close();
  });
}

int muster_values_socket(int64_t number, char* into, size_t size) {
  return done([&] { write_text(store_of(number)->gives.socket_name(), into, size); });
}

int muster_values_reserve(int64_t number, uint64_t size) {
  return done([&] {
    auto const s = store_of(number);
    if (!s->gives.reserve(size)) throw refused(MUSTER_VALUES_FULL, why_full(s->gives.used(), size));
  });
}

int muster_values_unreserve(int64_t number, uint64_t size) {
  return done([&] { store_of(number)->gives.unreserve(size); });
}

int64_t muster_values_free(int64_t number) {
  return guarded([&] {
    auto const is = store_of(number)->gives.used();
    return static_cast<std::int64_t>(is.bytes_max - is.bytes);
  });
}

int muster_values_add(int64_t number, void const* name, int fd, uint64_t size) {
  muster::file_descriptor mine(fd);
  return done([&] { store_of(number)->gives.add(named(name), std::move(mine), size); });
}

int muster_values_drop(int64_t number, void const* name) {
  return done([&] {
    if (!store_of(number)->gives.drop(named(name)))
      throw refused(MUSTER_VALUES_UNKNOWN, "the store has no such content");
  });
}

int muster_values_opened(int64_t number, void const* name) {
  return guarded([&] {
    auto fd = store_of(number)->gives.opened(named(name));
    if (!fd) throw refused(MUSTER_VALUES_UNKNOWN, "the store has no such content");
    return fd.release();
  });
}

int64_t muster_values_held(int64_t number, void* names, uint64_t* sizes, size_t count) {
  return guarded([&] {
    auto const all = store_of(number)->gives.held();
    auto* at = static_cast<char*>(names);
    for (std::size_t i = 0; i < std::min(count, all.size()); ++i, at += name_bytes) {
      std::memcpy(at, all[i].first.data(), name_bytes);
      sizes[i] = all[i].second;
    }
    return static_cast<std::int64_t>(all.size());
  });
}

int muster_values_take(int64_t number, char const* socket, void const* name, uint64_t size,
                       int keep) {
  return guarded([&] {
    auto const s = store_of(number);
    auto const fd = std::make_shared<muster::file_descriptor>();
    auto const got = [fd](muster::file_descriptor given) { *fd = std::move(given); };
    std::string why;
    if (!s->takes.take(socket, named(name), size, keep != 0, got, why))
      throw refused(MUSTER_VALUES_NOT_TAKEN, why);
    return fd->release();
  });
}

int muster_values_wait(int64_t number, void* name) {
  return guarded([&] { return store_of(number)->wait(static_cast<char*>(name)); });
}

int muster_values_wake(int64_t number) {
  return done([&] { store_of(number)->wake(); });
}

int muster_values_listen(int64_t number, char const* listen, char const* advertise,
                         char const* server, char* into, size_t size) {
  return done([&] {
    auto const s = store_of(number);
    signals_blocked const here;
    auto const made = listening(*s, listen, advertise, server);
    write_text(made->address(), into, size);
    if (!s->listen_with(made))
      throw refused(MUSTER_VALUES_FAILED, "the store is already listening");
  });
}

int muster_values_certificate(int64_t number, char const* certificate, char const* key) {
  return done([&] { peers_of(number)->use_certificate(certificate, key); });
}

int muster_values_expect(int64_t number, void const* ticket, void const* name) {
  return done([&] { peers_of(number)->expect(named(ticket), named(name)); });
}

int muster_values_take_from_peer(int64_t number, char const* address, void const* ticket,
                                 char const* certificate, void const* name, uint64_t size) {
  return guarded([&] {
    peer_place const from{address, named(ticket), certificate};
    std::string why;
    auto fd = store_of(number)->from_peers.take(from, named(name), size, why);
    if (!fd) throw refused(MUSTER_VALUES_NOT_TAKEN, why);
    return fd.release();
  });
}

int muster_values_record_server_time(int64_t number, uint64_t size, double seconds) {
  return done([&] {
    store_of(number)->from_peers.record_server_time(size, std::chrono::duration<double>(seconds));
  });
}
