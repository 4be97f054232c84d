// Scenes for the journal's golden files. Each can be loaded alone. Together they have every kind of
// entry with every field set, every field absent, and every enumerator.
//
// Values are distinct, so that swapped fields are detected. To add a field, set it in the function
// whose name begins with `full_`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "server/journal/fact_encoding.hpp"
#include "tests/journal/memory_store.hpp"

namespace muster::server::journal::goldens {

constexpr core::time_point at{std::chrono::seconds(1'700'000'000)};
constexpr core::time_point epoch{};

struct scene {
  std::string name;
  std::vector<change> batch;
};

/// Appends the batch that the encoder creates.
template <class Facts>
void add(std::vector<scene>& all, std::string name, std::string const& cluster,
         Facts const& facts) {
  auto& s = all.emplace_back();
  s.name = std::move(name);
  encode(cluster, facts, s.batch);
}
inline void add(std::vector<scene>& all, std::string name,
                std::vector<core::coordination::fact> const& facts) {
  auto& s = all.emplace_back();
  s.name = std::move(name);
  encode(facts, s.batch);
}

void add_job_scenes(std::vector<scene>& all);
void add_program_scenes(std::vector<scene>& all);
void add_record_scenes(std::vector<scene>& all);
void add_cluster_scenes(std::vector<scene>& all);
void add_token_scenes(std::vector<scene>& all);

std::vector<scene> all_scenes();

/// Returns the first loading error.
muster::result<memory_store> reencoded(store const& s);

}  // namespace muster::server::journal::goldens
