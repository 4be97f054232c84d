// Direct transfer of values between hosts with tickets, also with misbehaving peers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>
#include <thread>

#include "client/blobs/memory.hpp"
#include "client/blobs/peer_giving.hpp"
#include "client/blobs/peer_taking.hpp"
#include "client/blobs/regions.hpp"
#include "muster/blobs.hpp"
#include "tests/support/certificates.hpp"

namespace muster::detail {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

class peers : public testing::Test {
 protected:
  peers() { begin({}); }
  void begin(peer_giving_limits limits) {
    auto const held = [this](std::string const& n) {
      return n == name ? file_descriptor(fcntl(memory.get(), F_DUPFD_CLOEXEC, 0))
                       : file_descriptor();
    };
    gives.reset();
    gives = std::make_unique<peer_value_server>(held, peer_address{"127.0.0.1", 0}, "", limits);
  }
  peer_place holder(std::string const& ticket) const { return {gives->address(), ticket, trusted}; }
  /// Returns the content, or an empty string and the reason in `why`.
  std::string take(peer_place const& from, std::string const& what, std::uint64_t size) {
    peer_value_client once(patience);
    auto const fd = once.take(from, what, size, why);
    if (!fd) return {};
    EXPECT_EQ(wrong_memory(fd.get(), what, size), "");
    return std::string(mapping(fd.get()).bytes());
  }
  std::string take(std::string const& ticket) { return take(holder(ticket), name, bytes.size()); }

  static std::string text(std::size_t size) {
    std::string made(size, '\0');
    for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<char>(i * i % 251);
    return made;
  }

  std::string const name = random_name(), ticket = random_name();
  std::string const bytes = text(5'000'000);
  file_descriptor const memory = make_memory(name, bytes);
  peer_patience patience;
  std::string trusted, why;
  std::unique_ptr<peer_value_server> gives;
};

/// A proxy between both peers. It forwards the request and then `bytes` bytes, with a pause after
/// each piece, and stalls afterwards.
class wire {
 public:
  wire(std::string const& to, std::size_t bytes, std::chrono::milliseconds pause)
      : listening_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    EXPECT_EQ(bind(listening_.get(), any, length), 0);
    EXPECT_EQ(listen(listening_.get(), 1), 0);
    EXPECT_EQ(getsockname(listening_.get(), any, &length), 0);
    address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
    thread_ = std::thread([this, to, bytes, pause] { run(to, bytes, pause); });
  }
  ~wire() {
    over_.set_value();
    shutdown(listening_.get(), SHUT_RDWR);
    thread_.join();
  }
  wire(wire const&) = delete;

  std::string address;

 private:
  void run(std::string const& to, std::size_t left, std::chrono::milliseconds pause) {
    auto const over = over_.get_future();
    file_descriptor const taker(accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!taker) return;
    std::vector<char> piece(16 << 10);
    EXPECT_EQ(recv(taker.get(), piece.data(), 64, MSG_WAITALL), 64);
    try {
      auto giver = peer_socket::connected(peer_address::parse(to), 10s);
      giver.send({piece.data(), 64}, clock::time_point::max());
      while (left > 0 && over.wait_for(pause) != std::future_status::ready) {
        auto const most = std::min(left, piece.size());
        auto const got = giver.receive(piece.data(), most, clock::time_point::max());
        if (send(taker.get(), piece.data(), got, MSG_NOSIGNAL) < 0) return;
        left -= got;
      }
    } catch (peer_error const&) {
    }
    over.wait();
  }

  file_descriptor listening_;
  std::promise<void> over_;
  std::thread thread_;
};

TEST_F(peers, ticket_serves_the_value_once) {
  gives->expect(ticket, name);
  EXPECT_EQ(take(ticket), bytes) << why;
  EXPECT_EQ(take(ticket), "");
  EXPECT_NE(why.find("has closed the connection"), why.npos) << why;
}

TEST_F(peers, ticket_used_before_its_announcement_is_accepted) {
  auto taking = std::async(std::launch::async, [this] { return take(ticket); });
  std::this_thread::sleep_for(100ms);  // no event shows that the taker waits
  gives->expect(ticket, name);
  EXPECT_EQ(taking.get(), bytes) << why;
}

