// The relay in front of two servers, whose `/readyz` and sockets the test controls.
#include "server/relay/relay.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/net/proxied/proxy_header.hpp"
#include "tests/support/http_service.hpp"

namespace muster::relay {
namespace {

using namespace std::chrono_literals;
using boost::system::error_code;
using tcp = asio::ip::tcp;

tcp::endpoint const any_port(asio::ip::address_v4::loopback(), 0);

struct fake_server {
  explicit fake_server(asio::io_context& io) : acceptor(io) {
    acceptor.open(tcp::v4());
    acceptor.bind(any_port);
  }
  void listen() { acceptor.listen(); }
  upstream where() const {
    return {{"127.0.0.1", std::to_string(acceptor.local_endpoint().port())},
            {"127.0.0.1", std::to_string(http.port())}};
  }
  bool waits_for_nobody() {
    pollfd p{acceptor.native_handle(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 0;
  }

  std::atomic<unsigned> status{503};
  test::http_service http{[this](test::http_seen const& seen) {
    return test::http_reply{seen.target == "/readyz" ? status.load() : 404u};
  }};
  tcp::acceptor acceptor;
};

class relay_test : public testing::Test {
 protected:
  relay_test() {
    a.listen();
    b.listen();
    options.check_every = 10ms;
    options.log = [this](bool, std::string const& line) {
      std::lock_guard const lock(mutex);
      lines += line + "\n";
      logged.notify_all();
    };
  }
  ~relay_test() override { stop(); }

  void start() {
    options.upstreams = {a.where(), b.where()};
    subject.emplace(io, options);
    ASSERT_FALSE(subject->listen(where));
    subject->start();
    thread = std::thread([this] { io.run(); });
  }
  void stop() {
    if (!thread.joinable()) return;
    asio::post(io, [this] { subject->stop(); });
    thread.join();
  }
  /// Waits until the log contains `part`, and then clears the log.
  bool await_line(std::string const& part) {
    std::unique_lock lock(mutex);
    bool const found =
        logged.wait_for(lock, 20s, [&] { return lines.find(part) != std::string::npos; });
    EXPECT_TRUE(found) << part << " is not in: " << lines;
    lines.clear();
    return found;
  }
  tcp::socket client() {
    tcp::socket s(own);
    s.connect(where);
    return s;
  }
  tcp::socket accept(fake_server& s) { return s.acceptor.accept(own); }
  static void write(tcp::socket& s, std::string const& text) { asio::write(s, asio::buffer(text)); }
  static std::string read(tcp::socket& s, std::size_t n) {
    std::string text(n, ' ');
    asio::read(s, asio::buffer(text));
    return text;
  }
  static error_code read_end(tcp::socket& s) {
    char byte = 0;
    error_code error;
    s.read_some(asio::buffer(&byte, 1), error);
    return error;
  }

  asio::io_context own;  // for the test's sockets, which block
  fake_server a{own}, b{own};
  std::mutex mutex;
  std::condition_variable logged;
  std::string lines;

  asio::io_context io{1};
  relay_options options;
  tcp::endpoint where = any_port;
  std::optional<relay> subject;
  std::thread thread;
};

TEST_F(relay_test, connects_to_the_leader_and_forwards_each_half_close) {
  b.status = 200;
  start();
  auto c = client();
  write(c, "question");
  c.shutdown(tcp::socket::shutdown_send);
  auto s = accept(b);
  EXPECT_EQ(read(s, 8), "question");
  EXPECT_EQ(read_end(s), asio::error::eof);
  write(s, "answer");  // the other half is open
  EXPECT_EQ(read(c, 6), "answer");
  s.close();
  EXPECT_EQ(read_end(c), asio::error::eof);
  EXPECT_TRUE(a.waits_for_nobody());
}

TEST_F(relay_test, sends_the_client_address_if_configured) {
  options.send_proxy = true;
  b.status = 200;
  start();
  auto c = client();
  write(c, "question");
  auto s = accept(b);
  auto const expected = net::write_proxy_header(c.local_endpoint(), c.remote_endpoint());
  EXPECT_EQ(read(s, expected.size()), expected);
  EXPECT_EQ(read(s, 8), "question");
  write(s, "answer");
  EXPECT_EQ(read(c, 6), "answer");
}

TEST_F(relay_test, holds_connections_without_a_leader) {
  start();
  await_line("no server is the leader; new connections are held");
  auto c = client();
  write(c, "early");
  EXPECT_TRUE(a.waits_for_nobody());
  a.status = 200;
  auto s = accept(a);
  EXPECT_EQ(read(s, 5), "early");
  await_line("the leader is " + a.where().where.text());
}

TEST_F(relay_test, connection_held_for_too_long_is_reset) {
  options.hold_max = 50ms;
  start();
  auto c = client();
  EXPECT_EQ(read_end(c), asio::error::connection_reset);
}

TEST_F(relay_test, change_of_leader_resets_connections_to_the_old_one) {
  a.status = 200;
  start();
  auto c = client();
  auto s = accept(a);
  await_line("the leader is " + a.where().where.text());
  a.status = 503;
  EXPECT_EQ(read_end(c), asio::error::connection_reset);
  EXPECT_EQ(read_end(s), asio::error::connection_reset);
  await_line("HTTP status 503; ");
  auto held = client();
  write(held, "x");
  b.status = 200;
  auto other = accept(b);
  EXPECT_EQ(read(other, 1), "x");
  await_line("the leader is " + b.where().where.text() + " held=");
  a.status = 200;  // b remains the leader
  auto again = client();
  write(again, "y");
  auto third = accept(b);
  EXPECT_EQ(read(third, 1), "y");
}

TEST_F(relay_test, reset_is_forwarded) {
  a.status = 200;
  start();
  auto c = client();
  auto s = accept(a);
  write(c, "x");  // a reset during the connection attempt would cause a retry
  EXPECT_EQ(read(s, 1), "x");
  s.set_option(asio::socket_base::linger(true, 0));
  s.close();
  EXPECT_EQ(read_end(c), asio::error::connection_reset);
}

TEST_F(relay_test, connection_refused_by_the_leader_is_retried) {
  fake_server deaf(own);  // bound, but not listening
  deaf.status = 200;
  options.upstreams = {deaf.where()};
  subject.emplace(io, options);
  ASSERT_FALSE(subject->listen(where));
  subject->start();
  thread = std::thread([this] { io.run(); });
  await_line("the leader is");
  auto c = client();
  write(c, "patient");
  deaf.listen();
  auto s = accept(deaf);
  EXPECT_EQ(read(s, 7), "patient");
}

// A receiver that does not read blocks its sender, and no byte is lost.
TEST_F(relay_test, slow_reader_stops_the_sender) {
  a.status = 200;
  start();
  auto c = client();
  auto s = accept(a);
  c.non_blocking(true);
  std::size_t sent = 0;
  std::string piece(std::size_t{256} << 10, ' ');
  for (;;) {
    for (std::size_t i = 0; i < piece.size(); ++i) piece[i] = char((sent + i) % 251);
    error_code error;
    auto const n = c.write_some(asio::buffer(piece), error);
    if (!error) {
      sent += n;
      continue;
    }
    ASSERT_EQ(error, asio::error::would_block);
    pollfd p{c.native_handle(), POLLOUT, 0};
    if (::poll(&p, 1, 500) == 0) break;  // all data has stopped
  }
  EXPECT_LT(sent, std::size_t{64} << 20) << "that is more than the system's buffers hold";
  c.shutdown(tcp::socket::shutdown_send);
  std::size_t received = 0, wrong = 0;
  for (error_code error; !error;) {
    auto const n = s.read_some(asio::buffer(piece), error);
    for (std::size_t i = 0; i < n; ++i) wrong += piece[i] != char((received + i) % 251);
    received += n;
  }
  EXPECT_EQ(received, sent);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(relay_test, clients_beyond_the_limit_wait_in_the_backlog) {
  options.connections_max = 1;
  a.status = 200;
  start();
  auto first = client();
  auto s = accept(a);
  await_line("the connection limit is reached");
  auto second = client();
  write(second, "later");
  EXPECT_TRUE(a.waits_for_nobody());
  first.close();
  s.close();
  auto other = accept(a);
  EXPECT_EQ(read(other, 5), "later");
}

TEST_F(relay_test, held_connections_are_limited_and_leaving_clients_free_a_place) {
  options.held_max = 1;
  start();
  auto first = client();
  await_line("the connection limit is reached");
  auto second = client();
  write(second, "second");
  first.set_option(asio::socket_base::linger(true, 0));
  first.close();
  a.status = 200;
  auto s = accept(a);
  EXPECT_EQ(read(s, 6), "second");
}

TEST_F(relay_test, many_held_connections_get_their_own_bytes) {
  constexpr std::size_t n = 200;
  start();
  std::vector<tcp::socket> clients;
  for (std::size_t i = 0; i < n; ++i) {
    clients.push_back(client());
    write(clients.back(), std::to_string(1000 + i));
  }
  b.status = 200;
  for (std::size_t i = 0; i < n; ++i) {
    auto s = accept(b);
    write(s, "you are " + read(s, 4));
  }
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_EQ(read(clients[i], 12), "you are " + std::to_string(1000 + i));
}

TEST_F(relay_test, stops_with_connections_in_every_state) {
  a.status = 200;
  start();
  auto relayed = client();
  auto s = accept(a);
  a.status = 503;
  await_line("no server is the leader");
  auto held = client();
  stop();
  EXPECT_EQ(read_end(relayed), asio::error::connection_reset);
  EXPECT_EQ(read_end(held), asio::error::connection_reset);
}

}  // namespace
}  // namespace muster::relay
