// A scripted server for answers that no real server gives. Handles one stream at a time.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <functional>
#include <memory>
#include <string>

#include "muster/v1/blobs.grpc.pb.h"
#include "muster/v1/coordinator.grpc.pb.h"
#include "muster/v1/worker.grpc.pb.h"

namespace muster::test {

using worker_stream = grpc::ServerReaderWriter<v1::ServerMessage, v1::WorkerMessage>;
using blob_stream = grpc::ServerReaderWriter<v1::BlobPiece, v1::GetBlob>;
using session_stream = grpc::ServerReaderWriter<v1::SessionResponse, v1::SessionRequest>;

struct fake_services : v1::WorkerService::Service,
                       v1::CoordinatorService::Service,
                       v1::BlobService::Service {
  grpc::Status Attach(grpc::ServerContext*, worker_stream* s) override { return on_attach(s); }
  grpc::Status Session(grpc::ServerContext*, session_stream* s) override { return on_session(s); }
  grpc::Status Get(grpc::ServerContext* c, blob_stream* s) override {
    return on_get ? on_get(c, s) : grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no blobs here");
  }
  std::function<grpc::Status(grpc::ServerContext*, blob_stream*)> on_get;
  std::function<grpc::Status(worker_stream*)> on_attach;
  std::function<grpc::Status(session_stream*)> on_session;
};

class fake_server : public fake_services {
 public:
  fake_server() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(static_cast<v1::WorkerService::Service*>(this));
    builder.RegisterService(static_cast<v1::CoordinatorService::Service*>(this));
    builder.RegisterService(static_cast<v1::BlobService::Service*>(this));
    server_ = builder.BuildAndStart();
  }
  ~fake_server() { server_->Shutdown(std::chrono::system_clock::now()); }
  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// Reads the hello, and sends a welcome.
inline v1::WorkerMessage greet(worker_stream* s, std::uint32_t credits = 2,
                               bool acknowledges = false) {
  v1::WorkerMessage hello;
  s->Read(&hello);
  v1::ServerMessage m;
  m.mutable_welcome()->set_job("worker");
  m.mutable_welcome()->set_credits(credits);
  m.mutable_welcome()->set_heartbeat_interval_ms(10'000);
  m.mutable_welcome()->set_acknowledges(acknowledges);
  if (acknowledges) m.mutable_welcome()->set_reconnect_grace_ms(5'000);
  s->Write(m);
  return hello;
}

/// Returns a message with `count` closures, numbered from `first`.
inline v1::ServerMessage closures(int count, std::uint32_t function, int first = 100) {
  v1::ServerMessage m;
  for (int i = 0; i < count; ++i) {
    m.add_closure(static_cast<std::uint64_t>(first + i));
    m.add_attempt(1);
    m.add_function(function);
    m.add_args("[]");
  }
  return m;
}

}  // namespace muster::test
