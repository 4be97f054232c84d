#include "server/core/coordination/cluster.hpp"

#include <algorithm>
#include <utility>

namespace muster::core::coordination {
namespace {

constexpr std::size_t past_max = 16;
constexpr std::size_t retired_max = 16;
constexpr std::size_t retired_tasks_max = 200'000;

}  // namespace

cluster::cluster(cluster_spec spec, limits const& l, incarnation_source& source, change_log log,
                 bool known)
    : limits_(l), source_(source), spec_(std::move(spec)), log_(log) {
  start_generation();
  if (known) return;
  append_declared(declared_why::created, log_);
  append_begun(begun_why::created, log_);
}

void cluster::start_generation() {
  generation_ = {generation_.number + 1, source_.next()};
  current_ = std::make_unique<service>(spec_, limits_, generation_, log_);
}

void cluster::append_declared(declared_why why, change_log const& log) const {
  log.note(cluster_declared{std::make_shared<cluster_spec const>(spec_),
                            next_ ? std::make_shared<cluster_spec const>(*next_) : nullptr, why});
}

void cluster::append_begun(begun_why why, change_log const& log) const {
  log.note(generation_begun{generation_.number, generation_.incarnation, why,
                            why == begun_why::redeclared});
}

void cluster::begin_again() {
  spec_ = std::move(*next_);
  next_.reset();
  auto const before = std::move(current_);
  --generation_.number;
  append_declared(declared_why::in_force, log_);
  start_generation();
  append_begun(begun_why::redeclared, log_);
  current_->inherit(*before);
}

void cluster::renew(time_point now, effects& fx) {
  if (!closed_) current_->stop(now, fx);
  closed_ = false;
  ended_generations_.push_front(current_->view(now));
  if (!over()) break_off(ended_generations_.front(), now);
  if (next_) {
    spec_ = std::move(*next_);
    next_.reset();
    append_declared(declared_why::in_force, log_);
  }
  if (ended_generations_.size() > past_max) ended_generations_.pop_back();
  auto const& cause = ended_generations_.front().cause;
  retire(cause ? cause->message : std::string());
  start_generation();
  append_begun(begun_why::renewed, log_);
}

void cluster::break_off(generation_view& g, time_point now) {
  g.state = generation_state::failed;
  g.ended = now;
  if (!g.cause) g.cause = first_cause{{}, {}, "its tasks were restarted", now};
}

void cluster::remember(generation_view g) {
  if (g.number >= generation_.number) return;
  auto const at = std::find_if(ended_generations_.begin(), ended_generations_.end(),
                               [&g](auto const& known) { return known.number <= g.number; });
  if (at != ended_generations_.end() && at->number == g.number) return;
  ended_generations_.insert(at, std::move(g));
  if (ended_generations_.size() > past_max) ended_generations_.pop_back();
}

// REQUIRES: the current generation is stopped.
void cluster::retire(std::string cause) {
  retired old{current_->which(), std::move(cause), current_->incarnations(), current_->peers()};
  std::sort(old.tasks.begin(), old.tasks.end());
  std::sort(old.peers.begin(), old.peers.end());
  retired_.push_front(std::move(old));
  auto const room = retired_tasks_max / std::max<std::size_t>(1, spec_.size());
  if (retired_.size() > std::clamp<std::size_t>(room, 1, retired_max)) retired_.pop_back();
}

// Members are identified by incarnation, or by address if the call contains no incarnation.
fault_ptr cluster::retired_fault(request const& request_of_any) const {
  return std::visit(
      [this](auto const& r) -> fault_ptr {
        using request_type = std::decay_t<decltype(r)>;
        constexpr bool registers = std::is_same_v<request_type, register_task>;
        auto const now = current_->which();
        auto const told = [&](retired const& old, fault f) {
          f.message +=
              "generation " + std::to_string(old.which.number) + " of cluster '" + spec_.name +
              "', which has ended" +
              (old.cause.empty() ? "" : " (first cause: " + shortened(old.cause, 1'500) + ")") +
              "; generation " + std::to_string(now.number) + " has taken its place.";
          return std::make_shared<fault const>(std::move(f));
        };
        fault member{.code = code::aborted, .message = "The task belongs to "};
        for (auto const& old : retired_) {
          if constexpr (!registers) {
            auto const& believed = r.from.service;
            if (believed && *believed != now.incarnation && *believed == old.which.incarnation) {
              auto f = wrong_service(*believed, now.incarnation);
              f.message += ". The former is ";
              return told(old, std::move(f));
            }
            // Reading states has no effect, and the caller may be about to register.
            constexpr bool only_asks = std::is_same_v<request_type, get_task_state>;
            if (!only_asks && !believed && !r.from.peer.empty() &&
                !current_->knows_peer(r.from.peer) &&
                std::binary_search(old.peers.begin(), old.peers.end(), r.from.peer))
              return told(old, std::move(member));
          }
          if constexpr (registers || std::is_same_v<request_type, heartbeat>)
            if (std::binary_search(old.tasks.begin(), old.tasks.end(), r.incarnation) &&
                !current_->knows(r.incarnation))
              return told(old, std::move(member));
        }
        return nullptr;
      },
      request_of_any);
}

bool cluster::over() const {
  auto const s = current_->state();
  return s == generation_state::finished || s == generation_state::failed;
}

// No task has registered and no call waits, so a restart has no visible effect.
bool cluster::is_unused() const {
  return current_->state() == generation_state::waiting && current_->parked_calls() == 0;
}

// A declaration is not applied in the step that ends the generation, because requests and replies
// of that step contain task indices of the old declaration. One tick answers the parked calls; the
// next tick starts the new generation.
bool cluster::has_pending_declaration() const {
  return next_ && !stopped_ && (is_unused() || (spec_.renew && over()));
}

bool cluster::perform(time_point now, request& r, effects& fx) {
  if (refuse_during_redeclare(r, fx)) return false;
  if (!retired_.empty() && !stopped_)
    if (auto f = retired_fault(r)) {
      auto const call = std::visit([](auto const& q) { return q.from.call; }, r);
      fx.replies.push_back({call, std::move(f), {}});
      return false;
    }
  if (auto const* registration = std::get_if<register_task>(&r)) {
    // A member of a failed run is not accepted again.
    if (over() && spec_.renew && !stopped_ && registration->task.index != no_task &&
        !current_->knows(registration->incarnation))
      renew(now, fx);
  }
  current_->perform(now, r, fx);
  return true;
}

bool cluster::refuse_during_redeclare(request const& r, effects& fx) const {
  auto const* registration = std::get_if<register_task>(&r);
  if (registration == nullptr || !(closed_ || has_pending_declaration())) return false;
  fx.replies.push_back(
      {registration->from.call,
       refusal(code::unavailable, "cluster '" + spec_.name + "' is being redeclared; try again",
               false),
       {}});
  return true;
}

void cluster::tick(time_point now, effects& fx) {
  if (closed_) return renew(now, fx);
  if (!has_pending_declaration()) return current_->tick(now, fx);
  if (is_unused()) return begin_again();
  close(now, fx);
}

void cluster::close(time_point now, effects& fx) {
  if (std::exchange(closed_, true)) return;
  current_->stop(now, fx);
}

void cluster::end_generation(time_point now, cluster_spec spec, effects& fx) {
  next_ = std::move(spec);
  append_declared(declared_why::redeclared, log_);
  close(now, fx);
}

status cluster::give_up(time_point now, fail_cluster const& e, effects& fx) {
  auto const which =
      "generation " + std::to_string(generation_.number) + " of cluster '" + spec_.name + "' ";
  if (closed_ || over()) return {code::failed_precondition, which + "has already ended"};
  if (is_unused()) return {code::failed_precondition, which + "has no tasks yet"};
  current_->give_up(now, task_fault(no_task, e.code, e.message), e.refuses, fx);
  return {};
}

time_point cluster::next_deadline(time_point now) const {
  if (closed_) return now + duration(1);
  return has_pending_declaration() ? now : current_->next_deadline();
}

bool cluster::redeclare(cluster_spec spec, effects& fx) {
  auto const& declared = next_ ? *next_ : spec_;
  if (spec == declared) return false;
  incidents::cluster_changed changed{declared.jobs, spec.jobs, {}};
  if (spec == spec_) {
    next_.reset();
    append_declared(declared_why::redeclared, log_);
    changed.when = incidents::takes_effect::as_it_is;
  } else {
    next_ = std::move(spec);
    append_declared(declared_why::redeclared, log_);
    auto const at_once = is_unused();
    if (at_once) begin_again();
    changed.when = at_once                     ? incidents::takes_effect::at_once
                   : !spec_.renew              ? incidents::takes_effect::never
                   : has_pending_declaration() ? incidents::takes_effect::with_new_generation
                                               : incidents::takes_effect::with_next_generation;
  }
  fx.changes.incidents.push_back({spec_.name, std::move(changed)});
  return true;
}

void cluster::listens(std::uint16_t port, bool journalled, effects& fx) {
  if (port == port_) return;
  if (port_ != 0)
    fx.changes.incidents.push_back({spec_.name, incidents::port_changed{port_, port}});
  port_ = port;
  if (journalled) fx.facts.push_back(declaration(false));
}

void cluster::stop(time_point now, effects& fx) {
  stopped_ = true;
  current_->stop(now, fx);
}

void cluster::append_records(changes const& step, std::size_t first, std::vector<fact>& out) const {
  if (stopped_ || step.list.size() == first) return;
  touched const by(step, first);
  if (by.anew) {
    // The record includes state inherited from the previous generation.
    out.push_back(declaration(true));
    return current_->append_all_records(out);
  }
  if (by.declared) out.push_back(declaration(false));
  current_->append_changed_records(by, out);
}

fact cluster::declaration(bool anew) const {
  auto f = current_->facts();
  f.spec = spec_;
  f.next = next_;
  f.port = port_;
  f.anew = anew;
  return {spec_.name, std::move(f)};
}

void cluster::append_all_records(std::vector<fact>& out) const {
  out.push_back(declaration(false));
  current_->append_all_records(out);
}

void cluster::write_state(change_log const& log) const {
  append_declared(declared_why::known, log);
  append_begun(begun_why::known, log);
  current_->write_state(log);
}

void cluster::restore(restored_cluster const& r, time_point now) {
  spec_ = r.cluster.spec;
  next_ = r.cluster.next;
  port_ = r.cluster.port;
  generation_ = {r.cluster.generation, r.cluster.incarnation};
  current_ = std::make_unique<service>(spec_, limits_, generation_, log_);
  append_declared(declared_why::known, log_);
  append_begun(begun_why::known, log_);
  current_->restore(r, now);
}

cluster_view cluster::view(time_point now) const {
  return {spec_,
          next_,
          {},
          current_->view(now),
          {ended_generations_.begin(), ended_generations_.end()}};
}

}  // namespace muster::core::coordination
