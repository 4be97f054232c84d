// Answers calls of methods that nobody serves, and counts each like one that was reset. gRPC would
// answer by itself, but then they would be counted nowhere and be free; no version known that
// tells of those that it answers.
#include <grpcpp/generic/async_generic_service.h>

#include <optional>
#include <string>

#include "coro/rpc_tag.hpp"
#include "server/net/accepting_server.hpp"

namespace muster::net {
namespace {

// A fixed number of slots; each takes a call, refuses it and takes the next.
class unknown_calls final : public coro::acceptor_base {
 public:
  unknown_calls(coro::grpc_server& server, grpc::ServerBuilder& builder) : server_(server) {
    builder.RegisterAsyncGenericService(&service_);
  }
  void post_slots() override {
    for (std::size_t i = 0; i < slots; ++i)
      slots_.emplace_back(std::make_unique<slot>(*this))->request();
  }

 private:
  // Answers that gRPC has at one time; further calls wait in its own queue.
  static constexpr std::size_t slots = 64;

  //   requested --arrives--> refused --sent, or reset--> requested
  //       \--server stops--> over <--server stops--/
  struct slot final : coro::rpc_tag {
    explicit slot(unknown_calls& h) : home(h) {}

    void request() {
      call.emplace();
      arrived = false;
      auto& server = home.server_;
      server.call_created();
      server.engine().op_started();
      auto& queue = server.engine().server_queue();
      home.service_.RequestCall(&call->context, &call->stream, &queue, &queue,
                                static_cast<coro::rpc_tag*>(this));
    }

    void complete(bool ok) override {
      auto& server = home.server_;
      server.engine().op_returned();
      if (ok && !arrived) {
        arrived = true;
        // Reset or not: nobody who means well has many of these.
        peer = call->context.peer();
        server.call_reset(peer);
        server.engine().op_started();
        call->stream.Finish({grpc::StatusCode::UNIMPLEMENTED, "nobody serves this method"},
                            static_cast<coro::rpc_tag*>(this));
        return;
      }
      bool const again = arrived && !server.stopping();
      if (arrived) server.call_ended(peer);
      call.reset();
      server.call_destroyed();
      if (again) request();
    }

    struct one {
      grpc::GenericServerContext context;
      grpc::GenericServerAsyncReaderWriter stream{&context};
    };

    unknown_calls& home;
    std::optional<one> call;
    bool arrived = false;
    std::string peer;  // of the call that has arrived
  };

  coro::grpc_server& server_;
  grpc::AsyncGenericService service_;
  std::vector<std::unique_ptr<slot>> slots_;
};

}  // namespace

void accepting_server::refuse_unknown_methods() {
  add_acceptor(std::make_unique<unknown_calls>(*this, builder()));
}

}  // namespace muster::net