TEST_F(peers, value_is_refused_without_a_valid_ticket) {
  begin({.ticket_comes_within = 20ms});
  auto const other = random_name();
  EXPECT_EQ(take(random_name()), "");
  gives->expect(ticket, other);
  EXPECT_EQ(take(ticket), "") << "the ticket is for another value";
  gives->expect(ticket, other);
  EXPECT_EQ(take(holder(ticket), other, bytes.size()), "") << "the value is not stored here";
  begin({.ticket_age = 0ms, .ticket_comes_within = 20ms});
  gives->expect(ticket, name);
  EXPECT_EQ(take(ticket), "") << "the ticket has expired";
}

TEST_F(peers, oldest_tickets_are_dropped_beyond_the_limit) {
  begin({.tickets_max = 3, .ticket_comes_within = 20ms});
  std::vector<std::string> all;
  for (int i = 0; i < 4; ++i) gives->expect(all.emplace_back(random_name()), name);
  EXPECT_EQ(take(all[0]), "");
  EXPECT_EQ(take(all[1]), bytes) << why;
}

TEST_F(peers, connections_beyond_the_limit_are_closed) {
  begin({.served_at_once = 1});
  gives->expect(ticket, name);
  {
    auto idle = peer_socket::connected(peer_address::parse(gives->address()), 10s);
    ASSERT_EQ(take(ticket), "");
  }
  auto const end = clock::now() + 10s;  // until its departure is detected
  while (take(ticket).empty()) ASSERT_LT(clock::now(), end) << why;
}

TEST_F(peers, silent_peer_is_disconnected) {
  begin({.stall = 50ms});
  auto idle = peer_socket::connected(peer_address::parse(gives->address()), 10s);
  char byte = 0;
  EXPECT_THROW(idle.receive(&byte, 1, clock::now() + 10s), peer_error);
}

TEST_F(peers, stalled_or_absent_peer_is_not_retried_at_once) {
  patience.stall = 100ms;
  peer_value_client taker(patience);
  peer_place from;
  {
    wire const silent(gives->address(), 0, 0ms);
    from.address = silent.address;
    from.ticket = ticket;
    auto const began = clock::now();
    EXPECT_FALSE(taker.take(from, name, 5, why));
    EXPECT_NE(why.find("timed out"), why.npos) << why;
    EXPECT_LT(clock::now() - began, 5s);
  }
  EXPECT_FALSE(taker.take(from, name, 5, why));
  EXPECT_NE(why.find("was unreachable recently"), why.npos) << why;
  EXPECT_EQ(take(from, name, 5), "");
  EXPECT_NE(why.find("Connection refused"), why.npos) << why;
}

TEST_F(peers, peer_slower_than_the_server_is_abandoned) {
  patience.pace_after = 50ms;
  wire const slow(gives->address(), bytes.size() + 8, 5ms);
  auto from = holder(ticket);
  from.address = slow.address;
  gives->expect(ticket, name);
  EXPECT_EQ(take(from, name, bytes.size()), "");
  EXPECT_NE(why.find("the server is faster"), why.npos) << why;
}

TEST_F(peers, peer_as_fast_as_the_server_is_kept) {
  patience.pace_after = 50ms;
  wire const slow(gives->address(), bytes.size() + 8, 1ms);
  auto from = holder(ticket);
  from.address = slow.address;
  gives->expect(ticket, name);
  peer_value_client taker(patience);
  taker.record_server_time(10 << 20, 60s);  // the network is slow
  taker.record_server_time(1 << 10, 0s);    // too few bytes for an estimate
  auto const fd = taker.take(from, name, bytes.size(), why);
  ASSERT_TRUE(fd) << why;
  EXPECT_EQ(mapping(fd.get()).bytes(), bytes);
}

TEST_F(peers, closed_link_is_detected) {
  patience.stall = 100ms;
  wire const cut(gives->address(), 1 << 20, 0ms);
  auto from = holder(ticket);
  from.address = cut.address;
  gives->expect(ticket, name);
  EXPECT_EQ(take(from, name, bytes.size()), "");
  EXPECT_NE(why.find("timed out"), why.npos) << why;
}

