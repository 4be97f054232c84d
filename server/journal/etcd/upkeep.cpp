#include "server/journal/etcd/upkeep.hpp"

#include "server/journal/etcd/etcd_store.hpp"
#include "server/journal/etcd/etcd_view.hpp"

namespace muster::server::journal::etcd {
namespace {

using namespace std::chrono_literals;

constexpr auto upkeep_limit = 5s;
constexpr auto compaction_limit = 60s;
// Duration of the leadership lease. It is longer than a server's lease, because fast failover is
// not needed and a busy etcd must not abort the operation.
constexpr auto lease = 10s;

muster::status with_name(access const& a, muster::status s) {
  s.message = a.where.text() + ": " + s.message;
  return s;
}

muster::status refused(access const& a, std::string const& why) {
  return with_name(a, {code::failed_precondition, why});
}

muster::result<std::int64_t> revision_and_count(client& c, std::int64_t& keys) {
  wire::RangeRequest request;
  request.set_key(c.prefix() + "/");
  request.set_range_end(behind(request.key()));
  request.set_count_only(true);
  wire::RangeResponse answer;
  auto const asked = c.ask(upkeep_limit, "what is there",
                           c.reading(&member::kv, &wire::KV::Stub::Range, request, answer));
  if (!asked.ok()) return asked;
  keys = answer.count();
  return answer.header().revision();
}

void size_of(client& c, std::uint64_t& bytes, std::uint64_t& in_use) {
  wire::StatusResponse answer;
  auto const s = c.once(upkeep_limit, [&](member& m, grpc::ClientContext& context) {
    return m.maintenance->Status(&context, {}, &answer);
  });
  if (!s.ok()) return;
  bytes = static_cast<std::uint64_t>(answer.dbsize());
  in_use = static_cast<std::uint64_t>(answer.dbsizeinuse());
}

muster::result<copied> fill(access const& a, term t, view const& from, std::uint64_t expected,
                            watcher const& watch, std::function<void(std::string const&)> over) {
  auto s = etcd_store::open(
      a, t, {.bytes_max = std::numeric_limits<std::uint64_t>::max(), .over = std::move(over)});
  if (!s) return s.error();
  auto done = copy_entries(from, expected, **s, watch);
  if (done) {
    auto const copy = etcd_view::open(a);
    if (!copy) return copy.error();
    auto const found = inspect(**copy);
    if (!found) return found.error();
    done->bytes_on_disk = (*copy)->bytes_on_disk();
    if (auto const none = read_blobs({}, found->blobs, {}, {})) done->blobs = *none;
    return done;
  }
  (void)(*s)->write({{change::kind::erase_below, {}, {}}});
  return done;
}

}  // namespace

muster::result<exclusive_leadership> acquire_exclusive_leadership(
    access const& a, std::string who, std::string const& what_then,
    std::function<void(std::string const& why)> over) {
  leadership_options options{std::move(who), 0, lease, std::move(over)};
  exclusive_leadership lead(new leadership(a, std::move(options)));
  auto const seen = lead->try_to_lead();
  if (!seen) return with_name(a, seen.error());
  if (seen->leads) return lead;
  return refused(a, "a server is using it: " + (seen->leader.empty() ? "unknown" : seen->leader) +
                        "; " + what_then);
}

muster::result<copied> restore_into(access const& a, view const& from, watcher const& watch,
                                    std::function<void(std::string const& why)> over) {
  auto const found = inspect(from, watch);
  if (!found) return found.error();
  auto const lead = acquire_exclusive_leadership(a, "muster data restore",
                                                 "stop it, and specify an empty prefix", over);
  if (!lead) return lead.error();
  client c(a);
  c.require((*lead)->begun().created);
  std::int64_t keys = 0;
  auto const counted = revision_and_count(c, keys);
  if (!counted) return with_name(a, counted.error());
  if (keys > 1)
    return refused(a, "already contains " + std::to_string(keys - 1) +
                          " keys; specify an empty prefix, or remove them with "
                          "'etcdctl del --prefix " +
                          a.where.prefix + "/'");
  return fill(a, (*lead)->begun(), from, found->entries(), watch, over);
}

muster::result<repair_plan> repair_prefix(access const& a, std::filesystem::path const& copy,
                                          bool drop, watcher const& watch,
                                          std::function<void(std::string const& why)> over) {
  // Leading would write a key, so a prefix that no server has written is rejected first.
  {
    auto const view = etcd_view::open(a, watch, lost_values::unreadable);
    if (!view) return view.error();
    if (auto const ours = format_of(**view); !ours) return ours.error();
  }
  auto const lead = acquire_exclusive_leadership(a, "muster data repair", "stop it first", over);
  if (!lead) return lead.error();
  auto s = etcd_store::open(a, (*lead)->begun(),
                            {.bytes_max = std::numeric_limits<std::uint64_t>::max(), .over = over});
  if (!s) return with_name(a, s.error());
  auto const view = etcd_view::open(a, watch, lost_values::unreadable);
  if (!view) return view.error();
  return repair_store(**view, {}, **s, copy, drop, watch);
}

muster::result<trimmed> drop_history(access const& a) {
  client c(a);
  trimmed t;
  std::int64_t keys = 0;
  auto const revision = revision_and_count(c, keys);
  if (!revision) return with_name(a, revision.error());
  t.revision = *revision;
  size_of(c, t.bytes, t.in_use_before);
  wire::CompactionRequest request;
  request.set_revision(t.revision);
  request.set_physical(true);
  wire::CompactionResponse answer;
  auto const done =
      c.once(compaction_limit, calling(&member::kv, &wire::KV::Stub::Compact, request, answer));
  bool const earlier = done.error_code() == grpc::StatusCode::OUT_OF_RANGE;
  if (!done.ok() && !earlier) return with_name(a, c.in_words(done));
  size_of(c, t.bytes, t.in_use_after);
  return t;
}

}  // namespace muster::server::journal::etcd
