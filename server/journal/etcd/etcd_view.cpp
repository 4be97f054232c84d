// A leader with many writes compacts its history within seconds, so a read in pages may have to
// restart. The last attempt is a single request, which etcd answers from one revision.
#include "server/journal/etcd/etcd_view.hpp"

#include "server/journal/entries.hpp"
#include "server/journal/etcd/transaction_plan.hpp"

namespace muster::server::journal::etcd {
namespace {

using namespace std::chrono_literals;
using map = std::map<std::string, std::string, std::less<>>;

constexpr auto read_limit = 30s;
constexpr auto first_limit = 5s;  // time to detect whether etcd answers
constexpr int attempts_by_pages = 3;
constexpr std::int64_t page = 4'096;

// Reads all keys below the prefix at one revision. Fails with OUT_OF_RANGE if etcd has compacted
// the revision.
muster::status read_all(client& c, bool by_pages, watcher const& watch, std::int64_t& revision,
                        map& into) {
  auto const prefix = c.prefix() + "/";
  auto from = prefix;
  std::uint64_t bytes = 0;
  into.clear();
  revision = 0;
  for (;;) {
    wire::RangeRequest request;
    request.set_key(from);
    request.set_range_end(behind(prefix));
    request.set_revision(revision);
    if (by_pages) request.set_limit(page);
    wire::RangeResponse answer;
    auto const limit = by_pages && revision == 0 ? first_limit : read_limit;
    auto const asked = c.ask(limit, "for entries",
                             c.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
    if (!asked.ok()) return asked;
    if (revision == 0) revision = answer.header().revision();
    for (auto& kv : *answer.mutable_kvs()) {
      bytes += kv.key().size() + kv.value().size();
      into.emplace(std::move(*kv.mutable_key()), std::move(*kv.mutable_value()));
    }
    if (watch && !watch("reading", into.size(), bytes)) return {code::cancelled, "interrupted"};
    if (!answer.more() || into.empty()) return {};
    from = into.rbegin()->first + '\0';
  }
}

muster::status complete_pending_batch(map& raw, std::string const& prefix) {
  auto const redos = names{prefix}.redos();
  std::string ended;
  for (auto it = raw.lower_bound(redos); it != raw.end() && it->first.starts_with(redos); ++it)
    if (it->first.ends_with("/end")) ended = it->first.substr(0, it->first.size() - 3);
  if (ended.empty()) return {};
  std::vector<wire::TxnRequest> parts;
  auto const end = raw.find(ended + "end");
  for (auto it = raw.lower_bound(ended); it != end; ++it)
    if (!parts.emplace_back().ParseFromString(it->second))
      return {code::internal, "its data is damaged (a part of a batch cannot be read)"};
  if (std::to_string(parts.size()) != end->second)
    return {code::internal, "its data is damaged (a batch has " + std::to_string(parts.size()) +
                                " of " + end->second + " parts)"};
  for (auto const& part : parts)
    for (auto const& o : part.success()) {
      if (o.has_request_put()) raw[o.request_put().key()] = o.request_put().value();
      if (!o.has_request_delete_range()) continue;
      auto const& gone = o.request_delete_range();
      auto const first = raw.lower_bound(gone.key());
      if (gone.range_end().empty())
        raw.erase(gone.key());
      else
        raw.erase(first, raw.lower_bound(gone.range_end()));
    }
  return {};
}

}  // namespace

muster::result<std::unique_ptr<etcd_view>> etcd_view::open(access const& a, watcher const& watch,
                                                           lost_values lost) {
  client c(a);
  std::unique_ptr<etcd_view> v(new etcd_view(a.where.text()));
  auto read = v->fill(c, watch, lost);
  if (read.ok()) return v;
  read.message = v->name_ + ": " + read.message;
  return read;
}

muster::status etcd_view::fill(client& c, watcher const& watch, lost_values lost) {
  map raw;
  if (auto const s = c.require_all_acknowledged(first_limit, "for entries"); !s.ok()) {
    if (s.code == code::unavailable) return s;
    notes_.push_back("etcd does not report how recent its answers are (" + s.message +
                     "), so the newest entries may be missing");
  }
  for (int n = 1;; ++n) {
    auto const read = read_all(c, n <= attempts_by_pages, watch, revision_, raw);
    if (read.ok()) break;
    if (read.code != code::out_of_range || n > attempts_by_pages) return read;
  }
  if (auto const done = complete_pending_batch(raw, c.prefix()); !done.ok()) return done;
  return take(raw, c.prefix(), lost);
}

muster::status etcd_view::take(map const& raw, std::string const& prefix, lost_values lost) {
  names const n{prefix};
  auto const entries = n.entry({});
  for (auto const& [key, value] : raw) {
    bytes_ += key.size() + value.size();
    if (key == n.leader()) leader_ = value.substr(0, value.find('\n'));
    if (!key.starts_with(entries)) continue;
    auto const name = key.substr(entries.size());
    auto& whole = entries_[name];
    if (value.starts_with('=')) {
      whole = value.substr(1);
      continue;
    }
    auto const number = referenced(value);
    auto const pieces = number ? n.pieces(*number) : std::string();
    auto at = number ? raw.find(n.piece(*number, 0)) : raw.end();
    bool const mine = at != raw.end() && at->second == name && ++at != raw.end();
    bool const there = mine && at->first.starts_with(pieces);
    if (!there && lost == lost_values::refuse)
      return {code::internal,
              "its data is damaged (the value of " + name_of(name).text() + " is missing)"};
    if (!there) {
      whole = "\xff";
      continue;
    }
    for (; at != raw.end() && at->first.starts_with(pieces); ++at) whole += at->second;
  }
  return {};
}

muster::status etcd_view::read(std::string_view prefix, visitor const& v) const {
  for (auto it = entries_.lower_bound(prefix);
       it != entries_.end() && it->first.starts_with(prefix); ++it)
    if (!v(it->first, it->second)) break;
  return {};
}

}  // namespace muster::server::journal::etcd
