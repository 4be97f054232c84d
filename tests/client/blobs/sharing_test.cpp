// Shared memory between two peers of this process, also with misbehaving peers.
#include <absl/strings/escaping.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>

#include "client/blobs/giving.hpp"
#include "client/blobs/taking.hpp"

namespace muster::detail {
namespace {

using namespace std::chrono_literals;

class loop {
 public:
  loop() : work_(io.get_executor()), thread_([this] { io.run(); }) {}
  ~loop() {
    work_.reset();
    thread_.join();
  }
  template <class F>
  void run(F f) {
    std::promise<void> done;
    boost::asio::post(io, [&] { f(), done.set_value(); });
    done.get_future().wait();
  }

  boost::asio::io_context io{1};

 private:
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  std::thread thread_;
};

class sharing : public testing::Test {
 protected:
  ~sharing() override {
    l.run([this] {
      gives.close();
      takes.close();
    });
  }
  std::string hold(std::string const& bytes) {
    auto const name = random_name();
    EXPECT_TRUE(gives.reserve(bytes.size()));
    gives.add(name, make_memory(name, bytes), bytes.size());
    return name;
  }
  /// Returns the mapping, or null and the reason in `why`.
  std::shared_ptr<mapping const> take(std::string const& from, std::string const& name,
                                      std::uint64_t size, bool keep = true) {
    why.clear();
    auto const made = std::make_shared<std::shared_ptr<mapping const>>();
    auto const then = [this, made](file_descriptor fd) {
      ++got;
      *made = std::make_shared<mapping const>(fd.get());
    };
    bool const is_taken = takes.take(from, name, size, keep, then, why);
    EXPECT_EQ(is_taken, *made != nullptr);
    return *made;
  }
  /// Opens a holder's socket whose answer to the first request is given by `with`.
  std::thread answer_once(std::string const& at, std::function<void(int, unix_packet&)> with) {
    auto listening = std::make_shared<file_descriptor>(listen_at(at, 1));
    fcntl(listening->get(), F_SETFL, 0);
    return std::thread([listening, with] {
      file_descriptor socket(accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
      unix_packet asked;
      while (read_packet(socket.get(), asked) == packet_read::nothing_yet)
        std::this_thread::yield();
      with(socket.get(), asked);
    });
  }

  loop l;
  std::promise<std::string> dropped;
  memory_server gives{l.io, 100};
  memory_client takes{l.io, [this](std::string const& name) { dropped.set_value(name); }};
  std::string why;
  int got = 0;
};

TEST_F(sharing, taken_value_is_the_same_memory_and_its_drop_is_reported) {
  auto const name = hold("bytes");
  auto const taken = take(gives.socket_name(), name, 5);
  ASSERT_TRUE(taken) << why;
  EXPECT_EQ(taken->bytes(), "bytes");
  EXPECT_EQ(got, 1);
  gives.drop(name);
  EXPECT_EQ(dropped.get_future().get(), name);
  EXPECT_EQ(taken->bytes(), "bytes") << "the mapping stays valid";
  EXPECT_FALSE(take(gives.socket_name(), name, 5));
  EXPECT_EQ(why, "the process no longer stores the value");
  EXPECT_FALSE(gives.opened(name));
}

TEST_F(sharing, drop_of_a_value_taken_without_keeping_is_not_reported) {
  auto const once = hold("bytes"), kept = hold("bytes");
  ASSERT_TRUE(take(gives.socket_name(), once, 5, false)) << why;
  ASSERT_TRUE(take(gives.socket_name(), kept, 5)) << why;
  EXPECT_TRUE(gives.drop(once));
  EXPECT_FALSE(gives.drop(once));
  EXPECT_EQ(gives.held(), (std::vector{std::pair(kept, std::size_t{5})}));
  gives.drop(kept);
  EXPECT_EQ(dropped.get_future().get(), kept);
}

TEST_F(sharing, taken_value_is_reported_dropped_when_its_holder_closes) {
  auto const name = hold("bytes");
  ASSERT_TRUE(take(gives.socket_name(), name, 5)) << why;
  l.run([this] { gives.close(); });
  EXPECT_EQ(dropped.get_future().get(), name);
}

TEST_F(sharing, held_bytes_are_limited) {
  hold(std::string(60, 'x'));
  EXPECT_FALSE(gives.reserve(41));
  EXPECT_TRUE(gives.reserve(40));
  gives.unreserve(40);
  EXPECT_TRUE(gives.has_room(41, 1));
  EXPECT_FALSE(gives.has_room(42, 1));
  EXPECT_TRUE(gives.has_room(100, 60));
  EXPECT_FALSE(gives.has_room(101, 60));
  std::size_t names = 1;
  for (; names <= memory_server::names_max && gives.reserve(0); ++names) {
  }
  EXPECT_LE(names, memory_server::names_max);
}

TEST_F(sharing, value_of_an_unexpected_size_is_refused) {
  auto const name = hold("bytes");
  EXPECT_FALSE(take(gives.socket_name(), name, 6));
  EXPECT_EQ(why, "the received memory does not contain " + absl::BytesToHexString(name));
  EXPECT_EQ(got, 0);
}

TEST_F(sharing, memory_with_another_name_is_refused) {
  auto const name = random_name();
  auto const at = "muster-test-" + absl::BytesToHexString(name.substr(16));
  auto holder = answer_once(at, [](int socket, unix_packet& asked) {
    auto const other = make_memory(random_name(), "bytes");
    send_packet(socket, 'A', asked.name, other.get());
  });
  EXPECT_FALSE(take(at, name, 5));
  EXPECT_EQ(why, "the received memory does not contain " + absl::BytesToHexString(name));
  holder.join();
}

TEST_F(sharing, unsealed_memory_is_refused) {
  auto const name = random_name();
  auto const at = "muster-test-" + absl::BytesToHexString(name.substr(16));
  auto holder = answer_once(at, [](int socket, unix_packet& asked) {
    auto const label = "muster-" + absl::BytesToHexString(asked.name);
    file_descriptor const open(memfd_create(label.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(write(open.get(), "bytes", 5), 5);
    send_packet(socket, 'A', asked.name, open.get());
  });
  EXPECT_FALSE(take(at, name, 5));
  EXPECT_EQ(why, "the memory of " + absl::BytesToHexString(name) + " is not sealed");
  holder.join();
}

// The memory has the format of regions: larger than the content, with a label at the end.
TEST_F(sharing, labelled_memory_is_checked_against_its_label) {
  std::string const bytes(20, 'b');
  auto const labelled = [](std::string const& of, std::uint64_t size, std::string const& name,
                           int seal) {
    auto const fd = memfd_create("muster-other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    std::string end("MUSTER-R");
    end.append(reinterpret_cast<char const*>(&size), sizeof size).append(name);
    auto const all = of + std::string(8192 - of.size() - end.size(), '\0') + end;
    EXPECT_EQ(write(fd, all.data(), all.size()), 8192);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | seal), 0);
    return file_descriptor(fd);
  };
  auto const give = [&](file_descriptor fd) {
    auto const name = random_name();
    EXPECT_TRUE(gives.reserve(bytes.size()));
    gives.add(name, std::move(fd), bytes.size());
    return name;
  };
  auto const name = random_name();
  EXPECT_TRUE(gives.reserve(bytes.size()));
  gives.add(name, labelled(bytes, bytes.size(), name, F_SEAL_FUTURE_WRITE), bytes.size());
  auto const taken = take(gives.socket_name(), name, bytes.size());
  ASSERT_TRUE(taken) << why;
  EXPECT_EQ(taken->bytes(), bytes);

  auto const other = give(labelled(bytes, bytes.size(), random_name(), F_SEAL_FUTURE_WRITE));
  EXPECT_FALSE(take(gives.socket_name(), other, bytes.size()));
  EXPECT_NE(why.find("does not contain"), std::string::npos) << why;
  auto const longer = random_name();
  EXPECT_TRUE(gives.reserve(bytes.size()));
  gives.add(longer, labelled(bytes, 8192, longer, F_SEAL_FUTURE_WRITE), bytes.size());
  EXPECT_FALSE(take(gives.socket_name(), longer, 8192)) << "the label is not part of the content";
  auto const open = random_name();
  EXPECT_TRUE(gives.reserve(bytes.size()));
  gives.add(open, labelled(bytes, bytes.size(), open, 0), bytes.size());
  EXPECT_FALSE(take(gives.socket_name(), open, bytes.size())) << "the memory is not sealed";
}

TEST_F(sharing, closing_or_absent_holder_fails_the_take_at_once) {
  auto const name = random_name();
  auto const at = "muster-test-" + absl::BytesToHexString(name.substr(16));
  auto holder = answer_once(at, [](int, unix_packet&) {});
  EXPECT_FALSE(take(at, name, 5));
  EXPECT_EQ(why, "the process that stores the value has closed the connection");
  holder.join();
  EXPECT_FALSE(take(at, name, 5));
  EXPECT_EQ(why, "Connection refused");
  EXPECT_FALSE(take(at, name, 5));
  EXPECT_EQ(why,
            "the process that stores the value is not contacted, because this failed recently or "
            "the connection limit is reached")
      << "for a while";
}

TEST_F(sharing, holders_beyond_the_limit_are_not_contacted) {
  std::vector<std::unique_ptr<memory_server>> holders;
  for (std::size_t i = 0; i <= memory_client::holders_max; ++i) {
    holders.push_back(std::make_unique<memory_server>(l.io, 100));
    EXPECT_FALSE(take(holders.back()->socket_name(), random_name(), 5));
    EXPECT_EQ(why, i < memory_client::holders_max
                       ? "the process no longer stores the value"
                       : "the process that stores the value is not contacted, because this failed "
                         "recently or the connection limit is reached")
        << i;
  }
  l.run([&] {
    for (auto const& h : holders) h->close();
  });
}

TEST_F(sharing, number_of_remembered_absent_holders_is_limited) {
  auto const at = [](std::size_t i) { return "muster-not-here-" + std::to_string(i); };
  for (std::size_t i = 0; i < memory_client::avoided_max; ++i)
    EXPECT_FALSE(take(at(i), random_name(), 5));
  EXPECT_FALSE(take(at(0), random_name(), 5));
  EXPECT_EQ(why,
            "the process that stores the value is not contacted, because this failed recently or "
            "the connection limit is reached");
  EXPECT_FALSE(take(at(memory_client::avoided_max), random_name(), 5));
  EXPECT_FALSE(take(at(0), random_name(), 5));
  EXPECT_EQ(why, "Connection refused") << "all holders are contacted again";
}

TEST_F(sharing, invalid_message_closes_the_connection) {
  auto const name = hold("bytes");
  for (std::string const& said : {std::string("G"), "X" + name, "G" + name + "longer"}) {
    std::string ignored;
    auto const socket = connect_to(gives.socket_name(), ignored);
    ASSERT_TRUE(socket);
    fcntl(socket.get(), F_SETFL, 0);
    EXPECT_EQ(send(socket.get(), said.data(), said.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(said.size()));
    char byte = 0;
    EXPECT_EQ(recv(socket.get(), &byte, 1, 0), 0);
  }
}

TEST_F(sharing, connections_beyond_the_limit_are_closed) {
  std::vector<file_descriptor> all;
  std::string ignored;
  auto const name = hold("bytes");
  auto const is_served = [&](file_descriptor const& socket) {
    fcntl(socket.get(), F_SETFL, 0);
    if (!send_packet(socket.get(), 'O', name)) return false;
    unix_packet told;
    char byte = 0;
    if (recv(socket.get(), &byte, 1, MSG_PEEK) <= 0) return false;
    return read_packet(socket.get(), told) == packet_read::got && told.said == 'A';
  };
  for (int i = 0; i < memory_server::connections_max; ++i) {
    all.push_back(connect_to(gives.socket_name(), ignored));
    ASSERT_TRUE(is_served(all.back())) << i;
  }
  EXPECT_FALSE(is_served(connect_to(gives.socket_name(), ignored)));
}

TEST_F(sharing, other_users_are_refused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  auto const name = hold("bytes");
  auto const& at = gives.socket_name();
  auto const child = fork();
  if (child == 0) {
    std::string ignored;
    if (setuid(65'534) != 0) _exit(9);
    if (connect_to(at, ignored)) _exit(1);  // sees that the holder is another user
    _exit(ignored == "the socket belongs to another user" ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace muster::detail
