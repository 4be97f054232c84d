// A worker and a session that send the messages a test chooses, one blocking call at a time. Every
// stream has a deadline.
#pragma once

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/worker.grpc.pb.h"

namespace muster::test {

inline v1::Hello make_hello(std::vector<std::string> functions = {"f"}, std::uint32_t slots = 1,
                            std::uint32_t credits = 16, std::uint64_t incarnation = 7) {
  v1::Hello h;
  h.set_incarnation(incarnation);
  h.set_slots(slots);
  h.set_credits(credits);
  for (auto& f : functions) h.add_function(std::move(f));
  return h;
}

inline std::shared_ptr<grpc::Channel> channel_to(std::string const& address) {
  grpc::ChannelArguments args;
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), args);
}

template <class Request, class Response>
class hand_stream {
 public:
  bool write(Request const& m) { return stream_->Write(m); }
  std::optional<Response> read() {
    Response m;
    if (!stream_->Read(&m)) return std::nullopt;
    return m;
  }
  bool half_close() { return stream_->WritesDone(); }
  void cancel() { context_.TryCancel(); }
  grpc::Status finish() {
    Response m;
    while (stream_->Read(&m)) {
    }
    return stream_->Finish();
  }
  bool has_trailer(char const* key) { return context_.GetServerTrailingMetadata().count(key) > 0; }

 protected:
  hand_stream() {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  }

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
};

class hand_worker : public hand_stream<v1::WorkerMessage, v1::ServerMessage> {
 public:
  explicit hand_worker(std::string const& address)
      : stub_(v1::WorkerService::NewStub(channel_to(address))) {
    stream_ = stub_->Attach(&context_);
  }
  hand_worker(std::string const& address, v1::Hello const& hello) : hand_worker(address) {
    v1::WorkerMessage m;
    *m.mutable_hello() = hello;
    write(m);
    if (auto first = read()) welcome = first->welcome();
  }

  /// Skips heartbeats and other messages.
  std::optional<v1::ServerMessage> read_closures() {
    while (auto m = read())
      if (m->closure_size() > 0) return m;
    return std::nullopt;
  }
  bool answer(v1::ServerMessage const& given, std::string const& value = "null") {
    v1::WorkerMessage m;
    *m.mutable_closure() = given.closure();
    *m.mutable_attempt() = given.attempt();
    for (int i = 0; i < given.closure_size(); ++i) m.add_value(value);
    return write(m);
  }

  v1::Welcome welcome;

 private:
  std::unique_ptr<v1::WorkerService::Stub> stub_;
};

class hand_session : public hand_stream<v1::SessionRequest, v1::SessionResponse> {
 public:
  explicit hand_session(std::string const& address)
      : stub_(v1::CoordinatorService::NewStub(channel_to(address))) {
    stream_ = stub_->Session(&context_);
  }
  /// Opens a session; `functions` are numbered from 0.
  hand_session(std::string const& address, v1::Open const& open,
               std::vector<std::string> const& functions = {"f"})
      : hand_session(address) {
    v1::SessionRequest m;
    *m.mutable_open() = open;
    for (auto const& f : functions) m.add_function_name(f);
    write(m);
    if (auto first = read()) opened = first->opened();
  }

  bool schedule(std::uint64_t first_token, int count, std::uint32_t function = 0,
                std::string const& args = "[]") {
    v1::SessionRequest m;
    for (int i = 0; i < count; ++i) {
      m.add_token(first_token + static_cast<std::uint64_t>(i));
      m.add_function(function);
      m.add_args(args);
    }
    return write(m);
  }
  /// Returns fewer outcomes if the stream ends.
  std::vector<v1::SessionResponse> read_outcomes(int count) {
    std::vector<v1::SessionResponse> all;
    for (int got = 0; got < count;) {
      auto m = read();
      if (!m) break;
      got += m->token_size();
      all.push_back(std::move(*m));
    }
    return all;
  }

  v1::Opened opened;

 private:
  std::unique_ptr<v1::CoordinatorService::Stub> stub_;
};

}  // namespace muster::test
