// All clusters of the server: declared, found by name, each with the service of its current
// generation. Owned by the coordination hub, engine thread only; pure: the same events at the same
// times give the same effects, and `step` never calls out. Effects are valid until the next step;
// the caller may move things out of them.
#pragma once

#include <memory>

#include "server/core/coordination/service.hpp"
#include "server/core/coordination/service_registry.hpp"

namespace muster::core::coordination {

enum class cluster_id : std::uint32_t {};  ///< stable for the life of the server; 0 is none

class clusters {
 public:
  /// `seed`: random; service incarnations follow from it. REQUIRES: `types` outlives this.
  clusters(limits l, service_registry const& types, std::uint64_t seed);
  ~clusters();
  clusters(clusters const&) = delete;

  /// Errors: INVALID_ARGUMENT names the field; ALREADY_EXISTS; RESOURCE_EXHAUSTED; an unknown
  /// service type lists the known ones.
  result<cluster_id> create(time_point now, cluster_spec spec);
  /// Answers every parked call and forgets the cluster. NOT_FOUND. The effects hold the answers.
  result<std::reference_wrapper<effects>> remove(time_point now, std::string_view name);
  /// Replaces what the cluster is declared to be; its name stays. At once while nobody has
  /// registered and no call waits (keys stay), or when the generation has ended and may be renewed;
  /// otherwise the next one has it, and the running one goes on as it began. INVALID_ARGUMENT as
  /// for create. The effects hold a notice, unless nothing changes.
  result<std::reference_wrapper<effects>> redeclare(time_point now, cluster_id c,
                                                    cluster_spec spec);
  result<cluster_id> find(std::string_view name) const;
  /// REQUIRES (here and below): the cluster exists.
  cluster_spec const& spec(cluster_id c) const;
  std::vector<cluster_id> ids() const;
  bool exists(cluster_id c) const;

  effects& step(time_point now, cluster_id c, request& r);
  effects& call_gone(time_point now, cluster_id c, call_id call);
  effects& tick(time_point now);
  /// Answers everything; requests are refused from then on.
  effects& stop(time_point now);
  time_point next_deadline() const;

  service const& current(cluster_id c) const;
  cluster_view view(cluster_id c, time_point now) const;
  std::string violated_invariant() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace muster::core::coordination
