// Peers by the address of a call's context.
#include "coro/abuse/call_peers.hpp"

#include <unordered_map>

namespace muster::coro {
namespace {

thread_local std::unordered_map<grpc::ServerContext const*, std::string> peers;

}  // namespace

void note_peer(grpc::ServerContext const& context) {
  peers.insert_or_assign(&context, context.peer());
}

std::string noted_peer(grpc::ServerContext const& context) {
  auto const it = peers.find(&context);
  return it == peers.end() ? context.peer() : it->second;
}

void forget_peer(grpc::ServerContext const& context) {
  peers.erase(&context);
}

}  // namespace muster::coro
