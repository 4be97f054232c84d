// Encodes programs. server/core/api/program_fields.hpp lists the fields.
#include "server/core/api/program_fields.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/program_entry.hpp"
#include "server/journal/program_keys.hpp"

namespace muster::server::journal {
namespace {

namespace of_core = core::programs;
using program_keys::kind;

struct program_encoder {
  std::string const& cluster;
  std::vector<change>& into;

  template <class T>
  void put(std::string key, T const& what) const {
    into.push_back({change::kind::put, std::move(key), encoded_entry(what)});
  }

  void operator()(of_core::submitted_fact const& f) const {
    put(program_keys::of(kind::submitted, f.program), program_entry{cluster, *f.spec, f.created});
  }
  void operator()(of_core::course_fact const& f) const {
    put(program_keys::of(kind::course, f.program), f);
  }
  void operator()(of_core::attempt_fact const& f) const {
    put(program_keys::of(kind::attempt, f.program, f.about.attempt), f.about);
  }
  void operator()(of_core::attempt_removed const& f) const {
    for (auto const k : {kind::attempt, kind::record})
      into.push_back({change::kind::erase, program_keys::of(k, f.program, f.attempt), {}});
  }
  void operator()(of_core::placement_fact const& f) const {
    into.push_back({change::kind::erase_below, program_keys::of(kind::rank, f.program), {}});
    put(program_keys::of(kind::placement, f.program), f);
  }
  void operator()(of_core::rank_fact const& f) const {
    put(program_keys::of(kind::rank, f.name.program, f.name.rank), f);
  }
  void operator()(of_core::program_removed const& f) const {
    for (auto const k : program_keys::kinds)
      into.push_back({change::kind::erase_below, program_keys::of(k, f.program), {}});
  }
};

}  // namespace

void encode(std::string const& cluster, std::vector<core::programs::fact> const& facts,
            std::vector<change>& into) {
  for (auto const& f : facts) std::visit(program_encoder{cluster, into}, f);
}

}  // namespace muster::server::journal
