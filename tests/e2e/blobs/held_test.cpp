#include <gtest/gtest.h>

#include <iomanip>
#include <optional>
#include <sstream>
#include <thread>

#include "muster/v1/blobs.grpc.pb.h"
#include "tests/blobs/hash.hpp"
#include "tests/e2e/cluster.hpp"
#include "tests/support/hand_worker.hpp"

namespace muster::e2e {
namespace {

using server::hash_of;

struct holding : test::hand_stream<v1::HoldRequest, v1::HoldResponse> {
  explicit holding(v1::BlobService::Stub& stub, std::string const& socket = "test-1",
                   std::string const& host = "") {
    stream_ = stub.Hold(&context_);
    v1::HoldRequest first;
    first.set_peer("127.0.0.1:9");
    first.set_unix_socket(socket);
    first.set_task("worker:0");
    first.set_host(host);
    write(first);
  }
  void hold(std::string const& name, std::uint64_t size, bool copy = false) {
    v1::HoldRequest more;
    more.add_held(name);
    more.add_size(size);
    if (copy) more.add_copy(true);
    write(more);
  }
};

class held_values : public testing::Test {
 protected:
  void SetUp() override {
    c.serve();
    stub =
        v1::BlobService::NewStub(grpc::CreateChannel(c.grpc(), grpc::InsecureChannelCredentials()));
  }
  v1::BlobPlace locate(std::string const& of, bool peers = false, std::string const& host = "") {
    grpc::ClientContext context;
    v1::LocateRequest asked;
    asked.add_name(of);
    asked.set_peers(peers);
    asked.set_host(host);
    v1::LocateResponse told;
    EXPECT_TRUE(stub->Locate(&context, asked, &told).ok());
    return told.place_size() == 1 ? told.place(0) : v1::BlobPlace();
  }
  grpc::Status put(std::string const& bytes, std::uint64_t holder) {
    grpc::ClientContext context;
    auto const stream = stub->Put(&context);
    v1::PutBlob m;
    m.set_sha256(hash_of(bytes));
    m.set_size(bytes.size());
    m.set_name(name);
    m.set_holder(holder);
    stream->Write(m);
    v1::PutBlob data;
    data.set_data(bytes);
    stream->Write(data);
    stream->WritesDone();
    v1::BlobThere there;
    while (stream->Read(&there)) {
    }
    return stream->Finish();
  }
  std::string get() {
    grpc::ClientContext context;
    auto const stream = stub->Get(&context);
    v1::GetBlob asked;
    asked.set_sha256(name);
    stream->Write(asked);
    stream->WritesDone();
    std::string got;
    for (v1::BlobPiece piece; stream->Read(&piece);) got += piece.data();
    EXPECT_TRUE(stream->Finish().ok());
    return got;
  }

