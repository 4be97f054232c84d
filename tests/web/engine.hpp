// A real hub on its own thread, as the counterpart of the web layer in tests. Its workers are sinks
// controlled by the test.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "coro/engine_context.hpp"
#include "coro/timer_queue.hpp"
#include "server/hub/access/token_keeper.hpp"
#include "server/hub/blob_store.hpp"
#include "server/hub/coordination_hub.hpp"
#include "server/hub/event_log.hpp"
#include "server/hub/hub.hpp"
#include "tests/support/hub_sinks.hpp"
#include "tests/web/endpoints.hpp"
#include "tests/web/torch_stores.hpp"
#include "web/engine/engine_link.hpp"

namespace muster::web::test {

class engine final {
 public:
  /// @param agents Tasks of job "worker" in the main cluster, "default". With 0 the cluster has
  /// only closure workers.
  explicit engine(core::config config = {}, std::uint32_t agents = 0,
                  core::coordination::limits limits = {}, bool keeps_tokens = true);
  ~engine();

  engine_gateway& gateway() { return *gateway_; }
  bool post(std::function<void(engine_services&)> work) { return gateway_->post(std::move(work)); }
  bool post(std::function<void(server::hub&)> work) {
    return post(
        [work = std::move(work)](engine_services& services) { work(services.pools.main()); });
  }

  /// Runs `f(hub&)` or `f(engine_services&)` on the engine thread, and returns its result.
  template <class F>
  auto run(F f) {
    using value = value_of<F>;
    auto done = std::make_shared<std::promise<value>>();
    auto future = done->get_future();
    post([done, f](engine_services& services) mutable {
      if constexpr (std::is_void_v<value>) {
        enter(services, f);
        done->set_value();
      } else {
        done->set_value(enter(services, f));
      }
    });
    return future.get();
  }

  /// Answers parked calls, then refuses work, as a stopping server does.
  void stop();

  /// Returns the tokens of this server. The gate decides whether it requires them. Engine thread.
  server::token_keeper& tokens() { return keeper_; }
  server::gate& gate() { return gate_; }
  /// Engine thread.
  torch_stores& torch() { return torch_; }
  /// Called on the engine thread with each token that is revoked or expires.
  std::function<void(std::string const&)> on_token_ended = [](auto const&) {};

  void tell(server::log_event what) {
    run([&](engine_services&) { events_.add({}, std::move(what)); });
  }

  /// Makes every later write fail. With `journalled` limits, earlier writes soon become durable.
  void fail_disk(std::string const& why);
  /// Makes the server refuse new changes that have to be stored.
  void fill_disk();

 private:
  void write_down(server::coordination_dependencies& around);
  std::uint64_t write_batch();
  std::function<void(core::time_point)> arm(coro::timer& due, std::function<void()> then);
  server::pools_dependencies dependencies_of_pools(core::config config);

  coro::engine_context context_{std::make_unique<grpc::CompletionQueue>()};
  // Engine thread only, from here on.
  bool stopped_ = false;
  coro::timer closures_due_{context_}, coordination_due_{context_};
  server::commit_queue commits_;
  std::uint64_t written_ = 0, durable_ = 0;
  muster::status disk_, refusal_;
  server::event_log events_{16};
  endpoints endpoints_;
  torch_stores torch_;
  core::server_wide wide_{core::time_point{}};
  server::gate gate_;
  server::token_keeper keeper_;
  std::unique_ptr<server::coordination_hub> coordination_;
  std::unique_ptr<server::hub> hub_;
  std::unique_ptr<server::pools> pools_;
  server::blob_store blobs_;
  std::unique_ptr<engine_gateway> gateway_;
  std::thread thread_;
};

/// A worker that is attached until it is destroyed. Its state belongs to the engine thread.
class worker final : public server::hub_worker {
 public:
  enum class habit { hold, echo, fail };

  worker(engine& e, habit h, std::int64_t index = -1, std::uint32_t slots = 4,
         std::vector<std::string> functions = {"muster.echo", "muster.fail"},
         std::vector<std::pair<std::string, std::uint32_t>> resources = {});
  ~worker() override;

  /// Finishes all held closures with this value, or with their own arguments if it is empty.
  void finish_all(std::string const& value = {}, core::encoding e = core::encoding::json);
  void fail_all(std::string const& message);
  /// Logs a line, or reports progress, for the n-th closure that it holds.
  void log(std::string const& text, std::size_t n = 0,
           server::log_level level = server::log_level::info);
  void progress(double fraction, std::string const& text, std::size_t n = 0);
  void wait(std::size_t n = 0);
  void lose(std::string const& reason);
  std::size_t holds();

  void on_dispatch(std::span<core::assignment const> batch) override;

 private:
  engine& engine_;
  habit const habit_;
};

/// Waits up to ten seconds for `condition`. Returns whether it became true.
bool eventually(std::function<bool()> const& condition);

}  // namespace muster::web::test
