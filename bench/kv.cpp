// How many key-value calls per second does the server handle, at what cost, and how much memory
// does a parked wait for a key take?
//
// Each of C clients sets its own key to 128 bytes and reads it, one call at a time, so C calls are
// in flight. Then waits for missing keys are parked, and woken one by one.
#include <thread>

#include "bench/agents.hpp"
#include "bench/coordination.hpp"

namespace muster::bench {

namespace {

using namespace std::chrono_literals;
using clock = agents::clock;
using stub = wire::CoordinationService::Stub;

/// A client that alternates between set and get.
class key_loop {
 public:
  key_loop(agents& all, int i) : all_(all), i_(i), value_(128, 'v') {}

  void set() {
    wire::InsertKeyValueRequest request;
    request.mutable_kv()->set_key(key());
    request.mutable_kv()->set_value(value_);
    request.set_allow_overwrite(true);
    all_.start<wire::InsertKeyValueRequest, wire::InsertKeyValueResponse>(
        i_, &stub::AsyncInsertKeyValue, std::move(request),
        [this](grpc::Status const& s, auto const&) {
          if (answered(s)) get();
        });
  }
  std::uint64_t calls = 0;
  bool stopping = false;
  bool stopped = false;

 private:
  void get() {
    wire::GetKeyValueRequest request;
    request.set_key(key());
    all_.start<wire::GetKeyValueRequest, wire::GetKeyValueResponse>(
        i_, &stub::AsyncGetKeyValue, std::move(request),
        [this](grpc::Status const& s, wire::GetKeyValueResponse const& r) {
          if (s.ok() && r.kv().value() != value_) throw std::runtime_error("a value was mixed up");
          if (!answered(s)) return;
          round_ = (round_ + 1) % 16;
          set();
        });
  }
  bool answered(grpc::Status const& s) {
    if (!s.ok()) throw std::runtime_error("key-value: " + s.error_message());
    ++calls;
    stopped = stopping;
    return !stopping;
  }
  std::string key() const { return "bench/" + std::to_string(i_) + "/" + std::to_string(round_); }

  agents& all_;
  int const i_;
  std::string const value_;
  int round_ = 0;
};

void set_and_get(agents& all, coordination_target& target, int clients, double seconds, report& r) {
  std::vector<std::unique_ptr<key_loop>> loops;
  for (int i = 0; i < clients; ++i) loops.push_back(std::make_unique<key_loop>(all, i));
  for (auto& l : loops) l->set();
  all.run_for(200ms);
  auto const calls = [&] {
    std::uint64_t n = 0;
    for (auto const& l : loops) n += l->calls;
    return n;
  };
  auto const before = calls();
  auto const cpu = target.cpu_time();
  auto const begin = clock::now();
  all.run_for(std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds)));
  auto const n = static_cast<double>(calls() - before);
  auto const took = std::chrono::duration<double>(clock::now() - begin).count();
  auto const used = static_cast<double>((target.cpu_time() - cpu).count());
  for (auto& l : loops) l->stopping = true;
  all.run(
      [&] {
        for (auto const& l : loops)
          if (!l->stopped) return false;
        return true;
      },
      20s);
  boost::json::object row{{"bench", "kv"}, {"clients", clients}, {"calls_per_second", n / took}};
  if (target.measured()) row["server_cpu_us_per_call"] = used / n;
  r.add(std::move(row));
}

void parked_waits(agents& all, coordination_target& target, int waits, report& r) {
  int woken = 0;
  auto const before = target.resident_bytes();
  for (int i = 0; i < waits; ++i) {
    wire::GetKeyValueRequest request;
    request.set_key("parked/" + std::to_string(i));
    all.start<wire::GetKeyValueRequest, wire::GetKeyValueResponse>(
        i % all.count(), &stub::AsyncGetKeyValue, std::move(request),
        [&](grpc::Status const& s, auto const&) {
          if (!s.ok()) throw std::runtime_error("wait: " + s.error_message());
          ++woken;
        });
    if (i % 500 == 499) all.run_for(20ms);
  }
  all.run_for(1s);
  auto const parked = target.resident_bytes();
  auto const begin = clock::now();
  int set = 0;
  for (int i = 0; i < waits; ++i) {
    wire::InsertKeyValueRequest request;
    request.mutable_kv()->set_key("parked/" + std::to_string(i));
    request.mutable_kv()->set_value("x");
    all.start<wire::InsertKeyValueRequest, wire::InsertKeyValueResponse>(
        i % all.count(), &stub::AsyncInsertKeyValue, std::move(request),
        [&](grpc::Status const&, auto const&) { ++set; });
  }
  all.run([&] { return woken == waits && set == waits; }, 120s);
  boost::json::object row{
      {"bench", "kv"},
      {"parked_waits", waits},
      {"wake_all_ms", std::chrono::duration<double, std::milli>(clock::now() - begin).count()}};
  if (target.measured())
    row["bytes_per_parked_call"] =
        (static_cast<double>(parked) - static_cast<double>(before)) / waits;
  r.add(std::move(row));
}

}  // namespace

void kv(options const& o, report& r) {
  auto const clients = o.clients.empty() ? std::vector<int>{1, 8, 64, 512} : o.clients;
  auto const most = *std::max_element(clients.begin(), clients.end());
  coordination_target target(o, std::max(64, o.agents.empty() ? most : o.agents.front()));
  agents all(target.address(), std::max(64, o.agents.empty() ? most : o.agents.front()));
  all.register_all();
  for (int const c : clients) set_and_get(all, target, c, o.seconds, r);
  parked_waits(all, target, o.waits, r);
}

}  // namespace muster::bench
