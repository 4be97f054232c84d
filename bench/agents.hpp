// Load of many coordination clients (XLA's protocol) over several connections, with one completion
// queue. Works with any service that implements the protocol. The calling thread drives everything.
#pragma once

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "xla/coordination/coordination_service.grpc.pb.h"

namespace muster::bench {

namespace wire = xla::coordination;

class agents {
 public:
  using clock = std::chrono::steady_clock;

  agents(std::string const& server, int count, int connections = 64);
  ~agents();
  agents(agents const&) = delete;

  int count() const { return count_; }

  /// Starts a call of client `i`, and fills in the request's incarnations. `done` gets the status
  /// and response during `run`. The destructor cancels calls without a deadline.
  template <class Request, class Response>
  using method = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (
      wire::CoordinationService::Stub::*)(grpc::ClientContext*, Request const&,
                                          grpc::CompletionQueue*);
  template <class Request, class Response>
  void start(int i, method<Request, Response> m, Request request,
             std::function<void(grpc::Status const&, Response const&)> done) {
    if constexpr (requires { request.mutable_incarnations(); }) {
      request.mutable_incarnations()->set_task_incarnation(incarnation(i));
      request.mutable_incarnations()->set_service_incarnation(service_);
    }
    auto* c = new call_of<Response>;
    c->done = std::move(done);
    link(*c);
    c->reader = (stub(i).*m)(&c->context, request, &queue_);
    c->reader->Finish(&c->response, &c->status, static_cast<call*>(c));
  }

  /// Starts a WatchTasks call of client `i`, which the server parks. `done` gets the size of the
  /// answer. The answer is not decoded, since decoding long lists would cost more than the server's
  /// work.
  void watch(int i, std::int64_t version, std::function<void(std::size_t bytes)> done);

  /// Handles answers until `enough` is true. @throws std::runtime_error after `limit`.
  void run(std::function<bool()> const& enough, std::chrono::seconds limit);
  /// Handles arriving answers for `span`.
  void run_for(clock::duration span);

  /// Registers all clients, and waits for the answers. Throws if a registration is refused.
  void register_all();
  /// Calls the barrier for clients [from, to); counts each answer in `released`.
  void enter(std::string const& id, int from, int to, int& released);

  std::uint64_t incarnation(int i) const { return 0x5eed'0000'0000u + static_cast<unsigned>(i); }
  std::size_t in_flight() const { return in_flight_; }

 private:
  struct call {
    virtual ~call() = default;
    virtual void finish() = 0;
    grpc::ClientContext context;
    grpc::Status status;
    call* next = nullptr;
    call* previous = nullptr;
  };
  template <class Response>
  struct call_of final : call {
    void finish() override {
      if (done) done(status, response);
    }
    Response response;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
    std::function<void(grpc::Status const&, Response const&)> done;
  };

  wire::CoordinationService::Stub& stub(int i) {
    return *stubs_[static_cast<std::size_t>(i) % stubs_.size()];
  }
  void link(call& c);
  void unlink(call& c);
  void handle(void* tag);

  struct raw_call;

  int const count_;
  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<wire::CoordinationService::Stub>> stubs_;
  std::vector<std::unique_ptr<grpc::GenericStub>> raw_stubs_;
  std::uint64_t service_ = 0;
  call* calls_ = nullptr;
  std::size_t in_flight_ = 0;
};

/// Returns a quantile; 0 if there are no samples.
double quantile_of(std::vector<double> samples, double q);

}  // namespace muster::bench
