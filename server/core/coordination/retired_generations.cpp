// Members of ended generations are told apart by incarnation, or by address where the call has no
// incarnation.
#include "server/core/coordination/retired_generations.hpp"

#include <algorithm>

namespace muster::core::coordination {
namespace {

constexpr std::size_t generations_max = 16;
constexpr std::size_t tasks_max = 200'000;

}  // namespace

void retired_generations::add(service const& ended, std::string cause, task_index tasks) {
  retired old{ended.which(), std::move(cause), ended.incarnations(), ended.peers()};
  std::sort(old.tasks.begin(), old.tasks.end());
  std::sort(old.peers.begin(), old.peers.end());
  all_.push_front(std::move(old));
  auto const room = tasks_max / std::max<std::size_t>(1, tasks);
  if (all_.size() > std::clamp<std::size_t>(room, 1, generations_max)) all_.pop_back();
}

fault_ptr retired_generations::refuse(request const& r, service const& current,
                                      std::string const& cluster) const {
  return std::visit([&](auto const& q) { return refuse_one(q, current, cluster); }, r);
}

template <class Request>
fault_ptr retired_generations::refuse_one(Request const& r, service const& current,
                                          std::string const& cluster) const {
  constexpr bool registers = std::is_same_v<Request, register_task>;
  auto const now = current.which();
  auto const told = [&](retired const& old, fault f) {
    f.message += "generation " + std::to_string(old.which.number) + " of cluster '" + cluster +
                 "', which has ended" +
                 (old.cause.empty() ? "" : " (first cause: " + shortened(old.cause, 1'500) + ")") +
                 "; generation " + std::to_string(now.number) + " has taken its place.";
    return std::make_shared<fault const>(std::move(f));
  };
  fault member{.code = code::aborted, .message = "The task belongs to "};
  for (auto const& old : all_) {
    if constexpr (!registers) {
      auto const& believed = r.from.service;
      if (believed && *believed != now.incarnation && *believed == old.which.incarnation) {
        auto f = wrong_service(*believed, now.incarnation);
        f.message += ". The former is ";
        return told(old, std::move(f));
      }
      if (!believed && !r.from.peer.empty() && !current.knows_peer(r.from.peer) &&
          std::binary_search(old.peers.begin(), old.peers.end(), r.from.peer))
        return told(old, std::move(member));
    }
    if constexpr (registers || std::is_same_v<Request, heartbeat>)
      if (std::binary_search(old.tasks.begin(), old.tasks.end(), r.incarnation) &&
          !current.knows(r.incarnation))
        return told(old, std::move(member));
  }
  return nullptr;
}

}  // namespace muster::core::coordination
