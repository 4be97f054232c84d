#include "server/net/inspect/connection_guard.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/net/accepting_echo.hpp"
#include "tests/support/http2_frames.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::net::test {
namespace {

using namespace muster::test;

constexpr char const* once = "/muster.coro_test.Echo/Once";
constexpr char const* chat = "/muster.coro_test.Echo/Chat";

struct guarded_echo {
  using once_handler = std::function<task<void>(std::unique_ptr<once_call>)>;
  explicit guarded_echo(standing first, std::size_t memory_max = std::size_t{1} << 30,
                        once_handler const& answer = echo_once)
      : echo(options(first, memory_max)) {
    echo.serve_once(answer);
    echo.serve_chat(echo_chat);
    echo.server.refuse_unknown_methods();
    echo.start();
  }
  accepting_server_options options(standing first, std::size_t memory_max) {
    accepting_server_options o;
    o.guard.memory_max = memory_max;
    o.guard.judge = [first](auto const&) { return first; };
    o.guard.is_token = [](std::string_view v) { return v == "Bearer right"; };
    o.guard.cut = [this](std::string const&, std::string const& why) {
      std::scoped_lock const lock(mutex);
      reasons.push_back(why);
    };
    return o;
  }
  // Runs `client` on a separate thread while the server runs.
  void run(std::function<void()> client) { echo.run(beside(std::move(client))); }
  task<void> beside(std::function<void()> client) {
    event over(echo.engine);
    std::thread other([&] {
      client();
      echo.engine.post([&over] { over.set(); });
    });
    co_await over.wait();
    other.join();
  }
  std::string reason() {
    std::scoped_lock const lock(mutex);
    return reasons.empty() ? "" : reasons.front();
  }

  std::mutex mutex;
  std::vector<std::string> reasons;
  accepting_echo echo;
};

struct wire_client : muster::test::raw_socket {
  explicit wire_client(guarded_echo& s) : raw_socket(muster::test::port_of(s.echo.address)) {
    EXPECT_TRUE(send(connection_preface + frame(settings_frame, 0, 0)));
  }
  // Acknowledges the server's settings, so that its windows take effect.
  void acknowledge() {
    receive_until(settings_ack);  // sent after the server's own settings
    EXPECT_TRUE(send(settings_ack));
  }
  void call(std::uint32_t stream, char const* method, std::string const& more = {}) {
    send(frame(headers_frame, end_headers, stream, call_fields(method, more)));
  }
  // Sends frames of this many bytes. Returns false once the server has closed the connection.
  bool data(std::uint32_t stream, std::string const& bytes, int times = 1) {
    bool sent = true;
    for (int i = 0; i < times && sent; ++i) sent = send(frame(data_frame, 0, stream, bytes));
    return sent;
  }
  bool answers() {
    auto const answer = frame(6, 1, 0, "12345678");
    return send(frame(6, 0, 0, "12345678")) &&
           receive_until(answer).find(answer) != std::string::npos;
  }
};

grpc::Status ask(guarded_echo& s, std::size_t bytes, std::string const& authorization = {},
                 grpc_compression_algorithm coding = GRPC_COMPRESS_NONE) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  context.set_compression_algorithm(coding);
  if (!authorization.empty()) context.AddMetadata("authorization", authorization);
  Ping message;
  message.set_payload(std::string(bytes, 'x'));
  return s.echo.stub->Once(&context, message, &message);
}

