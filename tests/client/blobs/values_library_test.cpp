#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <string>
#include <thread>

#include "client/blobs/values.h"

namespace {

std::string fresh_name() {
  static char number = 0;
  return std::string(31, 'n') + ++number;
}

int made(std::string const& name, std::string const& bytes) {
  void const* const parts[] = {bytes.data(), bytes.data() + 1};
  std::size_t const sizes[] = {1, bytes.size() - 1};
  return muster_values_make(name.data(), parts, sizes, 2, 0);
}

std::string read_all(int fd) {
  std::string bytes(static_cast<std::size_t>(muster_values_size(fd)), '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  close(fd);
  return bytes;
}

std::size_t open_descriptors() {
  auto const all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class values_library : public testing::Test {
 protected:
  ~values_library() override {
    muster_values_close(one);
    muster_values_close(other);
  }
  std::string hold(std::string const& bytes) const {
    auto const name = fresh_name();
    EXPECT_EQ(muster_values_reserve(one, bytes.size()), 0) << muster_values_error();
    EXPECT_EQ(muster_values_add(one, name.data(), made(name, bytes), bytes.size()), 0);
    return name;
  }
  static std::string socket_of(std::int64_t store) {
    char name[100];
    EXPECT_EQ(muster_values_socket(store, name, sizeof name), 0);
    return name;
  }

  std::int64_t const one = muster_values_open(100), other = muster_values_open(100);
};

TEST_F(values_library, interface_has_a_version_number) {
  EXPECT_EQ(muster_values_interface(), MUSTER_VALUES_INTERFACE);
  EXPECT_EQ(muster_values_bytes_max(7), 7);
  EXPECT_GT(muster_values_bytes_max(-1), 0);
  char host[33], small[5];
  EXPECT_EQ(muster_values_host(host, sizeof host), 0);
  EXPECT_EQ(muster_values_host(small, sizeof small), MUSTER_VALUES_FAILED);
}

TEST_F(values_library, memory_is_checked_against_its_name_and_size) {
  auto const name = fresh_name();
  auto const fd = made(name, "bytes");
  ASSERT_GE(fd, 0) << muster_values_error();
  EXPECT_EQ(muster_values_check(fd, name.data(), 5), 0);
  EXPECT_EQ(muster_values_is_named(fd, name.data()), 1);
  EXPECT_EQ(muster_values_is_named(fd, fresh_name().data()), 0);
  EXPECT_EQ(muster_values_check(fd, name.data(), 6), MUSTER_VALUES_FAILED);
  EXPECT_NE(std::string(muster_values_error()).find("does not contain"), std::string::npos);
  EXPECT_EQ(read_all(fd), "bytes");
  EXPECT_EQ(muster_values_size(-1), MUSTER_VALUES_FAILED);
  EXPECT_EQ(muster_values_same("abc", "abd", 2), 1);
  EXPECT_EQ(muster_values_same("abc", "abd", 3), 0);
}

TEST_F(values_library, store_has_a_size_limit) {
  auto const name = hold(std::string(60, 'x'));
  EXPECT_EQ(muster_values_free(one), 40);
  EXPECT_EQ(muster_values_reserve(one, 41), MUSTER_VALUES_FULL);
  EXPECT_EQ(std::string(muster_values_error())
                .find("41 bytes exceed the limit: 60 of 100 are in use, in 1 of "),
            0u);
  char names[64];
  std::uint64_t sizes[2];
  ASSERT_EQ(muster_values_held(one, names, sizes, 2), 1);
  EXPECT_EQ(std::string(names, 32), name);
  EXPECT_EQ(sizes[0], 60u);
  EXPECT_EQ(muster_values_held(one, nullptr, nullptr, 0), 1);
  EXPECT_EQ(read_all(muster_values_opened(one, name.data())), std::string(60, 'x'));
  EXPECT_EQ(muster_values_drop(one, name.data()), 0);
  EXPECT_EQ(muster_values_drop(one, name.data()), MUSTER_VALUES_UNKNOWN);
  EXPECT_EQ(muster_values_opened(one, name.data()), MUSTER_VALUES_UNKNOWN);
  EXPECT_EQ(muster_values_free(one), 100);
}

TEST_F(values_library, drop_of_a_kept_value_is_reported) {
  auto const name = hold("bytes");
  auto const at = socket_of(one);
  EXPECT_EQ(read_all(muster_values_take(other, at.c_str(), name.data(), 5, 1)), "bytes");
  EXPECT_EQ(muster_values_take(other, at.c_str(), fresh_name().data(), 5, 1),
            MUSTER_VALUES_NOT_TAKEN);
  EXPECT_EQ(muster_values_wake(other), 0);
  char gone[32];
  EXPECT_EQ(muster_values_wait(other, gone), 0);
  muster_values_drop(one, name.data());
  EXPECT_EQ(muster_values_wait(other, gone), 1);
  EXPECT_EQ(std::string(gone, 32), name);
}

TEST_F(values_library, closing_a_store_ends_its_waiters) {
  char gone[32];
  auto waits = std::async(std::launch::async, [&] { return muster_values_wait(one, gone); });
  EXPECT_EQ(muster_values_close(one), 0);
  EXPECT_EQ(waits.get(), MUSTER_VALUES_CLOSED);
  EXPECT_EQ(muster_values_close(one), MUSTER_VALUES_CLOSED);
  EXPECT_EQ(muster_values_reserve(one, 1), MUSTER_VALUES_CLOSED);
  auto const before = open_descriptors();
  auto const name = fresh_name();
  EXPECT_EQ(muster_values_add(one, name.data(), made(name, "bytes"), 5), MUSTER_VALUES_CLOSED);
  EXPECT_EQ(open_descriptors(), before) << "the descriptor is closed";
}

TEST_F(values_library, ticket_fetches_a_value_from_another_host) {
  auto const name = hold("bytes");
  std::string const ticket(32, 't');
  char at[100];
  EXPECT_EQ(muster_values_expect(one, ticket.data(), name.data()), MUSTER_VALUES_FAILED);
  ASSERT_EQ(muster_values_listen(one, "127.0.0.1", "", "", at, sizeof at), 0)
      << muster_values_error();
  char again[100];
  EXPECT_EQ(muster_values_listen(one, "127.0.0.1", "", "", again, sizeof again),
            MUSTER_VALUES_FAILED);
  EXPECT_EQ(muster_values_expect(one, ticket.data(), name.data()), 0);
  EXPECT_EQ(read_all(muster_values_take_from_peer(other, at, ticket.data(), "", name.data(), 5)),
            "bytes");
  EXPECT_EQ(muster_values_take_from_peer(other, at, ticket.data(), "", name.data(), 5),
            MUSTER_VALUES_NOT_TAKEN);
  EXPECT_EQ(muster_values_certificate(one, "no", "certificate"), MUSTER_VALUES_FAILED);
  EXPECT_EQ(muster_values_listen(other, "not here:x", "", "", at, sizeof at), MUSTER_VALUES_FAILED);
  EXPECT_EQ(muster_values_record_server_time(other, 1, 1), 0);
}

TEST_F(values_library, wildcard_address_is_advertised_as_the_one_the_server_sees) {
  char at[100];
  ASSERT_EQ(muster_values_listen(one, "0.0.0.0", "", "127.0.0.1:8476", at, sizeof at), 0);
  EXPECT_EQ(std::string(at).find("127.0.0.1:"), 0u) << at;
}

// Forks also while other threads use the library.
TEST_F(values_library, forked_process_inherits_no_values_and_can_open_a_store) {
  auto const name = hold("bytes");
  auto const at = socket_of(one);
  close(muster_values_take(other, at.c_str(), name.data(), 5, 1));
#ifdef __SANITIZE_ADDRESS__  // a forked process could inherit a locked allocator
  std::atomic<bool> over = true;
#else
  std::atomic<bool> over = false;
#endif
  std::thread busy([&] {
    while (!over) {
      muster_values_reserve(one, 1);
      muster_values_unreserve(one, 1);
      close(muster_values_opened(one, name.data()));
      std::this_thread::sleep_for(std::chrono::microseconds(50));  // lets others get the mutex
    }
  });
  for (int i = 0; i < 50; ++i) {
    auto const child = fork();
    if (child == 0) {
      alarm(20);
      for (auto const store : {one, other})
        if (muster_values_drop(store, name.data()) != MUSTER_VALUES_CLOSED) _exit(1);
      auto const mine = muster_values_open(100);
      if (mine <= other || muster_values_reserve(mine, 1) != 0) _exit(2);
      if (muster_values_take(mine, at.c_str(), name.data(), 5, 0) < 0) _exit(3);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0);
  }
  over = true;
  busy.join();
}

TEST_F(values_library, values_end_with_their_holder_even_if_its_fork_survives) {
  int said[2], forks[2], ends[2];
  for (auto* const ends_of : {said, forks, ends}) ASSERT_EQ(pipe(ends_of), 0);
  std::string const name(32, 'm');
  char byte = 0;
  auto const holder = fork();
  if (holder == 0) {
    auto const mine = muster_values_open(100);
    muster_values_reserve(mine, 5);
    muster_values_add(mine, name.data(), made(name, "bytes"), 5);
    auto const at = socket_of(mine);
    if (write(said[1], at.data(), at.size() + 1) < 0 || read(forks[0], &byte, 1) != 1) _exit(1);
    if (fork() == 0) _exit(write(said[1], "f", 1) == 1 && read(ends[0], &byte, 1) == 1 ? 0 : 1);
    pause();
  }
  char at[100] = {}, gone[32];
  ASSERT_GT(read(said[0], at, sizeof at), 0);
  EXPECT_EQ(read_all(muster_values_take(other, at, name.data(), 5, 1)), "bytes");
  EXPECT_EQ(write(forks[1], "x", 1), 1);
  EXPECT_EQ(read(said[0], &byte, 1), 1);  // the process forked with an open connection
  kill(holder, SIGKILL);
  EXPECT_EQ(muster_values_wait(other, gone), 1);
  EXPECT_EQ(std::string(gone, 32), name);
  EXPECT_EQ(write(ends[1], "x", 1), 1);
  waitpid(holder, nullptr, 0);
  for (auto const* const ends_of : {said, forks, ends})
    for (auto const fd : {ends_of[0], ends_of[1]}) close(fd);
}

}  // namespace
