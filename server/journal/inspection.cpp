#include "server/journal/inspection.hpp"

#include <algorithm>

#include "muster/journal/v1/records.pb.h"
#include "server/core/api/id_text.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/fact_encoding.hpp"

namespace muster::server::journal {
namespace {

namespace wire = muster::journal::v1;

constexpr std::size_t unknown_max = 16;
constexpr std::uint64_t progress_interval = 4096;

muster::status problem(view const& of, code c, std::string const& what) {
  return {c, of.name() + ": " + what};
}

std::string printable_prefix(std::string_view key) {
  std::string text;
  for (auto const c : key.substr(0, std::min<std::size_t>(key.find('\0'), 16)))
    text += c > ' ' && c < 127 ? c : '?';
  return text;
}

void count_unknown(std::string_view key, std::size_t bytes, std::vector<entry_count>& into) {
  auto const kind = printable_prefix(key);
  auto it = std::find_if(into.begin(), into.end(), [&](auto const& u) { return u.kind == kind; });
  if (it == into.end()) {
    if (into.size() == unknown_max) into.back().kind = "others";
    it = into.size() == unknown_max ? std::prev(into.end()) : into.insert(into.end(), {kind, 0, 0});
  }
  ++it->entries;
  it->bytes += bytes;
}

muster::status walk(view const& of, contents& into, watcher const& watch) {
  for (auto const& k : entry_kinds()) into.known.push_back({std::string(k.name), 0, 0});
  std::uint64_t entries = 0, bytes = 0;
  muster::status found;
  auto const read = of.read("", [&](std::string_view key, std::string_view value) {
    auto const size = key.size() + value.size();
    bytes += size;
    if (watch && ++entries % progress_interval == 0 && !watch("checking", entries, bytes)) {
      found = problem(of, code::cancelled, "interrupted");
      return false;
    }
    auto const name = name_of(key);
    if (!name.kind) return count_unknown(key, size, into.unknown), true;
    if (!is_readable(*name.kind, value)) {
      found = problem(of, code::internal,
                      "its data is damaged (the entry of " + name.text() + " cannot be read)");
      return false;
    }
    auto& counted = into.known[static_cast<std::size_t>(name.kind - entry_kinds().data())];
    ++counted.entries;
    counted.bytes += size;
    return true;
  });
  return read.ok() ? found : read;
}

void gather_blobs(core::restored_job const& job, contents& into) {
  constexpr std::string_view begins = R"({"$blob":")";
  for (auto const& f : job.closures) {
    auto const value = f.value.view();
    if (f.dropped || f.released || value.size() <= begins.size() + 64 || !value.starts_with(begins))
      continue;
    for (auto const& request : job.accepted)
      if (f.order - request.first < request.closures.size())
        into.blobs.emplace(
            value.substr(begins.size(), 64),
            "the value of " + core::text(request.closures[f.order - request.first].id));
  }
}

// Loads all entries as a server does. Entries that a server would skip become notes.
muster::status load(view const& of, contents& into) {
  auto const clusters = load_clusters(of);
  if (!clusters)
    return problem(of, code::internal, "its data is damaged (" + clusters.error().message + ")");
  auto const jobs = load_jobs(of);
  if (!jobs)
    return problem(of, code::internal, "its data is damaged (" + jobs.error().message + ")");
  if (auto const programs = load_programs(of); !programs)
    return problem(of, code::internal, "its data is damaged (" + programs.error().message + ")");
  if (auto const tokens = load_tokens(of); !tokens)
    return problem(of, code::internal, "its data is damaged (" + tokens.error().message + ")");
  for (auto const& j : *jobs) gather_blobs(j.job, into);
  std::uint64_t loaded = 0, there = 0;
  for (auto const& c : *clusters) loaded += 1 + c.tasks.size() + c.keys.size() + c.barriers.size();
  for (auto const& k : into.known)
    for (auto const* of_clusters : {"cluster", "task", "key", "barrier"})
      if (k.kind == of_clusters) there += k.entries;
  if (there > loaded)
    into.notes.push_back(std::to_string(there - loaded) +
                         (there - loaded == 1 ? " entry belongs" : " entries belong") +
                         " to clusters that do not exist; a server ignores " +
                         (there - loaded == 1 ? "it" : "them"));
  return {};
}

}  // namespace

std::uint64_t contents::entries() const {
  std::uint64_t n = 0;
  for (auto const* kinds : {&known, &unknown})
    for (auto const& k : *kinds) n += k.entries;
  return n;
}

muster::result<contents> format_of(view const& of) {
  std::optional<std::string> entry;
  auto const read = of.read(format_key, [&](std::string_view key, std::string_view value) {
    if (key == format_key) entry = value;
    return false;
  });
  if (!read.ok()) return read;
  if (!entry)
    return problem(
        of, code::failed_precondition,
        "is not Muster server data, or is an interrupted copy: its format entry is missing");
  wire::Format f;
  if (!f.ParseFromString(*entry) || f.version() == 0)
    return problem(of, code::internal, "its data is damaged (the format entry cannot be read)");
  if (f.version() > format_known)
    return problem(of, code::failed_precondition,
                   "was written by a newer server (" + f.written_by() + ", format " +
                       std::to_string(f.version()) + "; this one supports format " +
                       std::to_string(format_known) +
                       " and earlier); use the 'muster' program of the newer version");
  contents c;
  c.format = f.version();
  c.written_by = f.written_by();
  c.epoch = f.epoch();
  return c;
}

muster::result<contents> inspect(view const& of, watcher const& watch) {
  auto c = format_of(of);
  if (!c) return c;
  c->notes = of.notes();
  if (auto const verified = of.verify(); !verified.ok()) return verified;
  if (auto const walked = walk(of, *c, watch); !walked.ok()) return walked;
  if (auto const loaded = load(of, *c); !loaded.ok()) return loaded;
  return c;
}

}  // namespace muster::server::journal
