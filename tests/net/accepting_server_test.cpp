#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <sys/socket.h>
#include <unistd.h>

#include <deque>
#include <thread>

#include "tests/net/accepting_echo.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::net::test {
namespace {

task<void> do_nothing() {
  co_return;
}

TEST(accepting_server, a_port_in_use_is_an_error_that_names_the_address) {
  accepting_echo first;
  first.start();
  grpc::ServerBuilder builder;
  engine_context engine(builder.AddCompletionQueue());
  Echo::AsyncService service;
  accepting_server second(engine, builder);
  second.add_service(service);
  second.add_port("127.0.0.1:0");
  second.add_port(first.address);
  auto const started = second.start();
  EXPECT_FALSE(started);
  EXPECT_EQ(started.error,
            "cannot listen on " + first.address +
                ": another program is using the port; stop it ('ss -ltnp' lists it), or "
                "choose another port");
  first.run(do_nothing());
}

task<void> report_peer(std::string& peer, std::unique_ptr<once_call> call) {
  peer = call->context().peer();
  co_await call->finish(call->request());
}

task<void> call_once_and_forget(echo_server& s) {
  Ping message = ping(1);
  auto const status = co_await call_once(s, message);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST(accepting_server, calls_have_the_address_of_their_peer) {
  accepting_echo s;
  std::string peer;
  s.serve_once([&peer](std::unique_ptr<once_call> c) { return report_peer(peer, std::move(c)); });
  s.start();
  s.run(call_once_and_forget(s));
  EXPECT_TRUE(peer.starts_with("ipv4:127.0.0.1:")) << peer;
}

task<void> call_when_closed(echo_server& s, event& closed) {
  EXPECT_TRUE(co_await closed.wait());
  co_await call_once_and_forget(s);
}

// Silence, half a preface, incomplete settings, and another protocol.
TEST(accepting_server, silent_or_invalid_client_is_closed_and_others_are_served) {
  accepting_server_options options;
  options.listener.waiting.first_data_timeout = 100ms;
  accepting_echo s(options);
  s.serve_once(echo_once);
  s.start();
  auto const fixed = std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  std::deque<muster::test::raw_socket> dialled;
  for (auto const& words :
       {std::string(), fixed.substr(0, 9), fixed + std::string("\0\0\6\4\0\0\0\0\0", 9),
        std::string("GET / HTTP/1.1\r\n\r\n")})
    EXPECT_TRUE(dialled.emplace_back(muster::test::port_of(s.address)).send(words));
  bool all_closed = true;
  event closed(s.engine);
  std::thread reader([&] {
    for (auto& d : dialled) all_closed = d.ends() && all_closed;
    s.engine.post([&] { closed.set(); });
  });
  s.run(call_when_closed(s, closed));
  reader.join();
  EXPECT_TRUE(all_closed);
}

std::unique_ptr<Echo::Stub> connect(accepting_echo& s) {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  s.server.adopt(ends[0]);
  return Echo::NewStub(grpc::CreateInsecureChannelFromFd("adopted", ends[1]));
}

task<void> call_over_socket(echo_server& s, Echo::Stub& stub) {
  grpc::ClientContext context;
  Ping message = ping(7);
  auto const status =
      co_await unary_call(s.engine, stub, &Echo::Stub::PrepareAsyncOnce, context, message, message);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(message.id(), 7);
}

TEST(accepting_server, serves_a_connection_that_someone_else_accepted) {
  accepting_echo s;
  s.serve_once(echo_once);
  s.start();
  auto const stub = connect(s);
  s.run(call_over_socket(s, *stub));
}

}  // namespace
}  // namespace muster::net::test
