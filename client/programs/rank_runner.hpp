// Runs program ranks for a worker. Passes the server's orders to launchers, and their reports to
// the server. See rank_side.hpp for threads.
#pragma once

#include <set>

#include "client/programs/devices.hpp"
#include "client/programs/kept_launchers.hpp"
#include "client/programs/last_stacks.hpp"
#include "client/programs/launchers.hpp"
#include "client/programs/lease.hpp"
#include "client/programs/program_options.hpp"
#include "client/programs/rank_table.hpp"
#include "client/programs/spool.hpp"
#include "client/programs/stack_files.hpp"
#include "client/programs/step_watch.hpp"
#include "client/programs/tunnels.hpp"
#include "client/programs/uploads.hpp"
#include "coro/engine_context.hpp"

namespace muster {

class rank_runner final : public rank_side {
 public:
  /// @pre o.address is not empty.
  explicit rank_runner(program_options o);

  void begin(coro::engine_context& engine, std::function<void()> wake) override;
  void offer(v1::ProgramsOffer& to) override;
  void welcomed(v1::ProgramsWelcome const& answer, std::string const& server) override;
  void take(v1::RankOrders const& orders) override;
  bool report(v1::WorkerMessage& to) override;
  bool reports() const override {
    return table_.reports() || has_answers() || last_stacks_.reports() || !steps_.empty() ||
           !held_steps_.empty();
  }
  std::chrono::milliseconds sign_of_life() const override { return lease_.sign_of_life(); }
  std::chrono::milliseconds leave() override;
  void kill() override;
  void end() override {
    uploads_.close();
    last_stacks_.close();
    launchers_.close();
    step_watch_.close();
    tunnels_.end();
  }
  bool settled() const override { return table_.settled(); }
  bool alive() const override { return table_.alive(); }

 private:
  /// Maximum number of reads of logs, last lines or stacks that are running or waiting to be sent.
  static constexpr std::size_t logs_max = 16;
  /// Maximum number of stack requests among these reads. Each request can block the disk thread for
  /// a second.
  static constexpr std::size_t stacks_max = 2;
  static constexpr std::size_t bytes_of_reports_max = std::size_t{128} << 10;

  /// Maximum number of step reports that wait for a server.
  static constexpr std::size_t steps_max = 4'096;

  /// Maximum number of uploads fetched in advance. Further uploads are fetched when their ranks are
  /// started.
  static constexpr std::size_t ahead_max = 16;

  void start(v1::StartRanks order);
  void prepare(v1::PrepareRanks const& order);
  std::uint64_t launcher_for(v1::StartRanks const& order);
  void keep(std::uint64_t launcher);
  void let_go(std::uint64_t launcher);
  void unpack(std::uint64_t launcher, v1::StartRanks order);
  void unpacked(std::uint64_t launcher, uploads::outcome const& what);
  void drop_ended_ranks(v1::StartRanks& order);
  void launch(std::uint64_t launcher, v1::StartRanks const& order);
  bool in_time() const { return std::chrono::steady_clock::now() < lease_.until(); }
  void refuse(v1::StartRanks const& order, v1::RankEnded const& why);
  void set_coordinator(v1::StartRanks& order);
  void stop(v1::StopRanks const& order);
  void stop(std::uint64_t launcher, v1::StopRanks const& order);
  void read(v1::RankOrders const& orders);
  bool has_answers() const {
    return !logs_.empty() || !last_lines_.empty() || !stacks_.empty() || !vitals_.empty();
  }
  void add_answers(v1::RankReports& to);
  void drop_queries();
  void stop_running(std::uint64_t launcher, v1::StopRanks const& order);
  last_stacks::pids running(std::uint64_t launcher, v1::StopRanks const& order);
  void read(v1::ReadLog const& query);
  void read(v1::ReadLastLines const& query);
  void read(v1::ReadStacks const& query);
  void hold(v1::HoldSteps const& order);
  void stop(v1::StopAfterStep const& order);
  void on_steps(step_watch::all_seen const& all);
  void report_steps(v1::RankReports& to);
  void read(v1::ReadVitals const& query);
  std::map<std::uint32_t, pid_t> alive_of(
      std::uint64_t program, std::uint32_t attempt,
      google::protobuf::RepeatedField<std::uint32_t> const& wanted);
  std::string line_of(v1::StartRanks const& order);
  void renew();
  void on_report(std::uint64_t launcher, std::string const& line);
  void on_gone(std::uint64_t launcher, bool started, std::string const& why);
  void ended(rank_key const& key, v1::RankEnded what);

  program_options const options_;
  std::optional<std::pair<uid_t, gid_t>> const owner_;
  coro::engine_context* engine_ = nullptr;
  std::function<void()> wake_;
  spool spool_;  // outlives the launchers, whose thread uses it
  stack_files stack_files_;
  step_watch step_watch_;
  last_stacks last_stacks_{stack_files_};
  lease lease_;
  devices devices_;
  tunnels tunnels_;
  rank_table table_;
  // For each launcher, the order that stops its ranks when the worker leaves.
  std::map<std::uint64_t, v1::StopRanks> attempts_;
  std::uint64_t last_launcher_ = 0;
  std::map<std::uint64_t, std::uint32_t> start_orders_;
  /// Launchers that are kept after their ranks have exited.
  std::set<std::uint64_t> reusable_launchers_;
  kept_launchers kept_;
  struct unpacking {
    v1::StartRanks order;
    std::string from;
  };
  std::map<std::uint64_t, unpacking> unpacking_;
  std::set<std::string> prefetching_;
  std::string server_, server_host_;
  std::deque<v1::RankLog> logs_;
  std::deque<v1::LastLines> last_lines_;
  std::deque<v1::RankStacks> stacks_;
  std::deque<v1::RankSteps> steps_;  // at most two reports per rank and second
  std::deque<v1::StepsHeld> held_steps_;
  std::deque<v1::RankVitals> vitals_;
  std::size_t reading_ = 0, taking_ = 0;
  bool agrees_on_steps_ = false;  // whether the server supports agreed steps
  std::uint64_t stream_ = 0;      // answers for earlier streams are dropped
  launchers launchers_;
  uploads uploads_;
};

}  // namespace muster
