#include <utility>

#include "client/programs/rank_runner.hpp"
#include "client/programs/vitals.hpp"

namespace muster {

void rank_runner::read(v1::RankOrders const& orders) {
  for (auto const& query : orders.read()) read(query);
  for (auto const& query : orders.last_lines()) read(query);
  for (auto const& query : orders.vitals()) read(query);  // first, because stacks take longer
  for (auto const& query : orders.stacks()) read(query);
}

void rank_runner::add_answers(v1::RankReports& to) {
  auto const move_first = [](auto& from, auto& into) {
    if (from.empty()) return;
    *into.Add() = std::move(from.front());
    from.pop_front();
  };
  move_first(logs_, *to.mutable_log());  // each can fill a message
  move_first(last_lines_, *to.mutable_last_lines());
  move_first(stacks_, *to.mutable_stacks());
  move_first(vitals_, *to.mutable_vitals());
}

void rank_runner::drop_queries() {
  ++stream_;
  reading_ = taking_ = 0;
  logs_.clear();
  last_lines_.clear();
  stacks_.clear();
  vitals_.clear();
}

void rank_runner::read(v1::ReadLog const& query) {
  auto const key = key_of(query.name());
  v1::RankLog answer;
  answer.set_query(query.query());
  if (reading_ + logs_.size() >= logs_max) {
    answer.set_busy(true);
    logs_.push_back(std::move(answer));
    return wake_();
  }
  auto const* held = table_.find(key);
  answer.set_complete(!held || held->ended);
  ++reading_;
  launchers_.post_to_disk([this, key, query, answer, stream = stream_]() mutable {
    if (auto found = spool_.read(key.program, key.attempt, key.rank, query.offset(),
                                 query.from_end(), query.bytes_max())) {
      answer.set_known(true);
      answer.set_offset(found->offset);
      answer.set_size(found->size);
      answer.set_data(std::move(found->data));
    }
    engine_->post([this, stream, answer = std::move(answer)]() mutable {
      if (stream != stream_) return;
      --reading_;
      logs_.push_back(std::move(answer));
      wake_();
    });
  });
}

// Sends one message for all ranks. Ranks that did not fit are requested again by the server.
void rank_runner::read(v1::ReadLastLines const& query) {
  v1::LastLines answer;
  answer.set_program(query.program());
  answer.set_attempt(query.attempt());
  if (reading_ + last_lines_.size() >= logs_max) {
    last_lines_.push_back(std::move(answer));
    return wake_();
  }
  ++reading_;
  launchers_.post_to_disk([this, query, answer, stream = stream_]() mutable {
    for (int i = 0; i < query.rank_size() && answer.ByteSizeLong() < bytes_of_reports_max; ++i) {
      auto const known = i < query.size_size() ? query.size(i) : 0;
      auto found = spool_.last_line(query.program(), query.attempt(), query.rank(i), known);
      if (!found) continue;
      auto& line = *answer.add_line();
      line.set_rank(query.rank(i));
      line.set_size(found->size);
      line.set_text(std::move(found->text));
    }
    engine_->post([this, stream, answer = std::move(answer)]() mutable {
      if (stream != stream_) return;
      --reading_;
      last_lines_.push_back(std::move(answer));
      wake_();
    });
  });
}

std::map<std::uint32_t, pid_t> rank_runner::alive_of(
    std::uint64_t program, std::uint32_t attempt,
    google::protobuf::RepeatedField<std::uint32_t> const& wanted) {
  std::map<std::uint32_t, pid_t> pids;
  for (auto const rank : wanted) {
    auto const* held = table_.find({program, attempt, rank});
    if (held && !held->ended && held->pid != 0) pids[rank] = static_cast<pid_t>(held->pid);
  }
  return pids;
}

// A query is not answered while too many queries are in progress; the server repeats it.
void rank_runner::read(v1::ReadVitals const& query) {
  if (reading_ + vitals_.size() >= logs_max) return;
  auto const pids = alive_of(query.program(), query.attempt(), query.rank());
  ++reading_;
  launchers_.post_to_disk([this, pids, query, stream = stream_]() mutable {
    v1::RankVitals answer;
    answer.set_query(query.query());
    for (auto const& [rank, v] : vitals_of(pids)) {
      auto& to = *answer.add_rank();
      to.set_rank(rank);
      to.set_state(static_cast<unsigned char>(v.state));
      to.set_cpu_ms(v.cpu_ms);
      to.set_io_bytes(v.io_bytes);
      to.set_faults(v.faults);
      to.set_wakeups(v.wakeups);
      to.set_output(spool_.size_of(query.program(), query.attempt(), rank));
    }
    engine_->post([this, stream, answer = std::move(answer)]() mutable {
      if (stream != stream_) return;
      --reading_;
      vitals_.push_back(std::move(answer));
      wake_();
    });
  });
}

// Blocks the disk thread for at most a second.
void rank_runner::read(v1::ReadStacks const& query) {
  v1::RankStacks answer;
  answer.set_query(query.query());
  if (taking_ >= stacks_max || reading_ + stacks_.size() >= logs_max) {
    answer.set_busy(true);
    stacks_.push_back(std::move(answer));
    return wake_();
  }
  auto const pids = alive_of(query.program(), query.attempt(), query.rank());
  ++reading_, ++taking_;
  launchers_.post_to_disk([this, pids, answer, stream = stream_]() mutable {
    stack_files_.take(pids, answer);
    engine_->post([this, stream, answer = std::move(answer)]() mutable {
      if (stream != stream_) return;
      --reading_, --taking_;
      stacks_.push_back(std::move(answer));
      wake_();
    });
  });
}

void rank_runner::hold(v1::HoldSteps const& order) {
  auto answer = [this, query = order.query(),
                 stream = stream_](step_watch::last_steps const& last) {
    v1::StepsHeld held;
    held.set_query(query);
    for (auto const& [rank, step] : last) {
      held.add_rank(rank);
      held.add_step(step);
    }
    engine_->post([this, stream, held = std::move(held)]() mutable {
      if (stream != stream_) return;
      held_steps_.push_back(std::move(held));
      wake_();
    });
  };
  step_watch_.hold(order.program(), order.attempt(), std::move(answer));
}

void rank_runner::stop(v1::StopAfterStep const& order) {
  std::optional<std::uint64_t> step;
  if (!order.go_on()) step = order.step();
  step_watch_.stop_after(order.program(), order.attempt(), step);
}

void rank_runner::on_steps(step_watch::all_seen const& all) {
  for (auto const& [key, seen] : all) {
    auto& s = steps_.emplace_back();
    *s.mutable_name() = name_of(key);
    s.set_step(seen.marks.back().step);
    s.set_at_us(seen.marks.back().us);
    s.set_left_out(seen.left_out);
    for (auto const& mark : seen.marks) {
      s.add_mark_step(mark.step);
      s.add_mark_us(mark.us);
    }
  }
  // Without a server, only the newest steps are kept.
  while (steps_.size() > steps_max) steps_.pop_front();
  wake_();
}

void rank_runner::report_steps(v1::RankReports& to) {
  for (auto& held : held_steps_) *to.add_held_steps() = std::move(held);
  held_steps_.clear();
  if (steps_.empty()) return;
  auto& all = *to.mutable_steps();
  all.set_clock_us(
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                     std::chrono::steady_clock::now().time_since_epoch())
                                     .count()));
  for (std::size_t bytes = 0; !steps_.empty() && bytes < bytes_of_reports_max; steps_.pop_front()) {
    bytes += steps_.front().ByteSizeLong();
    *all.add_rank() = std::move(steps_.front());
  }
}

}  // namespace muster
