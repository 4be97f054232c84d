// Sends large values as blobs, which calls pass by reference:
//   blobs worker HOST:PORT [SHM_BYTES_MAX [TRANSFER_LISTEN [TRANSFER_ADVERTISE]]]
//   blobs send HOST:PORT MEGABYTES [ROUNDS [SHM_BYTES_MAX]]
// MUSTER_CA, MUSTER_CERT and MUSTER_KEY configure TLS.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <muster/blobs.hpp>
#include <muster/cluster_coordinator.hpp>
#include <muster/worker.hpp>
#include <string>

namespace {

muster::worker* running = nullptr;

int serve(muster::blobs_options const& o) {
  muster::blobs store(o);  // outlives the worker: values refer to its blobs
  muster::worker w({.server = o.server, .tls = o.tls});
  w.function("length", [&store](muster::blob const& b) { return store.get(b)->size(); });
  w.function("doubled", [&store](muster::blob const& b) {
    auto const bytes = store.get(b);
    return store.put(std::string(*bytes).append(*bytes));
  });
  w.function("copied", [&store](muster::blob const& b) { return store.put(*store.get(b)); });
  w.function("filled", [&store](std::size_t megabytes) {
    return store.put(std::string(megabytes << 20, 'x'));
  });
  w.function("same", [](muster::blob const& b) { return b; });
  running = &w;
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { running->stop(); });
  return w.run();
}

// Sends different bytes in each round and gets a copy back.
void send(muster::blobs_options const& o, std::size_t megabytes, int rounds) {
  muster::blobs store(o);
  muster::cluster_coordinator c({.server = o.server, .tls = o.tls, .name = "blobs"});
  for (int round = 0; round < rounds; ++round) {
    std::string const bytes(megabytes << 20, static_cast<char>('a' + round % 26));
    auto const began = std::chrono::steady_clock::now();
    auto const copied = c.submit<muster::blob>("copied", store.put(bytes));
    auto const got = store.get(copied.fetch());
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - began;
    if (*got != bytes) throw std::runtime_error("other bytes came back");
    std::printf("%zu MiB there and back in %.1f ms\n", megabytes, took.count() * 1000);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  std::string const role = argc > 1 ? argv[1] : "send";
  auto const number = [&](int i, unsigned long long otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  muster::blobs_options o;
  o.server = argc > 2 ? argv[2] : "127.0.0.1:8476";
  if (int const at = role == "worker" ? 3 : 5; argc > at && *argv[at])
    o.shm_bytes_max = number(at, 0);
  if (argc > 4 && role == "worker") o.transfer_listen = argv[4];
  if (argc > 5 && role == "worker") o.transfer_advertise = argv[5];
  if (role == "worker") return serve(o);
  send(o, number(3, 64), static_cast<int>(number(4, 1)));
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
