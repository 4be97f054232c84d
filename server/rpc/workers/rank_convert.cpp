#include "server/rpc/workers/rank_convert.hpp"

#include <signal.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/utf8.hpp"

namespace muster::server {
namespace {

constexpr int held_max = 4'096;
constexpr int lines_max = 20;
constexpr std::size_t line_bytes_max = 1'024;
constexpr std::size_t stack_text_max = std::size_t{16} << 10, stack_process_max = 100;
constexpr std::size_t text_bytes_max = 1'024;
constexpr std::size_t address_bytes_max = 256;
constexpr std::uint64_t step_max = std::uint64_t{1} << 53;
constexpr std::size_t tunnel_key_bytes_min = 16, tunnel_key_bytes_max = 64;
constexpr std::uint32_t lease_ms_min = 1'000, lease_ms_max = 24u * 3'600 * 1'000;

muster::status wrong_offer(std::string const& field, std::string const& what) {
  return {code::invalid_argument, "hello.programs." + field + ": " + what};
}

core::rank_name from_wire(v1::RankName const& n) {
  return {core::program_id{n.program()}, n.attempt(), n.rank()};
}

// Converts arbitrary program output to UTF-8.
std::string shown(std::string_view bytes, std::size_t max) {
  return to_utf8(bytes.substr(0, max));
}

stack_state from_wire(v1::StackState s) {
  return v1::StackState_IsValid(s) ? static_cast<stack_state>(s) : stack_state::unknown;
}

core::rank_end from_wire(v1::RankEnded const& e) {
  core::rank_end to;
  to.name = from_wire(e.name());
  to.exit_status = e.exit_status();
  to.signal = e.signal();
  to.not_started = shown(e.not_started(), text_bytes_max);
  to.stopped = e.stopped();
  to.lease_ran_out = e.lease_ran_out();
  to.out_of_memory = e.out_of_memory();
  for (int i = 0; i < std::min(e.stderr_size(), lines_max); ++i)
    to.stderr_lines.push_back(shown(e.stderr(i), line_bytes_max));
  for (int i = 0; i < std::min(e.stdout_size(), lines_max); ++i)
    to.stdout_lines.push_back(shown(e.stdout(i), line_bytes_max));
  return to;
}

std::uint32_t ms(core::duration d) {
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(d).count());
}

void to_wire(core::rank_name const& n, v1::RankName& to) {
  to.set_program(core::raw(n.program));
  to.set_attempt(n.attempt);
  to.set_rank(n.rank);
}

void to_wire(core::attempt_sheet const& sheet, std::uint32_t rank, v1::StartRank& to) {
  auto const& task = sheet.tasks[rank];
  auto const& group = sheet.spec->tasks[task.group];
  to.set_rank(rank);
  to.set_type(group.type);
  to.set_index(task.index);
  auto const& command = group.command.empty() ? sheet.spec->command : group.command;
  to.mutable_command()->Add(command.begin(), command.end());
  for (auto const& [name, amount] : group.resources) (*to.mutable_resource())[name] = amount;
}

void to_wire(core::rank_orders::start const& s, v1::StartRanks& to) {
  auto const& sheet = *s.sheet;
  auto const& spec = *sheet.spec;
  to.set_program(core::raw(sheet.program));
  to.set_attempt(sheet.attempt);
  to.set_name(spec.name);
  for (auto const rank : s.ranks) to_wire(sheet, rank, *to.add_rank());
  v1::TaskType* type = nullptr;
  std::uint32_t group = ~0u;
  for (auto const& task : sheet.tasks) {
    if (task.group != group) {
      group = task.group;
      type = to.add_task();
      type->set_type(spec.tasks[group].type);
    }
    type->add_address(task.address);
  }
  to.set_own_service(sheet.own_service);
  to.set_meeting_point(sheet.meeting_point);
  to.set_max_restarts(spec.max_restarts);
  to.set_restart(sheet.restart);
  to.mutable_ends_with()->Add(spec.ends_with.begin(), spec.ends_with.end());
  for (auto const& [name, value] : spec.env) (*to.mutable_env())[name] = value;
  to.set_working_dir(spec.working_dir);
  to.set_upload(spec.upload);
  to.mutable_preload()->Add(spec.preload.begin(), spec.preload.end());
  to.set_step_pattern(spec.step_pattern);
  to.set_torch_store(sheet.store);
  to.set_grace_ms(ms(spec.grace));
}

}  // namespace

