// A fixed number of slots; each takes a call, refuses it and takes the next.
#include "coro/abuse/unknown_calls.hpp"

#include <optional>

#include "coro/rpc_tag.hpp"

namespace muster::coro {

//   requested --arrives--> refused --sent, or reset--> requested
//       \--server stops--> over <--server stops--/
struct unknown_calls::slot final : rpc_tag {
  explicit slot(unknown_calls& h) : home(h) {}

  void request() {
    call.emplace();
    arrived = false;
    auto& server = home.server_;
    server.call_created();
    server.engine().op_started();
    auto& queue = server.engine().server_queue();
    home.service_.RequestCall(&call->context, &call->stream, &queue, &queue,
                              static_cast<rpc_tag*>(this));
  }

  void complete(bool ok) override {
    auto& server = home.server_;
    server.engine().op_returned();
    if (ok && !arrived) {
      arrived = true;
      // Reset or not: nobody who means well has many of these.
      server.call_reset(call->context.peer());
      server.engine().op_started();
      call->stream.Finish({grpc::StatusCode::UNIMPLEMENTED, "nobody serves this method"},
                          static_cast<rpc_tag*>(this));
      return;
    }
    bool const again = arrived && !server.stopping();
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
};

unknown_calls::unknown_calls(grpc_server& server, grpc::ServerBuilder& builder) : server_(server) {
  builder.RegisterAsyncGenericService(&service_);
}

unknown_calls::~unknown_calls() = default;

void unknown_calls::post_slots() {
  for (std::size_t i = 0; i < slots; ++i)
    slots_.emplace_back(std::make_unique<slot>(*this))->request();
}

}  // namespace muster::coro
