// What ranks have printed, and where they are, read for a server that asks.
#include <utility>

#include "client/programs/ranks.hpp"

namespace muster {

void ranks::read(v1::ReadLog const& query) {
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

// One message for all ranks, however many: what does not fit is asked for again, as its size is not
// known.
void ranks::read(v1::ReadLastLines const& query) {
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

// The disk's thread waits for the ranks to write, a second at most.
void ranks::read(v1::ReadStacks const& query) {
  v1::RankStacks answer;
  answer.set_query(query.query());
  if (taking_ >= stacks_max || reading_ + stacks_.size() >= logs_max) {
    answer.set_busy(true);
    stacks_.push_back(std::move(answer));
    return wake_();
  }
  std::map<std::uint32_t, pid_t> pids;
  for (auto const rank : query.rank()) {
    auto const* held = table_.find({query.program(), query.attempt(), rank});
    if (held && !held->ended && held->pid != 0) pids[rank] = static_cast<pid_t>(held->pid);
  }
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

}  // namespace muster
