#include <algorithm>
#include <cstdio>
#include <optional>

#include "server/core/coordination/api/coordination_fields.hpp"
#include "server/journal/described_entry.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/key_numbers.hpp"

namespace muster::server::journal {
namespace {

namespace coordination = core::coordination;
using namespace std::string_view_literals;

std::string prefix_of(char kind, std::string const& cluster) {
  return std::string(1, kind) + '\0' + cluster + '\0';
}

std::string task_key(std::string const& cluster, coordination::task_index t) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%08u", t);
  return prefix_of('t', cluster) + digits;
}

struct encoder {
  std::string const& cluster;
  std::vector<change>& into;

  void operator()(coordination::cluster_fact const& f) const {
    auto const& name = f.spec.name;
    if (f.anew)
      for (char const kind : {'t', 'k', 'b'})
        into.push_back({change::kind::erase_below, prefix_of(kind, name), {}});
    into.push_back({change::kind::put, prefix_of('c', name), encoded_entry(f)});
  }

  void operator()(coordination::task_fact const& f) const {
    into.push_back({change::kind::put, task_key(cluster, f.task), encoded_entry(f)});
  }

  void operator()(coordination::key_fact const& f) const {
    auto key = prefix_of('k', cluster) + f.key;
    if (!f.value) return into.push_back({change::kind::erase, std::move(key), {}});
    into.push_back({change::kind::put, std::move(key), encoded_entry(f)});
  }

  void operator()(coordination::barrier_fact const& f) const {
    auto key = prefix_of('b', cluster) + f.id;
    if (f.forgotten) return into.push_back({change::kind::erase, std::move(key), {}});
    into.push_back({change::kind::put, std::move(key), encoded_entry(f)});
  }

  void operator()(coordination::cluster_record_removed const&) const {
    for (char const kind : {'c', 't', 'k', 'b'})
      into.push_back({change::kind::erase_below, prefix_of(kind, cluster), {}});
  }
};

template <class Entry, class Take>
muster::status each(store const& s, char kind, std::string const& cluster, Take take) {
  auto const prefix = prefix_of(kind, cluster);
  std::optional<std::string> damaged;
  auto const read = s.read(prefix, [&](std::string_view key, std::string_view value) {
    Entry e;
    bool in_range = true;
    auto const rest = key.substr(prefix.size());
    if (decode_entry(value, e, in_range) && take(rest, e) && in_range) return true;
    damaged = name_of(key).text();
    return false;
  });
  if (!read.ok() || !damaged) return read;
  return {code::internal, *damaged + " cannot be read"};
}

muster::status load(store const& s, coordination::restored_cluster& into) {
  using coordination::agent_state;
  auto const& spec = into.cluster.spec;
  auto const tasks = each<coordination::task_fact>(
      s, 't', spec.name, [&](std::string_view rest, coordination::task_fact& f) {
        auto const t = key_number<coordination::task_index>(rest, task_digits, 10);
        f.task = t.value_or(coordination::no_task);
        bool const fits = f.task < spec.size() && f.state >= agent_state::disconnected &&
                          f.state <= agent_state::error &&
                          (f.state == agent_state::error) == (f.error != nullptr);
        into.tasks.push_back(std::move(f));
        return fits;
      });
  if (!tasks.ok()) return tasks;
  auto const keys = each<coordination::key_fact>(
      s, 'k', spec.name, [&](std::string_view rest, coordination::key_fact& f) {
        f.key = rest;
        if (!f.value) f.value = core::blob("");
        into.keys.push_back(std::move(f));
        return true;
      });
  if (!keys.ok()) return keys;
  auto const barriers = each<coordination::barrier_fact>(
      s, 'b', spec.name, [&](std::string_view rest, coordination::barrier_fact& f) {
        f.id = rest;
        into.barriers.push_back(std::move(f));
        auto const& b = into.barriers.back();
        return b.purpose <= 3 && b.counter >= 0 &&
               (!b.who || (std::is_sorted(b.who->begin(), b.who->end()) && !b.who->empty() &&
                           b.who->back() < spec.size()));
      });
  std::stable_sort(into.barriers.begin(), into.barriers.end(),
                   [](auto const& a, auto const& b) { return a.ended < b.ended; });
  return barriers;
}

}  // namespace

void encode(std::vector<coordination::fact> const& facts, std::vector<change>& into) {
  for (auto const& f : facts) std::visit(encoder{f.cluster, into}, f.what);
}

muster::result<std::vector<coordination::restored_cluster>> load_clusters(store const& s) {
  std::vector<coordination::restored_cluster> all;
  std::optional<std::string> damaged;
  auto const read = s.read("c\0"sv, [&](std::string_view key, std::string_view value) {
    coordination::cluster_fact f;
    // The result is ignored, because an unknown enumerator is replaced by the first enumerator.
    bool in_range = true;
    if (!decode_entry(value, f, in_range) || !coordination::validate(f.spec).ok() ||
        key != prefix_of('c', f.spec.name)) {
      damaged = name_of(key).text();
      return false;
    }
    all.emplace_back().cluster = std::move(f);
    return true;
  });
  if (!read.ok()) return read;
  if (damaged) return muster::status{code::internal, *damaged + " cannot be read"};
  for (auto& c : all)
    if (auto const loaded = load(s, c); !loaded.ok()) return loaded;
  return all;
}

}  // namespace muster::server::journal
