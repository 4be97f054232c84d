// How much server memory does a queued closure with 64 bytes of arguments take?
//
// Without a worker all closures stay queued. The result is the growth of the server's resident
// memory from an open, empty session to the full queue. It includes gRPC's buffers.
#include <muster/session.hpp>
#include <stdexcept>
#include <thread>

#include "bench/cluster.hpp"
#include "bench/options.hpp"

namespace muster::bench {

using namespace std::chrono_literals;

namespace {
std::size_t queued(cluster& c) {
  return c.get("/api/v1/overview").at("closures").at("queued").to_number<std::size_t>();
}
}  // namespace

void memory(options const& o, report& r) {
  cluster c(0, 16);
  session_options so;
  so.server = c.grpc();
  so.name = "bench memory";
  so.queue_capacity = o.closures + 1;
  session s(so);
  s.wait_open();
  auto const f = s.function("nobody.has.this");
  auto const before = c.server()->resident_bytes();
  std::string const args = "[\"" + std::string(60, 'x') + "\"]";
  auto const begin = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < o.closures; i += 1000)
    s.schedule_many(f, {args, encoding::json}, i + 1, std::min<std::size_t>(1000, o.closures - i));
  while (queued(c) < o.closures) {
    if (std::chrono::steady_clock::now() - begin > 10min)
      throw std::runtime_error("the closures were not queued within ten minutes");
    std::this_thread::sleep_for(20ms);
  }
  auto const seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  auto const grown = c.server()->resident_bytes() - before;
  r.add({{"bench", "memory"},
         {"queued", o.closures},
         {"argument_bytes", args.size()},
         {"bytes_per_queued_closure", static_cast<double>(grown) / static_cast<double>(o.closures)},
         {"server_resident_bytes", c.server()->resident_bytes()},
         {"scheduled_per_second", static_cast<double>(o.closures) / seconds}});
}

}  // namespace muster::bench
