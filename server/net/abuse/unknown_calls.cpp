// Rejects calls of unknown methods and counts each call as a reset. gRPC would reject the calls
// without reporting them, so their number could not be limited.
#include <grpcpp/generic/async_generic_service.h>

#include <optional>
#include <string>

#include "coro/rpc_tag.hpp"
#include "server/net/accepting_server.hpp"

namespace muster::net {
namespace {

struct unknown_call {
  grpc::GenericServerContext context;
  grpc::GenericServerAsyncReaderWriter stream{&context};
};

// Serves a fixed number of slots, each of which rejects one call at a time.
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
  // Maximum number of calls that are rejected concurrently. Further calls wait in gRPC's queue.
  static constexpr std::size_t slots = 64;

  // States:
  //
  //   requested --call arrives--> refused --status sent, or call reset--> requested
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
        // Counts the call even if it was not reset, because normal clients call few unknown
        // methods.
        peer = call->context.peer();
        server.call_reset(peer);
        server.engine().op_started();
        call->stream.Finish({grpc::StatusCode::UNIMPLEMENTED, "this method does not exist"},
                            static_cast<coro::rpc_tag*>(this));
        return;
      }
      bool const again = arrived && !server.stopping();
      if (arrived) server.call_ended(peer);
      call.reset();
      server.call_destroyed();
      if (again) request();
    }

    unknown_calls& home;
    std::optional<unknown_call> call;
    bool arrived = false;
    std::string peer;  // peer of the current call
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
