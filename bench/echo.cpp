// A plain gRPC unary call, for comparison with Muster's round trip.
#include "bench/echo.hpp"

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "echo.grpc.pb.h"

namespace muster::bench {

namespace {
struct service final : Echo::Service {
  grpc::Status Call(grpc::ServerContext*, Bytes const* request, Bytes* response) override {
    response->set_data(request->data());
    return grpc::Status::OK;
  }
};

std::string ready_path() {
  return (std::filesystem::temp_directory_path() /
          ("muster-bench-echo-" + std::to_string(getpid())))
      .string();
}
}  // namespace

struct echo_process::stub {
  std::unique_ptr<Echo::Stub> calls;
};

echo_process::echo_process()
    : ready_(ready_path()), server_({this_program(), "bench", "echo-server", ready_}) {
  auto const address = wait_for_file(ready_, server_, std::chrono::seconds(20));
  auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(10)))
    throw std::runtime_error("the echo service did not answer");
  stub_ = std::make_unique<stub>(stub{Echo::NewStub(channel)});
}

echo_process::~echo_process() {
  std::remove(ready_.c_str());
}

void echo_process::run(std::chrono::steady_clock::duration span, std::vector<double>& into) {
  using clock = std::chrono::steady_clock;
  Bytes request, response;
  request.set_data("[]");
  auto const end = clock::now() + span;
  for (auto begin = clock::now(); begin < end;) {
    grpc::ClientContext context;
    if (!stub_->calls->Call(&context, request, &response).ok())
      throw std::runtime_error("the echo service failed");
    auto const now = clock::now();
    into.push_back(std::chrono::duration<double, std::micro>(now - begin).count());
    begin = now;
  }
}

int serve_echo(std::string const& ready_file) {
  service echo;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  auto const server = builder.BuildAndStart();
  if (!server) return 1;
  std::ofstream(ready_file + ".new") << "127.0.0.1:" << port;
  std::filesystem::rename(ready_file + ".new", ready_file);
  server->Wait();
  return 0;
}

}  // namespace muster::bench
