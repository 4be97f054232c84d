// Clients without a token try to exhaust the memory of a real server, in plaintext and over TLS.
// They send compressed messages, endless header blocks and unfinished messages.
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <zlib.h>

#include <deque>
#include <fstream>
#include <memory>
#include <set>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/e2e/cluster.hpp"
#include "tests/support/http2_frames.hpp"
#include "tests/support/raw_socket.hpp"

namespace muster::e2e {
namespace {

namespace reflection = grpc::reflection::v1;
using namespace muster::test;

std::size_t resident_mb(process const& server) {
  std::ifstream file("/proc/" + std::to_string(server.pid()) + "/status");
  for (std::string word; file >> word;)
    if (word == "VmRSS:") {
      std::size_t kilobytes = 0;
      file >> kilobytes;
      return kilobytes >> 10;
    }
  return 0;
}

// Memory that allocators keep in addition. Allocators of sanitizers keep freed memory.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t slack_mb = 1'024;
#else
constexpr std::size_t slack_mb = 32;
#endif

// A connection to a gRPC port. Over TLS it accepts any certificate.
class wire {
 public:
  wire(std::string const& address, bool tls) : socket_(test::port_of(address), {.seconds = 20}) {
    if (tls) {
      ::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to closed connections
      context_.reset(SSL_CTX_new(TLS_client_method()));
      session_.reset(SSL_new(context_.get()));
      SSL_set_fd(session_.get(), socket_.descriptor());
      unsigned char const protocols[] = {2, 'h', '2'};
      SSL_set_alpn_protos(session_.get(), protocols, sizeof protocols);
      EXPECT_EQ(SSL_connect(session_.get()), 1);
    }
    EXPECT_TRUE(send(connection_preface + frame(settings_frame, 0, 0)));
  }
  bool send(std::string const& bytes) {
    if (!session_) return socket_.send(bytes);
    return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  /// Acknowledges the server's settings, so that its 4 MiB windows take effect. REQUIRES: no TLS.
  void acknowledge() {
    socket_.receive_until(settings_ack);  // sent after the server's own settings
    EXPECT_TRUE(send(settings_ack));
  }
  bool ends() {
    char bytes[4'096];
    while (session_ && SSL_read(session_.get(), bytes, sizeof bytes) > 0) {
    }
    return socket_.ends();
  }

 private:
  template <auto Free>
  struct freed {
    template <class T>
    void operator()(T* t) const {
      Free(t);
    }
  };
  test::raw_socket socket_;
  std::unique_ptr<SSL_CTX, freed<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, freed<SSL_free>> session_;
};

struct attacked : cluster {
  // `knows_callers`: clients need a token, also from this host.
  attacked(bool tls, bool knows_callers) : tls(tls) {
    words flags;
    if (knows_callers)
      flags = {"--auth", "on", "--agents-from", "10.0.0.0/8", "--data-dir", file("data").string()};
    if (tls) {
      EXPECT_EQ(run({"tls", "init", file("tls").string()}).status, 0);
      flags.insert(flags.end(), {"--tls-cert", pem("server.pem"), "--tls-key", pem("server.key")});
    }
    server = &serve(flags);
    before_mb = resident_mb(*server);
  }
  std::string pem(std::string const& name) { return (file("tls") / name).string(); }
  std::shared_ptr<grpc::Channel> channel() {
    if (!tls) return grpc::CreateChannel(grpc(), grpc::InsecureChannelCredentials());
    grpc::SslCredentialsOptions o;
    o.pem_root_certs = read_file(pem("ca.pem"));
    return grpc::CreateChannel(grpc(), grpc::SslCredentials(o));
  }
  std::unique_ptr<wire> dial() { return std::make_unique<wire>(grpc(), tls); }
  // Samples the memory once, and returns the maximum growth so far.
  std::size_t grown_mb() {
    auto const now = resident_mb(*server);
    most_mb = std::max(most_mb, now > before_mb ? now - before_mb : 0);
    return most_mb;
  }
  std::set<std::string> methods();

  bool const tls;
  process* server = nullptr;
  std::size_t before_mb = 0, most_mb = 0;
};

// Returns the methods that the server lists, such as "/muster.v1.BlobService/Has".
std::set<std::string> attacked::methods() {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + 20s);
  auto const stub = reflection::ServerReflection::NewStub(channel());
  auto const stream = stub->ServerReflectionInfo(&context);
  auto const ask = [&](auto const& request) {
    reflection::ServerReflectionResponse answer;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&answer));
    return answer;
  };
  reflection::ServerReflectionRequest list;
  list.set_list_services("*");
  std::set<std::string> all;
  auto const listed = ask(list);
  for (auto const& service : listed.list_services_response().service()) {
    reflection::ServerReflectionRequest one;
    one.set_file_containing_symbol(service.name());
    auto const answer = ask(one);
    for (auto const& bytes : answer.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      for (auto const& s : file.service())
        for (auto const& m : s.method())
          all.insert("/" + file.package() + "." + s.name() + "/" + m.name());
    }
  }
  return all;
}

// Returns the HEADERS frame of a call that the client leaves open.
std::string begun(std::uint32_t stream, std::string const& method, std::string const& more = {}) {
  return frame(headers_frame, end_headers, stream, call_fields(method, more));
}

std::string gzipped_zeros(std::size_t bytes) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string const plain(bytes, '\0');
  std::string packed(deflateBound(&z, bytes), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

void expect_served(attacked& c) {
  EXPECT_FALSE(c.methods().empty()) << "other clients are served";
}

void bombs(bool tls, bool knows_callers) {
  attacked c(tls, knows_callers);
  auto const methods = c.methods();
  EXPECT_GT(methods.size(), 40u);
  c.before_mb = resident_mb(*c.server);
  auto const bomb = grpc_message(gzipped_zeros(60 << 20), true);
  EXPECT_LT(bomb.size(), 70'000u);
  for (auto const& method : methods) {
    auto const w = c.dial();
    for (std::uint32_t stream = 1; stream < 9; stream += 2)
      if (!w->send(begun(stream, method, field("grpc-encoding", "gzip")) +
                   in_frames(stream, bomb, end_stream)))
        break;
    EXPECT_LT(c.grown_mb(), slack_mb) << method;
  }
  expect_served(c);
  EXPECT_LT(c.grown_mb(), slack_mb);
}

TEST(floods, compressed_messages_at_every_method_use_little_memory) {
  for (bool const tls : {false, true})
    for (bool const knows_callers : {false, true}) bombs(tls, knows_callers);
}

void header_blocks(bool tls, bool knows_callers) {
  attacked c(tls, knows_callers);
  std::string literals;
  while (literals.size() < 16'000) literals += field("x", std::string(100, 'y'));
  for (auto const& [first, payload] :
       {std::pair{std::string(), literals},
        std::pair{field("bomb", std::string(3'500, 'z'), 0x40), std::string(16'000, '\xbe')},
        std::pair{std::string(), std::string()}}) {
    auto const w = c.dial();
    bool sent =
        w->send(frame(headers_frame, 0, 1, call_fields("/grpc.health.v1.Health/Check", first)));
    for (int i = 0; i < 20'000 && sent; ++i)
      sent = w->send(frame(continuation_frame, 0, 1, payload));
    EXPECT_FALSE(sent && !w->ends()) << payload.size();
    EXPECT_LT(c.grown_mb(), slack_mb) << payload.size();
  }
  expect_served(c);
  if (tls || knows_callers) return;
  auto const metrics = c.text("/metrics");
  // gRPC itself ends the call with indexed fields, whose decoded size it limits.
  EXPECT_NE(metrics.find("reason=\"header_block\"} 2"), std::string::npos) << metrics;
}

TEST(floods, endless_header_blocks_are_cut_off) {
  for (bool const tls : {false, true})
    for (bool const knows_callers : {false, true}) header_blocks(tls, knows_callers);
}

// Opens connections that each send as much of a message as they can.
void unfinished(bool tls) {
  attacked c(tls, true);
  auto const message = grpc_message(std::string(8 << 20, 'x'));
  std::deque<std::unique_ptr<wire>> open;
  for (int i = 0; i < 100; ++i) {
    auto& w = *open.emplace_back(c.dial());
    auto const& method = i % 2 ? "/tensorflow.CoordinationService/InsertKeyValue"
                               : "/muster.v1.CoordinatorService/Session";
    bool sent = w.send(begun(1, method));
    for (std::size_t at = 0; sent && at < message.size(); at += 16'000)
      sent = w.send(frame(data_frame, 0, 1, message.substr(at, 16'000)));
    c.grown_mb();
  }
  EXPECT_LT(c.grown_mb(), 100 * 64 / 1024 + slack_mb);
  expect_served(c);
}

TEST(floods, unfinished_messages_without_a_token_use_little_memory) {
  for (bool const tls : {false, true}) unfinished(tls);
}

// Clients that need no token share half of the limit.
TEST(floods, unfinished_messages_are_limited) {
  cluster c;
  auto& server = c.serve({"--connection-memory-max", "64MiB", "--cluster", "default:worker=1"});
  auto const before = resident_mb(server);
  std::deque<std::unique_ptr<wire>> open;
  auto const begun_message = grpc_message(std::string(64 << 20, 'x'));
  auto const some = in_frames(1, begun_message.substr(0, 4'000'000), 0);
  std::size_t most = 0;
  for (int i = 0; i < 24; ++i) {
    auto& w = *open.emplace_back(std::make_unique<wire>(c.grpc(), false));
    w.acknowledge();
    w.send(begun(1, "/tensorflow.CoordinationService/InsertKeyValue"));
    w.send(some);
    most = std::max(most, resident_mb(server));
  }
  EXPECT_LT(most - before, 64 + slack_mb);
  std::string metrics;
  EXPECT_TRUE(await([&] {
    metrics = c.text("/metrics");
    return metrics.find("reason=\"memory\"}") != std::string::npos &&
           metrics.find("reason=\"memory\"} 0") == std::string::npos;
  })) << metrics;
  open.clear();
  EXPECT_TRUE(await([&] { return resident_mb(server) < before + slack_mb; }));
}

}  // namespace
}  // namespace muster::e2e
