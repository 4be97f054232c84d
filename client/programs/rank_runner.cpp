#include "client/programs/rank_runner.hpp"

#include <pwd.h>
#include <signal.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>
#include <stdexcept>

#include "base/host_port.hpp"
#include "client/log_line.hpp"
#include "client/programs/order_lines.hpp"

namespace muster {
namespace {

namespace json = boost::json;
using clock = std::chrono::steady_clock;

std::string visible_devices() {
  auto const* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible ? visible : "";
}

std::uint32_t gpus_of(program_options const& o) {
  auto const it = o.resources.find("gpu");
  return it == o.resources.end() ? 0 : it->second;
}

// Replaces a wildcard address with the server's host.
std::string reached_at(std::string const& address, std::string const& server_host) {
  auto a = host_port::parse(address);
  if (a.host == "0.0.0.0" || a.host == "::" || a.host.empty()) a.host = server_host;
  return a.text();
}

std::optional<std::pair<uid_t, gid_t>> owner_of_files(std::string const& user) {
  if (user.empty()) return {};
  auto const* entry = ::getpwnam(user.c_str());
  if (!entry) throw std::runtime_error("there is no user '" + user + "' on this host");
  return std::pair(entry->pw_uid, entry->pw_gid);
}

// Returns the RANK of torch.distributed, or nullopt if the rank does not use torch.distributed.
std::optional<std::uint32_t> torch_rank(v1::StartRanks const& order, v1::StartRank const& rank) {
  if (rank.type() == "ps" || rank.type() == "evaluator") return {};
  std::uint32_t before = 0;
  for (auto const& type : order.task()) {
    if (type.type() == rank.type()) break;
    if (type.type() != "ps" && type.type() != "evaluator")
      before += static_cast<std::uint32_t>(type.address_size());
  }
  return before + rank.index();
}

v1::RankEnded late() {
  auto e = not_started("this worker had no contact with the server for longer than its lease");
  e.set_lease_ran_out(true);
  return e;
}

}  // namespace

rank_runner::rank_runner(program_options o)
    : options_(std::move(o)),
      owner_(owner_of_files(options_.user)),
      spool_(options_.directory),
      stack_files_(spool_.stacks(), spool_.works(), owner_, options_.stack_signal,
                   {options_.stack_reader, owner_}),
      step_watch_({spool_.steps(), owner_},
                  [this](step_watch::all_seen all) {
                    engine_->post([this, all = std::move(all)] { on_steps(all); });
                  }),
      lease_(options_.lease),
      devices_(gpus_of(options_), visible_devices()),
      tunnels_({.tls = options_.tls, .token = options_.token}),
      launchers_(options_.launcher,
                 {[this](std::uint64_t id, std::string line) {
                    engine_->post([this, id, line = std::move(line)] { on_report(id, line); });
                  },
                  [this](std::uint64_t id, std::uint32_t orders, bool started, std::string why) {
                    engine_->post([this, id, orders, started, why = std::move(why)] {
                      auto const known = start_orders_.find(id);
                      if (known != start_orders_.end() && known->second == orders)
                        on_gone(id, started, why);
                    });
                  }}),
      uploads_({spool_.uploads(), options_.cache_bytes_max, options_.cache_age}, options_.tls,
               options_.token) {}

void rank_runner::begin(coro::engine_context& engine, std::function<void()> wake) {
  engine_ = &engine;
  wake_ = std::move(wake);
  last_stacks_.begin(engine, wake_);
}

void rank_runner::offer(v1::ProgramsOffer& to) {
  to.set_first_port(options_.first_port);
  to.set_last_port(options_.last_port);
  to.set_lease_ms(static_cast<std::uint32_t>(options_.lease.count()));
  to.set_address(options_.address);
  to.set_unpacks(true);
  to.set_preloads(true);
  to.set_torch(true);
  to.set_tunnel_key(tunnels_.key());
  table_.offer(to);
  lease_.greeted(clock::now());
  drop_queries();  // keeps steps_, because the server charts missed steps
  held_steps_.clear();
  last_stacks_.offer(table_.attempts());
}

void rank_runner::welcomed(v1::ProgramsWelcome const& answer, std::string const& server) {
  server_ = server;
  tunnels_.follow(server);
  agrees_on_steps_ = answer.agrees_on_steps();
  step_watch_.report_again();
  server_host_ = host_port::parse(server.substr(0, server.find(','))).host;
  if (lease_.came_back(0)) renew();
  for (auto const& key : table_.settle(answer)) {
    v1::StopRanks unwanted;
    unwanted.set_program(key.program);
    unwanted.set_attempt(key.attempt);
    unwanted.add_rank(key.rank);
    stop(unwanted);
  }
}

void rank_runner::take(v1::RankOrders const& orders) {
  if (orders.lease() != 0 && lease_.came_back(orders.lease())) renew();
  for (auto const& order : orders.stop()) stop(order);
  for (auto const& name : orders.forget()) {
    table_.forget(key_of(name));
    last_stacks_.forget(key_of(name));
  }
  for (auto const& order : orders.start()) start(order);
  for (auto const& order : orders.prepare()) prepare(order);
  read(orders);
  for (auto const& order : orders.hold_steps()) hold(order);
  for (auto const& order : orders.stop_after_step()) stop(order);
}

// Renews the lease of a kept launcher, which could expire before the order arrives.
std::uint64_t rank_runner::launcher_for(v1::StartRanks const& order) {
  if (auto const kept = kept_.take(order.program(), clock::now() + options_.lease / 8); kept) {
    launchers_.tell(*kept, lease_line(lease_.until()));
    return *kept;
  }
  return ++last_launcher_;
}

void rank_runner::keep(std::uint64_t launcher) {
  if (auto const goes = kept_.keep(attempts_[launcher].program(), launcher, lease_.until()); goes)
    launchers_.dismiss(*goes);
}

// Keeps the launcher for the next attempt again, if it was kept before.
void rank_runner::let_go(std::uint64_t launcher) {
  if (reusable_launchers_.contains(launcher)) return keep(launcher);
  attempts_.erase(launcher);
}

void rank_runner::start(v1::StartRanks order) {
  google::protobuf::RepeatedPtrField<v1::StartRank> fresh;
  for (auto& rank : *order.mutable_rank()) {
    rank_key const key{order.program(), order.attempt(), rank.rank()};
    table_.find(key) ? table_.report_again(key) : void(*fresh.Add() = std::move(rank));
  }
  order.mutable_rank()->Swap(&fresh);
  if (order.rank().empty()) return;
  auto const launcher = launcher_for(order);
  for (auto const& rank : order.rank()) {
    auto& held = table_.add({order.program(), order.attempt(), rank.rank()}, launcher);
    auto const gpus = rank.resource().find("gpu");
    if (gpus != rank.resource().end()) held.devices = devices_.take(gpus->second);
  }
  std::optional<v1::RankEnded> why_not;
  if (!in_time()) why_not = late();
  try {
    if (!why_not) set_coordinator(order);
  } catch (std::exception const& e) {
    why_not =
        not_started(std::string("no port is free for the coordinator of the program: ") + e.what());
  }
  if (why_not) {
    refuse(order, *why_not);
    return let_go(launcher);
  }
  auto& by_itself = attempts_[launcher];
  by_itself.set_program(order.program());
  by_itself.set_attempt(order.attempt());
  by_itself.set_grace_ms(order.grace_ms());
  order.upload().empty() ? launch(launcher, order) : unpack(launcher, std::move(order));
}

// A missing upload is not a failure of the program. If the worker is now connected to a different
// server, it requests the upload from that server. Otherwise, the ranks count as stopped.
void rank_runner::unpacked(std::uint64_t launcher, uploads::outcome const& what) {
  auto const waited = unpacking_.extract(launcher);
  if (!waited) return;
  auto& [order, from] = waited.mapped();
  if (!what.why_not.empty() && !what.is_unavailable) {
    launchers_.dismiss(launcher);  // the launcher may have been kept
    return on_gone(launcher, false, what.why_not);
  }
  drop_ended_ranks(order);
  if (order.rank().empty()) return let_go(launcher);
  if (what.is_unavailable && from != server_) return unpack(launcher, std::move(order));
  order.clear_upload();
  if (!what.is_unavailable && in_time()) return launch(launcher, order);
  auto why = late();
  if (what.is_unavailable && in_time()) {
    why = not_started(what.why_not);
    why.set_stopped(true);
  }
  refuse(order, why);
  let_go(launcher);
}

void rank_runner::launch(std::uint64_t launcher, v1::StartRanks const& order) {
  if (!order.preload().empty()) reusable_launchers_.insert(launcher);
  ++start_orders_[launcher];
  launchers_.expect(launcher);
  std::vector<rank_key> keys;
  for (auto const& rank : order.rank())
    step_watch_.add(keys.emplace_back(rank_key{order.program(), order.attempt(), rank.rank()}));
  launchers_.post_to_disk([this, launcher, line = line_of(order), in_use = table_.attempts(),
                           keys = std::move(keys),
                           name = spool::attempt_name(order.program(), order.attempt())] {
    try {
      spool_.make(name, in_use);
      stack_files_.tidy();
      step_watch_.files().tidy(in_use);
      for (auto const& key : keys) {
        step_watch_.files().make(key);
        step_watch_.made(key);
      }
    } catch (std::exception const& e) {
      engine_->post(
          [this, launcher, why = std::string(e.what())] { on_gone(launcher, false, why); });
      return;
    }
    launchers_.start(launcher, line);
  });
}

void rank_runner::set_coordinator(v1::StartRanks& order) {
  if (order.coordinated())
    order.set_coordinator(tunnels_.open(order.program(), order.attempt()));
  else if (!order.coordinator().empty())
    order.set_coordinator(reached_at(order.coordinator(), server_host_));
  if (!order.torch_store()) return;
  for (auto& rank : *order.mutable_rank())
    if (auto const number = torch_rank(order, rank))
      rank.set_store(tunnels_.open(order.program(), order.attempt(), number));
}

void rank_runner::refuse(v1::StartRanks const& order, v1::RankEnded const& why) {
  for (auto const& rank : order.rank()) ended({order.program(), order.attempt(), rank.rank()}, why);
}

std::string rank_runner::line_of(v1::StartRanks const& order) {
  start_settings settings{.directories = spool_.directories_of(order.program(), order.attempt()),
                          .user = options_.user,
                          .devices = {},
                          .lease_until = lease_.until(),
                          .stacks = stack_files_.of_ranks(),
                          .steps = step_watch_.files().prefix(order.program(), order.attempt())};
  for (auto const& rank : order.rank()) {
    if (gpus_of(options_) == 0) break;
    auto& names = settings.devices[rank.rank()];  // creates an entry even without devices
    for (auto const& d : table_.find({order.program(), order.attempt(), rank.rank()})->devices)
      names += (names.empty() ? "" : ",") + d;
  }
  return start_line(order, settings);
}

bool rank_runner::report(v1::WorkerMessage& to) {
  if (auto const number = lease_.number(clock::now())) to.mutable_ranks()->set_lease(number);
  if (last_stacks_.reports()) last_stacks_.report(*to.mutable_ranks());
  if (table_.reports()) table_.report(*to.mutable_ranks(), bytes_of_reports_max);
  if (has_answers()) add_answers(*to.mutable_ranks());
  if (!steps_.empty() || !held_steps_.empty()) report_steps(*to.mutable_ranks());
  return reports();
}

void rank_runner::on_report(std::uint64_t launcher, std::string const& line) {
  auto const of = attempts_.find(launcher);
  if (of == attempts_.end()) return;
  boost::system::error_code error;
  auto const report = json::parse(line, error);
  if (error || !report.is_object()) return;
  auto const& all = report.as_object();
  rank_key key{of->second.program(), of->second.attempt(), 0};
  if (auto const* s = all.if_contains("started")) {
    key.rank = s->at("rank").to_number<std::uint32_t>();
    std::string const why(s->at("not_preloaded").as_string());
    table_.started(key, s->at("pid").to_number<std::uint32_t>(), why);
    if (!why.empty()) log(log_level::warning, "a rank starts without preload: " + why);
  }
  if (auto const* e = all.if_contains("ended")) {
    key.rank = e->at("rank").to_number<std::uint32_t>();
    ended(key, end_of(json::serialize(*e)));
    if (reusable_launchers_.contains(launcher) && table_.alive_of(launcher).empty()) keep(launcher);
  }
  wake_();
}

// Ranks without a reported exit were killed with their launcher. Ranks that a reused launcher had
// not started count as stopped, not as failed: the next attempt uses a new launcher. A kept
// launcher whose ranks are still waiting for their upload is replaced when they start.
void rank_runner::on_gone(std::uint64_t launcher, bool started, std::string const& why) {
  if (unpacking_.contains(launcher)) return void(reusable_launchers_.erase(launcher));
  auto const orders = start_orders_.find(launcher);
  bool const stayed = orders != start_orders_.end() && orders->second > 1;
  for (auto const& key : table_.alive_of(launcher)) {
    v1::RankEnded e;
    if (started && table_.find(key)->pid != 0) {
      e.set_signal(SIGKILL);
      e.add_stderr(why);
    } else {
      e.set_not_started(why.empty() ? "the launcher exited before the rank started" : why);
      e.set_stopped(stayed);
    }
    ended(key, std::move(e));
  }
  attempts_.erase(launcher);
  reusable_launchers_.erase(launcher);
  kept_.gone(launcher);
  start_orders_.erase(launcher);
  launchers_.forget(launcher);
  if (!why.empty()) log(log_level::warning, "a rank launcher failed: " + why);
}

void rank_runner::ended(rank_key const& key, v1::RankEnded what) {
  last_stacks_.ended(key, what);
  auto taken = table_.ended(key, std::move(what));
  step_watch_.ended(key);
  devices_.give_back(taken);
  if (table_.launchers_of(key.program, key.attempt).empty())
    tunnels_.close(key.program, key.attempt);
  wake_();
}

}  // namespace muster
