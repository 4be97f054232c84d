// Overwrites durable keys in a server with --data-dir or in etcd. Each of C clients has its own
// connection and makes one call at a time. Prints puts per second.
//
//   bench_durable_puts muster|etcd HOST:PORT CLIENTS SECONDS
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <memory>
#include <vector>

#include "etcd/rpc.grpc.pb.h"
#include "xla/coordination/coordination_service.grpc.pb.h"

namespace {

using clock = std::chrono::steady_clock;

constexpr int keys_per_client = 16;
constexpr std::size_t value_bytes = 128;

struct etcd_put {
  using service = etcdserverpb::KV;
  static std::uint64_t introduce(service::Stub&) { return 0; }
  using answer = etcdserverpb::TxnResponse;
  static auto begin(service::Stub& stub, grpc::ClientContext* context, std::string key,
                    std::uint64_t, grpc::CompletionQueue* done) {
    etcdserverpb::TxnRequest request;
    auto& put = *request.add_success()->mutable_request_put();
    put.set_key(std::move(key));
    put.set_value(std::string(value_bytes, 'v'));
    return stub.AsyncTxn(context, request, done);
  }
};

struct muster_put {
  using service = xla::coordination::CoordinationService;
  /// Registers task 0, and returns the service's incarnation.
  static std::uint64_t introduce(service::Stub& stub) {
    xla::coordination::RegisterTaskRequest request;
    request.set_source_task_id(0);
    request.set_incarnation(1);
    xla::coordination::RegisterTaskResponse told;
    grpc::ClientContext context;
    auto const s = stub.RegisterTask(&context, request, &told);
    if (!s.ok()) std::cerr << s.error_message() << '\n';
    return told.service_incarnation();
  }
  using answer = xla::coordination::InsertKeyValueResponse;
  static auto begin(service::Stub& stub, grpc::ClientContext* context, std::string key,
                    std::uint64_t service, grpc::CompletionQueue* done) {
    xla::coordination::InsertKeyValueRequest request;
    request.mutable_kv()->set_key(std::move(key));
    request.mutable_kv()->set_value(std::string(value_bytes, 'v'));
    request.set_allow_overwrite(true);
    request.mutable_incarnations()->set_task_incarnation(1);
    request.mutable_incarnations()->set_service_incarnation(service);
    return stub.AsyncInsertKeyValue(context, request, done);
  }
};

template <class Put>
struct client {
  std::unique_ptr<typename Put::service::Stub> stub;
  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<typename Put::answer>> call;
  typename Put::answer answer;
  grpc::Status status;
  int round = 0;
};

template <class Put>
int run(std::string const& address, int count, double seconds) {
  grpc::CompletionQueue done;
  std::deque<client<Put>> clients(static_cast<std::size_t>(count));
  std::uint64_t service = 0;
  auto const put = [&](std::size_t i) {
    auto& c = clients[i];
    c.context = std::make_unique<grpc::ClientContext>();
    auto const round = std::to_string(++c.round % keys_per_client);
    c.call = Put::begin(*c.stub, c.context.get(), "bench/" + std::to_string(i) + "/" + round,
                        service, &done);
    c.call->Finish(&c.answer, &c.status, reinterpret_cast<void*>(i));
  };
  for (std::size_t i = 0; i < clients.size(); ++i) {
    grpc::ChannelArguments own;
    own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    clients[i].stub = Put::service::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), own));
    if (i == 0) service = Put::introduce(*clients[i].stub);
    put(i);
  }
  auto const warm = clock::now() + std::chrono::milliseconds(500);
  auto const end = warm + std::chrono::milliseconds(static_cast<int>(1'000 * seconds));
  std::uint64_t answered = 0;
  int under_way = count;
  void* tag = nullptr;
  for (bool ok = false; under_way > 0 && done.Next(&tag, &ok);) {
    auto const i = reinterpret_cast<std::size_t>(tag);
    if (!clients[i].status.ok()) {
      std::cerr << clients[i].status.error_message() << '\n';
      return 1;
    }
    auto const now = clock::now();
    answered += now >= warm && now < end;
    if (now < end)
      put(i);
    else
      --under_way;
  }
  std::cout << static_cast<std::uint64_t>(static_cast<double>(answered) / seconds) << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> const words(argv + 1, argv + argc);
  if (words.size() != 4 || (words[0] != "muster" && words[0] != "etcd")) {
    std::cerr << "bench_durable_puts muster|etcd HOST:PORT CLIENTS SECONDS\n";
    return 2;
  }
  int const count = std::atoi(words[2].c_str());
  double const seconds = std::atof(words[3].c_str());
  return words[0] == "etcd" ? run<etcd_put>(words[1], count, seconds)
                            : run<muster_put>(words[1], count, seconds);
}
