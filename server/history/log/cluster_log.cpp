#include "server/history/log/cluster_log.hpp"

#include <unordered_map>
#include <utility>

namespace muster::history {

namespace cluster_words {  // a namespace, because incident_texts.cpp uses the same names

namespace incidents = coordination::incidents;
using coordination::severity;
using kind = cluster_event_kind;

namespace {

std::string generation(std::uint64_t number) {
  return "generation " + std::to_string(number);
}

std::string in_short(std::vector<coordination::job_spec> const& jobs) {
  std::string text;
  for (auto const& j : jobs)
    text += (text.empty() ? "" : ",") + j.name + "=" + std::to_string(j.tasks);
  return text.empty() ? "no tasks" : coordination::shortened(text, 500);
}

std::string_view how(incidents::takes_effect e) {
  switch (e) {
    case incidents::takes_effect::as_it_is:
      return ", which the current generation already has";
    case incidents::takes_effect::at_once:
      return " at once";
    case incidents::takes_effect::never:
      return ", but without effect: this cluster does not start new generations";
    case incidents::takes_effect::with_new_generation:
      return " with a new generation";
    case incidents::takes_effect::with_next_generation:
      break;
  }
  return " with the next generation";
}

struct words {
  std::string const& cluster;

  cluster_event operator()(incidents::generation_started const& i) const {
    return {severity::info,
            kind::generation_started,
            cluster,
            {},
            generation(i.number) + ", first task " + i.task};
  }
  cluster_event operator()(incidents::generation_failed const& i) const {
    return {severity::error,
            kind::generation_failed,
            cluster,
            {},
            generation(i.number) + ": " + i.why->message};
  }
  cluster_event operator()(incidents::generation_ended const& i) const {
    return {severity::info,
            kind::generation_ended,
            cluster,
            {},
            generation(i.number) + ": all tasks have left"};
  }
  cluster_event operator()(incidents::cluster_ready const& i) const {
    return {severity::info,
            kind::cluster_ready,
            cluster,
            {},
            "all " + std::to_string(i.tasks) + " tasks have registered"};
  }
  cluster_event operator()(incidents::cluster_changed const& i) const {
    return {severity::info,
            kind::cluster_changed,
            cluster,
            {},
            in_short(i.from) + " becomes " + in_short(i.to) + std::string(how(i.when))};
  }
  cluster_event operator()(incidents::task_failed const& i) const {
    return {severity::error, kind::task_error, cluster, i.task, i.why->message};
  }
  cluster_event operator()(incidents::task_restarted const& i) const {
    return {severity::info, kind::task_restarted, cluster, i.task,
            "registered again after a restart"};
  }
  cluster_event operator()(incidents::task_left const& i) const {
    return {severity::info, kind::task_left, cluster, i.task, "left"};
  }
  cluster_event operator()(incidents::barrier_failed const& i) const {
    return {severity::warning, kind::barrier_failed, cluster, i.id, i.why->message};
  }
  cluster_event operator()(incidents::barrier_stuck const& i) const {
    return {severity::warning, kind::barrier_stuck, cluster, i.id,
            std::to_string(i.arrived) + " of " + std::to_string(i.participants) +
                " tasks have arrived; " + i.missing};
  }
  cluster_event operator()(incidents::notice_unheard const& i) const {
    bool const one = !i.task.empty();
    auto const what =
        i.set ? "a preemption notice was set, and " + i.tasks + (one ? " does" : " do") +
                    " not receive it, so the others cannot pass PREEMPTION_SYNC_BARRIER"
              : i.tasks + " no longer " + (one ? "receives" : "receive") +
                    " preemption notices, because the connection or the earlier server on which "
                    "JAX was waiting is gone";
    return {i.set ? severity::error : severity::warning, kind::notice_unheard, cluster, i.task,
            what +
                ". JAX does not start a new wait by itself; call "
                "muster.jax.renew_preemption_sync() in each of these tasks"};
  }
  cluster_event operator()(incidents::port_changed const& i) const {
    return {severity::warning,
            kind::port_changed,
            cluster,
            {},
            "the cluster's port changed from " + std::to_string(i.from) + " to " +
                std::to_string(i.to) +
                "; agents that use the former port cannot reach the cluster"};
  }
};

}  // namespace
}  // namespace cluster_words

void cluster_log::tell(std::vector<coordination::incident> const& all) {
  namespace incidents = coordination::incidents;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>> counts;
  for (auto const& i : all) {
    auto& [barriers, tasks] = counts[i.cluster];
    if (std::holds_alternative<incidents::task_failed>(i.what) && ++tasks > singly) continue;
    if (std::holds_alternative<incidents::barrier_failed>(i.what) && ++barriers > singly) {
      if (barriers == singly + 1)
        pending_events_.push_back({coordination::severity::warning,
                                   cluster_event_kind::barriers_failed,
                                   i.cluster,
                                   {},
                                   "further barriers failed at the same time"});
      continue;
    }
    pending_events_.push_back(std::visit(cluster_words::words{i.cluster}, i.what));
  }
}

}  // namespace muster::history