// The kernel sends directly from the memory, which its producer reuses when no peer holds it.
TEST_F(peers, memory_is_not_reused_until_the_peer_has_received_it) {
  if (!region_store::can_be()) GTEST_SKIP() << "this system grants no leases on memory";
  std::string_view const all = bytes;
  region made(name, {&all, 1}, all.size());
  auto fd = made.given();
  peer_value_server once([&](auto const&) { return std::move(fd); }, {"127.0.0.1", 0}, "");
  once.expect(ticket, name);
  {
    auto to = peer_socket::connected(peer_address::parse(once.address()), 10s);
    auto const never = clock::time_point::max();
    to.send(ticket + name, never);
    std::string got(8 + bytes.size(), '\0');
    to.receive_all(got.data(), 1'000, never);
    EXPECT_FALSE(made.is_free());
    to.receive_all(got.data() + 1'000, got.size() - 1'000, never);
    EXPECT_TRUE(got.substr(8) == bytes);
    EXPECT_FALSE(made.is_free()) << "the peer has not closed the connection";
  }
  for (auto const end = clock::now() + 10s; !made.is_free(); std::this_thread::yield())
    ASSERT_LT(clock::now(), end) << "the memory is free once the peer has closed the connection";
}

TEST_F(peers, value_of_an_unexpected_size_is_refused) {
  gives->expect(ticket, name);
  EXPECT_EQ(take(holder(ticket), name, 7), "");
  EXPECT_NE(why.find("the value has 5000000 bytes, not 7"), why.npos) << why;
}

TEST_F(peers, only_the_given_certificate_is_trusted_over_tls) {
  test::certificate_request const muster{.common_name = "muster", .names = {"DNS:muster"}};
  auto const shown = test::self_signed(muster), other = test::self_signed(muster);
  gives->use_certificate(shown.chain_pem, shown.key_pem);
  gives->expect(ticket, name);
  trusted = other.chain_pem;
  EXPECT_EQ(take(ticket), "");
  EXPECT_NE(why.find("certificate verify failed"), why.npos) << why;
  trusted.clear();
  EXPECT_EQ(take(ticket), "") << "in plaintext";
  trusted = shown.chain_pem;
  EXPECT_EQ(take(ticket), bytes) << why;
  EXPECT_THROW(gives->use_certificate("no", "certificate"), peer_error);
}

TEST_F(peers, stopped_server_closes_its_connections) {
  auto idle = peer_socket::connected(peer_address::parse(gives->address()), 10s);
  gives.reset();
  char byte = 0;
  EXPECT_THROW(idle.receive(&byte, 1, clock::now() + 10s), peer_error);
}

TEST(peer_addresses, consist_of_a_host_and_an_optional_port) {
  for (auto const& [said, text] : {std::pair("host", "host:0"),
                                   {"host:70", "host:70"},
                                   {"[::1]:70", "[::1]:70"},
                                   {"[::1]", "[::1]:0"},
                                   {"::1", "[::1]:0"}})
    EXPECT_EQ(peer_address::parse(said).text(), text);
  for (auto const* const wrong : {":70", "host:", "host:x", "host:70000", "", "[::1", "a b"})
    EXPECT_THROW(peer_address::parse(wrong), std::invalid_argument) << wrong;
}

TEST(peer_addresses, listen_address_differs_from_the_advertised_address) {
  EXPECT_EQ(listen_address("", "127.0.0.1:8476").text(), "127.0.0.1:0");
  EXPECT_EQ(listen_address("0.0.0.0:7000", "10.1.1.1:8476").text(), "0.0.0.0:7000");
  peer_value_server const there([](auto const&) { return file_descriptor(); }, {"127.0.0.1", 0},
                                "far");
  EXPECT_EQ(there.address().find("far:"), 0) << there.address();
  EXPECT_NE(there.address(), "far:0");
}

TEST(peer_addresses, invalid_addresses_are_named) {
  for (auto const& [o, why] :
       {std::pair(blobs_options{.transfer_listen = ":1"},
                  "blobs_options.transfer_listen: expected"),
        {blobs_options{.transfer_advertise = std::string(291, 'a')},
         "blobs_options.transfer_advertise: the address has 291 bytes, the limit is 290"}})
    try {
      blobs const made(o);
      ADD_FAILURE() << why;
    } catch (std::invalid_argument const& e) {
      EXPECT_EQ(std::string(e.what()).find(why), 0) << e.what();
    }
}

}  // namespace
}  // namespace muster::detail
