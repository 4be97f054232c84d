#include "server/history/barriers/barrier_lateness.hpp"

namespace muster::history {

void barrier_lateness::fold(coordination::changes const& c) {
  for (auto const& one : c.list) {
    if (auto const* at = std::get_if<coordination::rich_at>(&one.what)) {
      auto const& rich = c.rich[at->place];
      if (auto const* b = std::get_if<coordination::barrier_begun>(&rich)) {
        if (b->purpose == coordination::barrier_purpose::user)
          clusters_[one.cluster].barriers.insert_or_assign(b->barrier,
                                                           running{{b->id, b->counter}, b->who});
      } else if (auto const* e = std::get_if<coordination::barrier_ended>(&rich)) {
        end(one.cluster, *e);
      }
    } else if (std::holds_alternative<coordination::generation_begun>(one.what) ||
               std::holds_alternative<coordination::cluster_removed>(one.what)) {
      clusters_.erase(one.cluster);
    }
  }
}

void barrier_lateness::end(coordination::cluster_id c, coordination::barrier_ended const& e) {
  auto const of = clusters_.find(c);
  if (of == clusters_.end()) return;
  auto const node = of->second.barriers.extract(e.barrier);
  if (!node || !e.came || e.came->size() < 2) return;
  auto& b = node.mapped();
  of->second.late.note(std::move(b.which), std::move(b.who), *e.came, e.ended);
}

}  // namespace muster::history