muster::result<std::optional<core::programs_offer>> offer_from_wire(v1::Hello const& hello) {
  if (!hello.has_programs()) return std::optional<core::programs_offer>();
  auto const& p = hello.programs();
  core::programs_offer offer{p.first_port(), p.last_port(), std::chrono::milliseconds(p.lease_ms()),
                             p.address()};
  if (p.first_port() == 0 || p.first_port() > p.last_port() || p.last_port() > 65'535)
    return wrong_offer("first_port", std::to_string(p.first_port()) + " to " +
                                         std::to_string(p.last_port()) +
                                         " is not a valid port range");
  if (p.lease_ms() < lease_ms_min || p.lease_ms() > lease_ms_max)
    return wrong_offer("lease_ms", "must be between a second and a day, got " +
                                       std::to_string(p.lease_ms()) + " ms");
  if (p.address().empty() || p.address().size() > address_bytes_max)
    return wrong_offer("address", "must have 1 to " + std::to_string(address_bytes_max) + " bytes");
  if (p.held_size() > held_max)
    return wrong_offer(
        "held", std::to_string(p.held_size()) + " ranks, the limit is " + std::to_string(held_max));
  offer.unpacks = p.unpacks();
  offer.preloads = p.preloads();
  offer.torch = p.torch();
  auto const& key = p.tunnel_key();
  if (!key.empty() && (key.size() < tunnel_key_bytes_min || key.size() > tunnel_key_bytes_max))
    return wrong_offer("tunnel_key", "must have 16 to 64 bytes, got " + std::to_string(key.size()));
  offer.tunnel_key = key;
  std::set<core::rank_name> seen;
  for (auto const& h : p.held()) {
    auto& held = offer.held.emplace_back();
    held.name = from_wire(h.name());
    held.pid = h.pid();
    held.not_preloaded = shown(h.not_preloaded(), text_bytes_max);
    if (h.has_ended()) {
      held.ended = from_wire(h.ended());
      held.ended->name = held.name;
    }
    if (!seen.insert(held.name).second) return wrong_offer("held", "a rank is listed twice");
  }
  return std::optional(std::move(offer));
}

std::string from_wire(v1::RankReports const& reports, core::rank_reports& to) {
  if (reports.started_size() > held_max)
    return "ranks.started: more than " + std::to_string(held_max) + " entries";
  if (reports.ended_size() > held_max)
    return "ranks.ended: more than " + std::to_string(held_max) + " entries";
  for (auto const& s : reports.started())
    to.started.push_back({from_wire(s.name()), s.pid(), shown(s.not_preloaded(), text_bytes_max)});
  for (auto const& e : reports.ended()) to.ended.push_back(from_wire(e));
  to.lease = reports.lease();
  return {};
}

void to_wire(core::rank_orders const& orders, v1::RankOrders& to) {
  for (auto const& s : orders.stops) {
    auto& stop = *to.add_stop();
    stop.set_program(core::raw(s.program));
    stop.set_attempt(s.attempt);
    stop.mutable_rank()->Add(s.ranks.begin(), s.ranks.end());
    if (s.by_step) stop.set_signal(SIGCONT);  // has no effect on a running process
    stop.set_grace_ms(ms(s.grace));
  }
  for (auto const& f : orders.forget) to_wire(f, *to.add_forget());
  for (auto const& s : orders.starts) to_wire(s, *to.add_start());
  for (auto const& p : orders.prepares) {
    auto& prepare = *to.add_prepare();
    prepare.set_program(core::raw(p.program));
    prepare.set_upload(p.upload);
  }
  if (orders.lease > 0) to.set_lease(orders.lease);
}

void to_wire(rank_log_query const& query, v1::ReadLog& to) {
  to.set_query(query.number);
  to_wire(query.rank, *to.mutable_name());
  to.set_offset(query.offset);
  to.set_from_end(query.from_end);
  to.set_bytes_max(query.bytes_max);
}

muster::result<rank_log> from_wire(v1::RankLog&& log) {
  if (log.busy())
    return muster::status{code::resource_exhausted,
                          "its worker is already reading too many logs; try again"};
  return rank_log{log.known(), log.offset(), std::move(*log.mutable_data()), log.size(),
                  log.complete()};
}

void to_wire(last_lines_query const& query, v1::ReadLastLines& to) {
  to.set_program(core::raw(query.program));
  to.set_attempt(query.attempt);
  to.mutable_rank()->Add(query.ranks.begin(), query.ranks.end());
  to.mutable_size()->Add(query.sizes.begin(), query.sizes.end());
}

last_lines_answer from_wire(v1::LastLines const& lines) {
  last_lines_answer answer{core::program_id{lines.program()}, lines.attempt(), {}};
  for (auto const& l : lines.line()) answer.lines.push_back({l.rank(), l.size(), l.text()});
  return answer;
}

void to_wire(stacks_query const& query, v1::ReadStacks& to) {
  to.set_query(query.number);
  to.set_program(core::raw(query.program));
  to.set_attempt(query.attempt);
  to.mutable_rank()->Add(query.ranks.begin(), query.ranks.end());
}

void to_wire(vitals_query const& query, v1::ReadVitals& to) {
  to.set_query(query.number);
  to.set_program(core::raw(query.program));
  to.set_attempt(query.attempt);
  to.mutable_rank()->Add(query.ranks.begin(), query.ranks.end());
}

vitals_answer from_wire(v1::RankVitals const& vitals) {
  vitals_answer answer{vitals.query(), {}};
  for (auto const& v : vitals.rank())
    answer.ranks.push_back({.rank = v.rank(),
                            .state = static_cast<char>(v.state() & 0x7F),
                            .cpu_ms = v.cpu_ms(),
                            .io_bytes = v.io_bytes(),
                            .faults = v.faults(),
                            .output = v.output(),
                            .wakeups = v.wakeups()});
  return answer;
}

// Both enumerations use the same numbers, except for states that only the server sets.
static_assert(static_cast<int>(stack_state::unknown) == v1::STACK_UNKNOWN);
static_assert(static_cast<int>(stack_state::taken) == v1::STACK_TAKEN);
static_assert(static_cast<int>(stack_state::not_python) == v1::STACK_NOT_PYTHON);
static_assert(static_cast<int>(stack_state::stopped) == v1::STACK_STOPPED);
static_assert(static_cast<int>(stack_state::in_kernel) == v1::STACK_IN_KERNEL);
static_assert(static_cast<int>(stack_state::no_answer) == v1::STACK_NO_ANSWER);
static_assert(static_cast<int>(stack_state::off) == v1::STACK_OFF);
static_assert(static_cast<int>(stack_state::native) == v1::STACK_NATIVE);

stacks_answer from_wire(v1::RankStacks const& stacks) {
  stacks_answer answer{stacks.query(), stacks.busy(), {}};
  for (auto const& s : stacks.stack())
    answer.stacks.push_back({s.rank(), from_wire(s.state()), shortened(s.text(), stack_text_max),
                             shortened(s.process(), stack_process_max)});
  return answer;
}

void to_wire(doctor::hold_steps const& order, v1::HoldSteps& to) {
  to.set_query(order.query);
  to.set_program(core::raw(order.program));
  to.set_attempt(order.attempt);
}

void to_wire(doctor::stop_after const& order, v1::StopAfterStep& to) {
  to.set_program(core::raw(order.program));
  to.set_attempt(order.attempt);
  to.set_step(order.step.value_or(0));
  to.set_go_on(!order.step);
}

// Ignores ranks without a step, and implausible steps.
doctor::steps_held from_wire(v1::StepsHeld const& held) {
  doctor::steps_held to{held.query(), {}};
  for (int i = 0; i < std::min({held.rank_size(), held.step_size(), held_max}); ++i)
    if (held.step(i) <= step_max) to.ranks.emplace_back(held.rank(i), held.step(i));
  return to;
}

std::string from_wire(v1::StepsReport const& steps, std::vector<doctor::step_table::report>& to) {
  using doctor::step_report;
  std::string const field = "ranks.steps.";
  if (steps.rank_size() > held_max)
    return field + "rank: more than " + std::to_string(held_max) + " entries";
  if (steps.clock_us() > step_max) return field + "clock_us: must be at most 2^53";
  auto const at = [](std::uint64_t us) { return core::duration(static_cast<std::int64_t>(us)); };
  for (auto const& r : steps.rank()) {
    if (r.mark_step_size() > static_cast<int>(step_report::marks_max))
      return field + "rank.mark_step: " + std::to_string(r.mark_step_size()) + ", the limit is " +
             std::to_string(step_report::marks_max);
    if (r.mark_us_size() != r.mark_step_size())
      return field + "rank.mark_us: must have the same length as mark_step";
    if (r.step() > step_max) return field + "rank.step: must be at most 2^53";
    if (r.at_us() > steps.clock_us()) return field + "rank.at_us: must not be later than clock_us";
    step_report one{r.name().rank(), r.step(), at(r.at_us()), {}, r.left_out()};
    for (int i = 0; i < r.mark_step_size(); ++i) {
      if (r.mark_step(i) > r.step() || r.mark_us(i) > r.at_us())
        return field + "rank.mark_step: must not be later than the last step";
      one.marks.push_back({r.mark_step(i), at(r.mark_us(i))});
    }
    core::program_id const program{r.name().program()};
    auto report = std::find_if(to.begin(), to.end(), [&](auto const& known) {
      return known.program == program && known.attempt == r.name().attempt();
    });
    if (report == to.end())
      report = to.insert(to.end(), {program, r.name().attempt(), at(steps.clock_us()), {}});
    report->ranks.push_back(std::move(one));
  }
  return {};
}

ranks_killed from_wire(v1::LastStacks const& stacks) {
  ranks_killed killed{core::program_id{stacks.program()}, stacks.attempt(), {}};
  for (auto const& s : stacks.stack())
    killed.where.push_back({from_wire(s.state()),
                            shown(s.text(), stack_text_max),
                            shown(s.process(), stack_process_max),
                            {s.rank().begin(), s.rank().end()}});
  return killed;
}

muster::result<task_stack> from_wire(v1::TaskStack const& s) {
  if (s.busy())
    return muster::status{code::resource_exhausted,
                          "its worker is already taking too many stacks; try again"};
  return task_stack{from_wire(s.state()), shown(s.text(), stack_text_max),
                    shown(s.process(), stack_process_max), s.pid()};
}

}  // namespace muster::server
