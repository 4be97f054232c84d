#include "tests/web/engine.hpp"

#include <chrono>

#include "base/no_room.hpp"
#include "server/hub/access/use.hpp"

namespace muster::web::test {

namespace {
core::time_point clock_now() {
  static auto const wall = std::chrono::system_clock::now();
  static auto const steady = std::chrono::steady_clock::now();
  return std::chrono::floor<core::duration>(wall + (std::chrono::steady_clock::now() - steady));
}

server::blob_store_options blob_options() {
  server::blob_store_options o;
  o.limits.bytes_max = 8 << 20;
  o.limits.blob_bytes_max = 4 << 20;
  o.files.small_max = 64 << 10;
  return o;
}
}  // namespace

engine::engine(core::config config, std::uint32_t agents, core::coordination::limits limits,
               bool keeps_tokens)
    : gate_(clock_now),
      keeper_(gate_,
              {.now = clock_now,
               .arm = [](core::time_point) {},
               .tell = [this](server::log_event const& n) { events_.add(clock_now(), n); },
               .ended = [this](std::string const& id) { on_token_ended(id); },
               .write_down = keeps_tokens ? [](core::token_change const&) {}
                                          : std::function<void(core::token_change const&)>()}),
      blobs_(blob_options(),
             {.now = clock_now,
              .post = [this](std::function<void()> work) { context_.post(std::move(work)); },
              .room_for_token =
                  [this](core::token const& who, std::uint64_t more) {
                    return server::room_for_values(who, *pools_, more);
                  }}) {
  auto const tell = [this](server::log_event const& n) { events_.add(clock_now(), n); };
  server::hub_dependencies dependencies;
  dependencies.now = clock_now;
  dependencies.arm = arm(closures_due_, [this] { hub_->on_deadline(); });
  dependencies.events.to_feed = dependencies.events.to_log = tell;
  dependencies.pool.wide = &wide_;
  server::coordination_dependencies around;
  around.now = clock_now;
  around.arm = arm(coordination_due_, [this] { coordination_->on_deadline(); });
  around.tell = tell;
  if (limits.journalled) write_down(around);
  coordination_ = std::make_unique<server::coordination_hub>(limits, 42, around);
  if (limits.journalled) {
    config.durable = true;
    dependencies.journal.commits = &commits_;
    dependencies.journal.refusal = [this] { return refusal_; };
    dependencies.journal.write = [this](std::vector<core::fact> const&) {
      commits_.wrote(write_batch());
    };
  }
  hub_ = std::make_unique<server::hub>(config, dependencies);
  pools_ = std::make_unique<server::pools>(*hub_, wide_, dependencies_of_pools(config));
  pools_->blob_bytes_of = [this](std::string_view token) { return blobs_.bytes_of(token); };
  (void)blobs_.start();
  engine_services const services{*pools_, *coordination_, events_, endpoints_,
                                 blobs_,  &keeper_,       &torch_};
  gateway_ = std::make_unique<engine_gateway>(
      context_, [] {}, services);
  gateway_->open();
  core::coordination::cluster_spec spec;
  if (agents > 0) spec.jobs.push_back({"worker", agents});
  if (coordination_->create(spec)) (void)endpoints_.open(endpoints_.main());
  thread_ = std::thread([this] { context_.run(); });
}

std::function<void(core::time_point)> engine::arm(coro::timer& due, std::function<void()> then) {
  return [&due, then = std::move(then)](core::time_point at) {
    due.cancel();
    if (at != core::never) due.call_at(std::chrono::steady_clock::now() + (at - clock_now()), then);
  };
}

void engine::write_down(server::coordination_dependencies& around) {
  around.commits = &commits_;
  around.write_down = [this](std::vector<core::coordination::fact> const&) {
    commits_.wrote(write_batch());
  };
  around.journal_refusal = [this] { return refusal_; };
  around.store = [this] {
    server::store_view v{.directory = "/data", .epoch = 3, .disk_bytes = 4'096};
    v.history = {.bytes = 8'192, .dropped = 3, .unreadable = 1};
    if (!refusal_.ok()) v.full_since = clock_now(), v.full = refusal_.message, v.free_bytes = 12;
    return v;
  };
}

std::uint64_t engine::write_batch() {
  context_.post([this, n = ++written_] {
    if (disk_.ok()) durable_ = n;
    commits_.on_durable(durable_, disk_, clock_now());
  });
  return written_;
}

void engine::fail_disk(std::string const& why) {
  run([this, why](engine_services&) {
    disk_ = {muster::code::internal, why};
    commits_.on_durable(durable_, disk_, clock_now());
  });
}

void engine::fill_disk() {
  run([this](engine_services&) { refusal_ = no_room("/data", "12 MiB are free"); });
}

// Hubs of other clusters have no timer here; other tests cover their timed work.
server::pools_dependencies engine::dependencies_of_pools(core::config config) {
  return {.find = [this](std::string_view name) { return coordination_->state().find(name); },
          .main = [this] { return endpoints_.main(); },
          .make =
              [this, config](core::coordination::cluster_id c, server::pool_dependencies pool) {
                server::hub_dependencies dependencies;
                dependencies.now = clock_now;
                dependencies.arm = [](core::time_point) {};
                dependencies.pool = std::move(pool);
                dependencies.events.cluster = coordination_->state().spec(c).name;
                auto of_it = config;
                of_it.cluster = dependencies.events.cluster;
                return std::make_shared<server::hub>(of_it, std::move(dependencies));
              }};
}

engine::~engine() {
  stop();
  thread_.join();
}

void engine::stop() {
  gateway_->close();
  context_.post([this] {
    if (std::exchange(stopped_, true)) return;
    pools_->stop();
    coordination_->stop();
    context_.close();
  });
}

worker::worker(engine& e, habit h, std::int64_t index, std::uint32_t slots,
               std::vector<std::string> functions,
               std::vector<std::pair<std::string, std::uint32_t>> resources)
    : engine_(e), habit_(h) {
  core::worker_spec spec;
  spec.index = index;
  spec.slots = slots;
  spec.credits = 256;
  spec.functions = functions;
  spec.resources = resources;
  spec.host = "host-a";
  engine_.run([&](server::hub& hub) { attach(hub, spec); });
}

worker::~worker() {
  lose("the test is over");
}

void worker::on_dispatch(std::span<core::assignment const> batch) {
  hub_worker::on_dispatch(batch);
  if (habit_ == habit::hold) return;
  engine_.post([this](server::hub& h) {
    if (!attached || held.empty()) return;
    answer(h, [this](core::worker_result& r, core::blob args) {
      r.ok = habit_ == habit::echo;
      r.value = args;
      if (!r.ok) r.failure.emplace().message = "as told";
    });
  });
}

void worker::wait(std::size_t n) {
  engine_.run([&](engine_services& s) {
    core::worker_results e{stream, {}, {}, {}, {}};
    e.waits.push_back({held.at(n).closure, held.at(n).attempt, true});
    s.pools.main().apply(std::move(e));
    return true;
  });
}

void worker::finish_all(std::string const& value, core::encoding e) {
  engine_.run([&](server::hub& h) {
    answer(h, [&](core::worker_result& r, core::blob args) {
      r.value = value.empty() ? args : core::blob(value, e);
    });
  });
}

void worker::fail_all(std::string const& message) {
  engine_.run([&](server::hub& h) {
    answer(h, [&](core::worker_result& r, core::blob) {
      r.ok = false;
      r.failure = core::failure{core::failure_kind::user, "ValueError", message, "", "", 0};
    });
  });
}

void worker::log(std::string const& text, std::size_t n, server::log_level level) {
  engine_.run([&](server::hub& h) {
    server::log_line l;
    l.at = core::time_point(std::chrono::milliseconds(1'700'000'000'123));
    l.closure = held.at(n).closure;
    l.attempt = held.at(n).attempt;
    l.level = level;
    l.text = text;
    l.worker = std::make_shared<std::string const>("worker:0");
    h.report(stream, std::move(l));
  });
}

void worker::progress(double fraction, std::string const& text, std::size_t n) {
  engine_.run([&](server::hub& h) {
    auto const& running = held.at(n);
    h.report(stream, running.closure,
             {fraction, text, core::time_point(std::chrono::milliseconds(1'700'000'000'123)),
              running.attempt});
  });
}

void worker::lose(std::string const& reason) {
  auto const gone = [&](server::hub& h) {
    if (!attached) return;
    attached = false;
    core::worker_disconnected d;
    d.stream = stream;
    d.reason = reason;
    h.apply(d);
    h.detach(stream);
  };
  // A stopped engine runs nothing, and has no sinks.
  auto done = std::make_shared<std::promise<void>>();
  if (engine_.post([&](server::hub& h) { gone(h), done->set_value(); })) done->get_future().wait();
}

std::size_t worker::holds() {
  return engine_.run([this](server::hub&) { return held.size(); });
}

bool eventually(std::function<bool()> const& condition) {
  auto const deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace muster::web::test