  cluster c;
  std::unique_ptr<v1::BlobService::Stub> stub;
  std::string const name = std::string(31, 'n') + '\0';
};

TEST_F(held_values, are_found_while_their_process_is_connected) {
  auto h = std::make_optional<holding>(*stub);
  auto const first = h->read();
  ASSERT_TRUE(first);
  EXPECT_NE(first->holder(), 0u);
  EXPECT_TRUE(first->outputs_stay());
  h->hold(name, 5'000'000);
  auto const place = locate(name);
  EXPECT_EQ(place.unix_socket(), "test-1");
  EXPECT_EQ(place.size(), 5'000'000u);
  EXPECT_FALSE(place.at_server());
  auto const told = c.get("/api/v1/blobs").at("elsewhere");
  EXPECT_EQ(told.at("outputs").to_number<int>(), 1);
  EXPECT_EQ(told.at("bytes").to_number<int>(), 5'000'000);
  EXPECT_EQ(told.at("workers").at(0).at("task"), "worker:0");
  h.reset();
  EXPECT_TRUE(await([&] { return locate(name).unix_socket().empty(); }));
}

TEST_F(held_values, closure_waits_for_a_late_hold_message) {
  holding h(*stub);
  v1::BlobPlace place;
  std::thread asks([&] { place = locate(name); });
  ASSERT_TRUE(h.read());
  h.hold(name, 5);
  asks.join();
  EXPECT_EQ(place.unix_socket(), "test-1");
}

TEST_F(held_values, are_uploaded_when_a_reader_cannot_take_them) {
  holding h(*stub);
  auto const first = h.read();
  ASSERT_TRUE(first);
  h.hold(name, 5);
  ASSERT_EQ(locate(name).unix_socket(), "test-1");
  std::string got;
  std::thread gets([&] { got = get(); });
  auto const wanted = h.read();
  ASSERT_TRUE(wanted && wanted->wanted_size() == 1);
  EXPECT_EQ(wanted->wanted(0), name);
  EXPECT_EQ(put("bytes", first->holder() + 1).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_TRUE(put("bytes", first->holder()).ok());
  gets.join();
  EXPECT_EQ(got, "bytes");
  EXPECT_TRUE(locate(name).at_server());
}

TEST_F(held_values, are_fetched_with_tickets_from_other_hosts) {
  holding h(*stub);
  auto const first = h.read();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->certificate(), "") << "the server speaks plaintext";
  h.hold(name, 5);
  ASSERT_EQ(locate(name).ticket(), "") << "no ticket was requested";
  auto const place = locate(name, true);
  EXPECT_EQ(place.peer(), "127.0.0.1:9");
  ASSERT_EQ(place.ticket().size(), 32u);
  auto const told = h.read();
  ASSERT_TRUE(told && told->ticket_size() == 1);
  EXPECT_EQ(told->ticket(0).ticket(), place.ticket());
  EXPECT_EQ(told->ticket(0).name(), name);
}

std::string hex_of(std::string const& name) {
  std::ostringstream out;
  for (unsigned char const c : name)
    out << std::hex << std::setw(2) << std::setfill('0') << static_cast<int>(c);
  return out.str();
}

TEST_F(held_values, holders_on_the_host_of_the_requester_are_listed_first) {
  holding maker(*stub, "maker", "here");
  std::vector<std::unique_ptr<holding>> others;
  for (int i = 0; i < 8; ++i)
    others.push_back(
        std::make_unique<holding>(*stub, "other-" + std::to_string(i), i == 0 ? "here" : "there"));
  ASSERT_TRUE(maker.read());
  for (auto const& o : others) ASSERT_TRUE(o->read());
  maker.hold(name, 5);
  ASSERT_EQ(locate(name).holder_size(), 1);
  others[0]->hold(name, 5, true);
  auto const early = others[0]->read();
  ASSERT_TRUE(early && early->unlisted_size() == 1) << "no value names it yet";
  test::hand_worker w(c.grpc(), test::make_hello());
  c.post("/api/v1/jobs", R"({"closures":[{"function":"f"}]})");
  w.answer(*w.read_closures(), R"({"$blob":")" + hex_of(name) + R"(","bytes":5})");
  ASSERT_TRUE(await([&] {
    auto const all = c.get("/api/v1/remote_values?status=READY").at("remote_values");
    return !all.as_array().empty();
  }));
  for (auto const& o : others) o->hold(name, 5, true);
  auto const last = others[7]->read();
  ASSERT_TRUE(last && last->unlisted_size() == 1) << "eight processes hold the value";
  ASSERT_TRUE(await([&] { return locate(name).holder_size() == 8; }));
  auto const near = locate(name, true, "here");
  ASSERT_EQ(near.holder_size(), 2);
  EXPECT_TRUE(near.may_copy());
  for (auto const& h : near.holder()) EXPECT_TRUE(!h.unix_socket().empty() && h.ticket().empty());
  auto const far = locate(name, true, "elsewhere");
  ASSERT_EQ(far.holder_size(), 3) << "tickets of three";
  for (auto const& h : far.holder()) EXPECT_TRUE(h.unix_socket().empty() && !h.ticket().empty());
  EXPECT_EQ(far.ticket(), far.holder(0).ticket());
  EXPECT_NE(locate(name).holder(0).unix_socket(), locate(name).holder(0).unix_socket())
      << "in turn";
  maker.cancel();
  EXPECT_TRUE(await([&] { return locate(name).holder_size() == 7; }));
  EXPECT_EQ(c.get("/api/v1/blobs").at("elsewhere").at("copies").to_number<int>(), 6);
}

TEST_F(held_values, are_read_over_rest) {
  holding h(*stub);
  auto const first = h.read();
  ASSERT_TRUE(first);
  h.hold(name, 5);
  ASSERT_EQ(locate(name).unix_socket(), "test-1");
  std::thread puts([&] {
    auto const wanted = h.read();
    EXPECT_TRUE(wanted && wanted->wanted_size() == 1);
    EXPECT_TRUE(put("bytes", first->holder()).ok());
  });
  std::string hex;
  for (int i = 0; i < 31; ++i) hex += "6e";
  auto const got = c.text("/api/v1/blobs/" + hex + "00");
  puts.join();
  EXPECT_EQ(got, "bytes");
}

TEST_F(held_values, invalid_holders_are_refused_with_the_reason) {
  {
    holding h(*stub, "no/such name");
    EXPECT_FALSE(h.read());
    EXPECT_EQ(h.finish().error_message(),
              "unix_socket: expected 1 to 100 letters, digits, '-', '_' or '.'");
  }
  {
    holding h(*stub);
    ASSERT_TRUE(h.read());
    h.hold("short", 5);
    EXPECT_FALSE(h.read());
    EXPECT_EQ(h.finish().error_message(), "held[0]: must have 32 bytes, got 5");
  }
  {
    holding h(*stub, "test-1", std::string(65, 'h'));
    EXPECT_FALSE(h.read());
    EXPECT_EQ(h.finish().error_message(), "host: has 65 bytes, the limit is 64");
  }
  {
    holding h(*stub);
    ASSERT_TRUE(h.read());
    v1::HoldRequest two;
    for (auto const* n : {"a", "b"}) two.add_held(std::string(32, *n)), two.add_size(1);
    two.add_copy(true);
    h.write(two);
    EXPECT_FALSE(h.read());
    EXPECT_EQ(h.finish().error_message(), "copy: has 1 values, but held has 2");
  }
  grpc::ClientContext context;
  v1::LocateRequest asked;
  v1::LocateResponse told;
  asked.set_host(std::string(65, 'h'));
  EXPECT_EQ(stub->Locate(&context, asked, &told).error_message(),
            "host: has 65 bytes, the limit is 64");
  holding one(*stub), other(*stub, "test-2");
  ASSERT_TRUE(one.read() && other.read());
  one.hold(name, 5);
  ASSERT_EQ(locate(name).unix_socket(), "test-1");
  other.hold(name, 5);
  auto const refused = other.read();
  ASSERT_TRUE(refused && refused->refused_size() == 1);
  EXPECT_EQ(locate(name).unix_socket(), "test-1");
}

TEST(held_outputs, are_uploaded_to_a_server_that_keeps_outputs_itself) {
  cluster c;
  c.serve({"--data-dir", c.file("data").string()});
  auto const stub =
      v1::BlobService::NewStub(grpc::CreateChannel(c.grpc(), grpc::InsecureChannelCredentials()));
  holding h(*stub);
  auto const first = h.read();
  ASSERT_TRUE(first);
  EXPECT_FALSE(first->outputs_stay());
}

}  // namespace
}  // namespace muster::e2e