TEST(connection_guard, closes_a_connection_that_sends_too_much_without_a_token) {
  for (char const* method : {once, chat, "/no.Service/None"}) {
    guarded_echo s(standing::anonymous);
    s.run([&] {
      wire_client c(s);
      c.call(1, method);
      c.data(1, grpc_message(std::string(10'000'000, 'x')).substr(0, 16'000), 8);
      EXPECT_TRUE(c.ends()) << method;
    });
    EXPECT_NE(s.reason().find("without presenting a valid token"), std::string::npos) << s.reason();
    EXPECT_EQ(s.echo.server.guarded().before_token, 1u);
    EXPECT_EQ(s.echo.server.guarded().held_bytes, 0u);
  }
}

TEST(connection_guard, takes_large_messages_from_the_first_call_with_a_token_on) {
  guarded_echo s(standing::anonymous);
  s.run([&] {
    EXPECT_TRUE(ask(s, 3'000'000, "Bearer right").ok());
    EXPECT_TRUE(ask(s, 1'000'000).ok()) << "the connection is known";
  });
  EXPECT_EQ(s.reason(), "");
}

TEST(connection_guard, serves_any_number_of_small_calls_without_a_token) {
  guarded_echo s(standing::anonymous);
  s.run([&] {
    for (int i = 0; i < 300; ++i) {
      auto const status = ask(s, 1'000, i % 2 ? "Bearer wrong" : "");
      ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
    }
  });
  EXPECT_EQ(s.reason(), "");
  EXPECT_EQ(s.echo.server.guarded().held_bytes, 0u);
}

// gRPC then reads with an empty buffer, too, which is not the end of a connection.
TEST(connection_guard, serves_concurrent_large_calls) {
  guarded_echo s(standing::admitted);
  s.run([&] {
    std::vector<std::thread> threads;
    std::atomic<int> served = 0;
    for (int i = 0; i < 32; ++i)
      threads.emplace_back([&] {
        for (int j = 0; j < 3; ++j) served += ask(s, 2'000'000).ok();
      });
    for (auto& t : threads) t.join();
    EXPECT_EQ(served, 96);
  });
  EXPECT_EQ(s.reason(), "");
}

TEST(connection_guard, closes_an_authenticated_client_with_an_endless_header_block_too) {
  for (auto const first : {standing::anonymous, standing::admitted, standing::identified}) {
    guarded_echo s(first);
    s.run([&] {
      wire_client c(s);
      c.send(frame(headers_frame, 0, 1, call_fields(once)));
      for (int i = 0; i < 1'000; ++i)
        if (!c.send(frame(continuation_frame, 0, 1, std::string(16'000, '\x82')))) break;
      EXPECT_TRUE(c.ends());
    });
    auto const counts = s.echo.server.guarded();
    EXPECT_EQ(counts.header_block + counts.before_token, 1u);
    EXPECT_EQ(counts.held_bytes, 0u);
  }
}

TEST(connection_guard, compressed_messages_are_not_decompressed) {
  guarded_echo s(standing::identified);
  s.run([&] {
    for (auto const coding : {GRPC_COMPRESS_GZIP, GRPC_COMPRESS_DEFLATE}) {
      auto const status = ask(s, 100'000, {}, coding);
      EXPECT_FALSE(status.ok()) << "the compressed bytes are not a message";
    }
    EXPECT_TRUE(ask(s, 100'000).ok());
  });
}

TEST(connection_guard, closes_the_largest_connection_at_the_total_limit) {
  guarded_echo s(standing::admitted, 4'000'000);
  s.run([&] {
    wire_client small(s), large(s);
    small.acknowledge();
    large.acknowledge();
    small.call(1, chat);
    large.call(1, chat);
    auto const begun = grpc_message(std::string(8'000'000, 'x'));
    EXPECT_TRUE(small.data(1, begun.substr(0, 16'000), 10));
    EXPECT_TRUE(small.answers());
    EXPECT_GT(s.echo.server.guarded().held_bytes, 160'000u);
    large.data(1, begun.substr(0, 16'000), 120);
    EXPECT_TRUE(large.ends()) << "half of the limit is for clients without a token";
    EXPECT_TRUE(small.answers());
  });
  EXPECT_NE(s.reason().find("--connection-memory-max"), std::string::npos) << s.reason();
  EXPECT_EQ(s.echo.server.guarded().memory, 1u);
}

TEST(connection_guard, does_not_affect_descriptors_it_guarded_earlier) {
  guarded_echo s(standing::anonymous);
  s.run([&] {
    for (int i = 0; i < 8; ++i) {
      wire_client c(s);
      c.call(1, chat);
      c.data(1, std::string(16'000, 'x'), 8);
      EXPECT_TRUE(c.ends());
    }
    std::vector<file_descriptor> held;
    for (int i = 0; i < 32; ++i) {
      int ends[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      for (int const end : ends) held.emplace_back(end);
      EXPECT_EQ(::send(ends[0], "x", 1, 0), 1);
      char byte = 0;
      iovec room{&byte, 1};
      msghdr message{};
      message.msg_iov = &room;
      message.msg_iovlen = 1;
      EXPECT_EQ(::recvmsg(ends[1], &message, 0), 1) << ends[1];
    }
  });
}

TEST(connection_guard, releases_the_bytes_of_a_closed_connection) {
  guarded_echo s(standing::identified);
  s.run([&] {
    auto const held = [&] { return s.echo.server.guarded().held_bytes; };
    {
      wire_client c(s);
      c.call(1, chat);
      c.data(1, grpc_message(std::string(100'000, 'x')).substr(0, 16'000), 3);
      for (int i = 0; i < 1'000 && held() == 0; ++i) std::this_thread::sleep_for(10ms);
      EXPECT_GT(held(), 0u);
    }
    for (int i = 0; i < 1'000 && held() > 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(held(), 0u);
  });
}

TEST(connection_guard, releases_the_bytes_of_streams_ended_by_the_server) {
  guarded_echo s(standing::identified);
  s.run([&] {
    auto const held = [&] { return s.echo.server.guarded().held_bytes; };
    wire_client c(s);
    for (std::uint32_t stream = 1; stream < 20; stream += 2) {
      c.call(stream, "/no.Service/None");
      c.data(stream, grpc_message(std::string(100'000, 'x')).substr(0, 16'000));
      EXPECT_TRUE(c.answers());
    }
    for (int i = 0; i < 1'000 && held() > 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(held(), 0u);
    EXPECT_TRUE(c.answers()) << "the connection continues";
  });
}

task<void> echo_after(std::unique_ptr<once_call> call, event& go) {
  co_await go.wait();
  co_await call->finish(call->request());
}

TEST(connection_guard, counts_whole_requests_until_they_are_answered) {
  std::optional<event> go;
  auto const answer = [&go](std::unique_ptr<once_call> call) {
    return echo_after(std::move(call), *go);
  };
  guarded_echo s(standing::identified, std::size_t{1} << 30, answer);
  go.emplace(s.echo.engine);
  s.run([&] {
    auto const held = [&] { return s.echo.server.guarded().held_bytes; };
    constexpr std::size_t bytes = 2'000'000;
    std::thread client([&] { EXPECT_TRUE(ask(s, bytes).ok()); });
    for (int i = 0; i < 1'000 && held() < bytes; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_GE(held(), bytes) << "gRPC or the handler has it";
    s.echo.engine.post([&go] { go->set(); });
    client.join();
    for (int i = 0; i < 1'000 && held() > 0; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(held(), 0u);
  });
}

}  // namespace
}  // namespace muster::net::test
