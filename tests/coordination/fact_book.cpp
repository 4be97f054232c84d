#include "tests/coordination/fact_book.hpp"

#include <algorithm>
#include <sstream>

#include "server/core/coordination/clusters.hpp"

namespace muster::core::coordination {
namespace {

std::string text_of(fault_ptr const& f) {
  if (!f) return "ok";
  std::ostringstream out;
  out << static_cast<int>(f->code) << "/" << f->source << "/" << f->reported << "/"
      << f->coordination << "/" << f->message;
  if (f->barrier) out << "/" << f->barrier->id << "#" << f->barrier->counter;
  return out.str();
}

std::string text_of(cluster_fact const& f) {
  std::ostringstream out;
  out << f.spec.name << " tasks=" << f.spec.size() << " next=" << (f.next ? f.next->size() : 0)
      << " generation=" << f.generation << "/" << raw(f.incarnation)
      << " started=" << f.started.time_since_epoch().count()
      << " ended=" << f.ended.time_since_epoch().count() << " failed=" << f.failed << f.refuses
      << " cause=" << (f.cause ? f.cause->message : "") << "@" << f.cause_task << " victims";
  for (auto const t : f.victims) out << " " << t;
  out << " told=" << text_of(f.broadcast);
  return out.str();
}

std::string text_of(task_fact const& f) {
  std::ostringstream out;
  out << "task " << f.task << " state=" << static_cast<int>(f.state) << f.recoverable << f.casualty
      << f.ever_connected << " as=" << raw(f.incarnation) << " error=" << text_of(f.error)
      << " since=" << f.registered_at.time_since_epoch().count()
      << " grace=" << f.grace_until.time_since_epoch().count() << " hears=" << f.hears_notices;
  return out.str();
}

}  // namespace

void fact_book::add(std::vector<fact> const& facts) {
  for (auto const& f : facts) {
    auto& e = clusters_[f.cluster];
    if (auto const* c = std::get_if<cluster_fact>(&f.what)) {
      if (c->anew) e = {};
      e.cluster = *c;
    } else if (auto const* t = std::get_if<task_fact>(&f.what)) {
      e.tasks[t->task] = *t;
    } else if (auto const* k = std::get_if<key_fact>(&f.what)) {
      if (k->value)
        e.keys[k->key] = *k;
      else
        e.keys.erase(k->key);
    } else if (auto const* b = std::get_if<barrier_fact>(&f.what)) {
      if (b->forgotten)
        e.barriers.erase(b->id);
      else
        e.barriers[b->id] = *b;
    } else {
      clusters_.erase(f.cluster);
    }
  }
}

std::vector<restored_cluster> fact_book::clusters() const {
  std::vector<restored_cluster> all;
  for (auto const& [name, e] : clusters_) {
    auto& r = all.emplace_back();
    r.cluster = e.cluster;
    for (auto const& [t, f] : e.tasks) r.tasks.push_back(f);
    for (auto const& [k, f] : e.keys) r.keys.push_back(f);
    for (auto const& [id, f] : e.barriers) r.barriers.push_back(f);
    std::stable_sort(r.barriers.begin(), r.barriers.end(),
                     [](auto const& a, auto const& b) { return a.ended < b.ended; });
  }
  return all;
}

std::string fact_book::text() const {
  std::ostringstream out;
  for (auto const& [name, e] : clusters_) {
    out << name << ": " << text_of(e.cluster) << "\n";
    for (auto const& [t, f] : e.tasks) out << "  " << text_of(f) << "\n";
    for (auto const& [k, f] : e.keys)
      out << "  key " << k << "=" << f.value->view() << "@" << f.changed.time_since_epoch().count()
          << "\n";
    for (auto const& [id, f] : e.barriers)
      out << "  barrier " << id << "#" << f.counter << "/" << int{f.purpose} << " of "
          << (f.who ? f.who->size() : 0) << " " << text_of(f.result) << "\n";
  }
  return out.str();
}

std::string lost_at_restart(clusters const& all, fact_book said, limits const& l, time_point now) {
  for (auto const id : all.ids())
    for (auto const& b : all.current(id).views().barriers_from(0, ~std::size_t{0}))
      if (b.state == barrier_state::running) said.forget_barrier(all.spec(id).name, b.id);
  fact_book whole;
  whole.add(all.everything());
  if (said.text() != whole.text()) return "said:\n" + said.text() + "but it is:\n" + whole.text();
  class clusters again(l, 7);
  for (auto& c : said.clusters()) {
    auto const& fx = again.step(now, restore_cluster{std::move(c)});
    if (!fx.declared.ok()) return "not restored: " + fx.declared.message;
    if (!fx.facts.empty() || !fx.replies.empty()) return "a restore says something";
  }
  if (auto broken = again.violated_invariant(); !broken.empty())
    return "after a restore: " + broken;
  fact_book restored;
  restored.add(again.everything());
  if (restored.text() != whole.text())
    return "restored:\n" + restored.text() + "but it was:\n" + whole.text();
  return {};
}

}  // namespace muster::core::coordination
