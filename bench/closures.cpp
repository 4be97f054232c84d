// How many no-op closures per second pass from a client through the server to a worker and back?
//
// One client session keeps enough closures in flight to fill every worker twice. Each outcome
// schedules the next closure on the stream's thread. Client, server and workers are separate
// processes.
#include <algorithm>
#include <atomic>
#include <muster/session.hpp>
#include <thread>

#include "bench/cluster.hpp"
#include "bench/options.hpp"

namespace muster::bench {

namespace {

using clock = std::chrono::steady_clock;

struct sample {
  clock::time_point at;
  std::uint64_t finished;
  std::chrono::microseconds server_cpu{}, worker_cpu{};
};

void run(cluster& c, int workers, int credits, options const& o, report& r) {
  auto const in_flight = static_cast<std::size_t>(std::max(2 * workers * credits, 64));
  std::atomic<std::uint64_t> finished = 0, failed = 0;
  std::atomic<bool> stopping = false;
  muster::session* client = nullptr;
  function_number noop{};
  value_view const args{"[]", encoding::json};
  auto so = c.session("bench closures");
  so.queue_capacity = std::max<std::size_t>(in_flight * 2, 1024);
  session s(so, [&](outcome const& out) {
    finished.fetch_add(1, std::memory_order_relaxed);
    if (!out.ok()) failed.fetch_add(1, std::memory_order_relaxed);
    if (!stopping.load(std::memory_order_relaxed)) client->schedule(noop, args, out.token);
  });
  client = &s;
  s.wait_open();
  noop = s.function(o.function);

  auto const take = [&] {
    sample now{clock::now(), finished.load(), {}, {}};
    if (c.server()) now.server_cpu = c.server()->cpu_time();
    for (auto& w : c.workers()) now.worker_cpu += w.cpu_time();
    return now;
  };
  s.schedule_many(noop, args, 1, in_flight);
  auto const begun = clock::now();
  while (finished == 0) {
    if (clock::now() - begun > std::chrono::seconds(20))
      throw std::runtime_error(
          o.server.empty() || o.start_workers
              ? "no closure has ended within 20 s"
              : "no closure has ended within 20 s: this starts no workers for --server unless told "
                "to by --start-workers, and the server seems to have none with '" +
                    o.function + "'");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // windows open, buffers grow
  auto const begin = take();
  std::this_thread::sleep_for(std::chrono::duration<double>(o.seconds));
  auto const end = take();
  stopping = true;
  s.wait_all(std::chrono::seconds(20));
  s.close(std::chrono::seconds(5));

  auto const n = static_cast<double>(end.finished - begin.finished);
  auto const seconds = std::chrono::duration<double>(end.at - begin.at).count();
  boost::json::object row{{"bench", "closures"},
                          {"workers", workers},
                          {"credits", credits},
                          {"tls", o.tls || o.files.on()},
                          {"closures_per_second", n / seconds},
                          {"failed", failed.load()}};
  if (c.server() && n > 0) {
    row["server_cpu_us_per_closure"] =
        static_cast<double>((end.server_cpu - begin.server_cpu).count()) / n;
    row["worker_cpu_us_per_closure"] =
        static_cast<double>((end.worker_cpu - begin.worker_cpu).count()) / n;
  }
  r.add(std::move(row));
}

}  // namespace

void closures(options const& o, report& r) {
  auto const workers = o.workers.empty() ? std::vector<int>{1, 2, 8} : o.workers;
  auto const credits = o.credits.empty() ? std::vector<int>{16, 256, 1024} : o.credits;
  if (!o.server.empty()) {
    auto const existing = existing_cluster(o, workers.front(), credits.front());
    return run(*existing, workers.front(), credits.front(), o, r);
  }
  for (int const w : workers)
    for (int const n : credits) {
      cluster own(w, n, 1, {}, {o.tls, o.auth});
      run(own, w, n, o, r);
    }
}

}  // namespace muster::bench
