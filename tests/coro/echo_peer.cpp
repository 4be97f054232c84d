// Opens a chat with the server at argv[1], sends a message, and waits to be killed.
#include <grpcpp/create_channel.h>
#include <unistd.h>

#include "echo.grpc.pb.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto const stub = muster::coro_test::Echo::NewStub(
      grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto const stream = stub->Chat(&context);
  if (!stream->Write({})) return 1;
  for (;;) ::pause();
}
