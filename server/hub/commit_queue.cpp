#include "server/hub/commit_queue.hpp"

#include <utility>

namespace muster::server {

subject subject_of(std::uint64_t kind, std::uint64_t id, std::string_view name) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  auto n = (id + 1) * odd ^ kind;
  if (!name.empty()) n = n * odd ^ std::hash<std::string_view>()(name);
  n ^= n >> 29;
  return n == 0 ? 1 : n;
}

void commit_queue::touch(subject s) {
  unwritten_[s] = written_;
  if (!failed_.ok()) return;  // after a failure, entries are never removed
  if (!order_.empty() && order_.back().of == s)
    order_.back().batch = written_;
  else
    order_.push_back({written_, s});
}

void commit_queue::put(held h, std::uint64_t batch) {
  if (is_over(batch) && (held_.empty() || held_.begin()->first > batch)) return release(h, batch);
  held_.emplace(batch, std::move(h));
}

void commit_queue::on_durable(std::uint64_t number, muster::status const& failed,
                              core::time_point now) {
  durable_ = number;
  if (!failed.ok() && failed_.ok()) {
    failed_since_ = now;
    failed_ = {code::unavailable, "the journal cannot be written (" + failed.message +
                                      "), so this request may be lost; until it is restarted, the "
                                      "server refuses all requests that have to be stored"};
  }
  for (; !order_.empty() && order_.front().batch <= number; order_.pop_front())
    if (auto const it = unwritten_.find(order_.front().of);
        it != unwritten_.end() && it->second <= number)
      unwritten_.erase(it);
  while (!held_.empty() && is_over(held_.begin()->first)) {
    auto node = held_.extract(held_.begin());
    release(node.mapped(), node.key());
  }
}

}  // namespace muster::server
