#include <string>
#include <utility>

#include "client/log_line.hpp"
#include "client/programs/rank_runner.hpp"

namespace muster {

void rank_runner::unpack(std::uint64_t launcher, v1::StartRanks order) {
  spool::attempt_name const name(order.program(), order.attempt());
  uploads::order asked{.id = launcher, .hash = order.upload(), .server = server_};
  for (auto const& rank : order.rank())
    asked.to.push_back(spool_.directories_of(name.first, name.second).work /
                       std::to_string(rank.rank()));
  asked.owner = owner_;
  asked.before = [this, name, in_use = table_.attempts()] { spool_.make(name, in_use); };
  asked.done = [this, launcher](uploads::outcome what) {
    engine_->post([this, launcher, what = std::move(what)] { unpacked(launcher, what); });
  };
  unpacking_[launcher] = {std::move(order), server_};
  uploads_.provide(std::move(asked));
}

// Only logs a failure, because starting the ranks fetches the upload again and reports the error.
void rank_runner::prepare(v1::PrepareRanks const& order) {
  if (order.upload().empty() || prefetching_.size() >= ahead_max) return;
  if (!prefetching_.insert(order.upload()).second) return;
  uploads::order asked{.id = ++last_launcher_, .hash = order.upload(), .server = server_};
  asked.done = [this, hash = order.upload()](uploads::outcome const& what) {
    if (!what.why_not.empty())
      log(log_level::warning, "cannot prepare an upload for ranks: " + what.why_not);
    engine_->post([this, hash] { prefetching_.erase(hash); });
  };
  uploads_.provide(std::move(asked));
}

void rank_runner::drop_ended_ranks(v1::StartRanks& order) {
  google::protobuf::RepeatedPtrField<v1::StartRank> alive;
  for (auto& rank : *order.mutable_rank()) {
    auto const* held = table_.find({order.program(), order.attempt(), rank.rank()});
    if (held && !held->ended) *alive.Add() = std::move(rank);
  }
  order.mutable_rank()->Swap(&alive);
}

}  // namespace muster
