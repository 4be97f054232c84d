// Datasets share the numbers, streams and tickets of objects, but the server itself answers their
// calls.
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/core/objects/object_table.hpp"

namespace muster::core {

namespace {

constexpr std::size_t head_bytes = 20;  // size of closure, attempt, epoch and `whole`

std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t n = 0;
  for (std::size_t i = size; i-- > 0;) n = n << 8 | static_cast<unsigned char>(bytes[at + i]);
  return n;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(number_at(bytes, at, 4));
}

}  // namespace

std::optional<datasets::draw_request> datasets::draw_from(std::string_view args) {
  if (args.size() < head_bytes || args.size() % 4 != 0) return {};
  draw_request r{closure_id{number_at(args, 0, 8)},
                 number_at(args, 8),
                 number_at(args, 12),
                 number_at(args, 16) != 0,
                 {}};
  for (auto at = head_bytes; at < args.size(); at += 4) r.passed.push_back(number_at(args, at));
  return r;
}

std::optional<datasets::position> datasets::position_from(std::string_view args) {
  if (args.size() < 4 || args.size() % 4 != 0) return {};
  position p{number_at(args, 0), {}};
  for (std::size_t at = 4; at < args.size(); at += 4) p.done.push_back(number_at(args, at));
  return p;
}

namespace objects {
namespace {

std::string shown(dataset_id id, dataset const& d) {
  return d.name().empty() ? "dataset " + text(id) : "dataset '" + d.name() + "'";
}

failure input(std::string type, std::string message) {
  return {failure_kind::input, std::move(type), std::move(message), "", "", 0};
}

void append(std::string& to, std::uint32_t n) {
  for (int shift = 0; shift < 32; shift += 8) to.push_back(static_cast<char>(n >> shift & 0xff));
}

blob in_words(dataset const& d, drawn_split const& s) {
  std::string bytes;
  append(bytes, s.split);
  append(bytes, s.epoch);
  bytes += d.split(s.split);
  return blob(std::move(bytes), encoding::bytes);
}

std::string in_json(dataset const& d, std::string const& done) {
  auto const now = d.counts();
  return "{\"epoch\":" + std::to_string(now.epoch) + ",\"epochs\":" + std::to_string(d.epochs()) +
         ",\"splits\":" + std::to_string(now.splits) + ",\"queued\":" + std::to_string(now.queued) +
         ",\"drawn\":" + std::to_string(now.drawn) + ",\"done\":" + done + "}";
}

blob position_of(dataset const& d) {
  std::string done;
  for (auto const i : d.where().done) done += (done.empty() ? "" : ",") + std::to_string(i);
  return blob(in_json(d, "[" + done + "]"));
}

blob progress_of(dataset const& d) {
  return blob(in_json(d, std::to_string(d.counts().done)));
}

status over(std::string field, std::uint64_t is, std::uint64_t limit) {
  auto words = std::to_string(is) + ", the limit is " + std::to_string(limit);
  return wrong_field(std::move(field), words, limit);
}

}  // namespace

status object_table::check(datasets::dataset_spec const& spec) const {
  auto const& l = dataset_limits_;
  if (spec.name.size() > l.name_bytes_max) return over("name", spec.name.size(), l.name_bytes_max);
  for (unsigned char const c : spec.name)
    if (c < 32) return wrong_field("name", "must not contain control characters");
  if (spec.splits.empty()) return wrong_field("splits", "required: at least one split");
  if (spec.splits.size() > l.splits_max) return over("splits", spec.splits.size(), l.splits_max);
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < spec.splits.size(); ++i) {
    auto const size = spec.splits[i].size();
    if (size > l.split_bytes_max)
      return over("splits[" + std::to_string(i) + "], in bytes", size, l.split_bytes_max);
    bytes += size;
  }
  if (bytes > l.dataset_bytes_max) return over("splits, in bytes", bytes, l.dataset_bytes_max);
  if (spec.epochs == 0) return wrong_field("epochs", "must be at least 1, got 0");
  if (spec.epochs > l.epochs_max) return over("epochs", spec.epochs, l.epochs_max);
  if (auto bad = dataset::check(spec.at, spec.splits.size(), spec.epochs); !bad.ok()) return bad;
  if (datasets_.size() >= l.datasets_max)
    return {code::resource_exhausted,
            "the server has " + std::to_string(datasets_.size()) + " datasets, which is the limit"};
  if (dataset_bytes_ + bytes + spec.splits.size() * l.split_overhead > l.bytes_max)
    return {code::resource_exhausted,
            "splits: all datasets together use " + std::to_string(dataset_bytes_) +
                " bytes; the limit is " + std::to_string(l.bytes_max),
            "splits", l.bytes_max};
  return {};
}

result<dataset_id> object_table::create_dataset(time_point now, session_id s, std::uint64_t number,
                                                datasets::dataset_spec spec) {
  auto const it = sessions_.find(s);
  if (it == sessions_.end())
    return status{code::failed_precondition, "ticket: must be sent before datasets"};
  auto& all = it->second.datasets;
  if (auto const made = all.find(number); made != all.end()) return made->second;
  if (auto bad = check(spec); !bad.ok()) return bad;
  dataset_id const id{book_.next_number()};
  auto const [at, fresh] =
      datasets_.try_emplace(id, dataset_limits_, std::move(spec), s, it->second.of.submitter, now);
  dataset_bytes_ += at->second.bytes();
  all.emplace(number, id);
  if (all.size() > 2 * dataset_limits_.datasets_max)
    std::erase_if(all, [this](auto const& old) { return !find(old.second); });
  return id;
}

void object_table::remove(dataset_id id) {
  auto const it = datasets_.find(id);
  auto& d = it->second;
  for (auto const& n : d.abandon())
    if (auto const* c = calls_.find(n); c && !c->answered)
      fail(n, {failure_kind::cancelled, "", shown(id, d) + " was deleted", "", "", 0});
  for (auto drew = drawing_.begin(); drew != drawing_.end();) {
    std::erase(drew->second, id);
    drew = drew->second.empty() ? drawing_.erase(drew) : std::next(drew);
  }
  dataset_bytes_ -= d.bytes();
  splits_done_before_ += d.done_ever();
  splits_given_back_before_ += d.given_back();
  datasets_.erase(it);
}

void object_table::refuse(caller_id who, call_spec const& c, failure why) {
  call_name const name{who, c.number};
  if (take(name, c)) fail(name, std::move(why));
}

void object_table::draw(caller_id who, session_id s, call_spec const& c,
                        datasets::draw_request const& r, session_id of, std::string const& worker) {
  call_name const name{who, c.number};
  if (!take(name, c)) return;
  auto const it = datasets_.find(dataset_id{raw(c.object)});
  if (it == datasets_.end()) return fail(name, refused(s, nullptr, c));
  auto& d = it->second;
  if (d.owner() != s)
    return fail(
        name,
        because(
            failure_reason::ticket_refused,
            input("muster.TicketError",
                  "the session of the handle has ended, or the handle belongs to another server")));
  if (of != s)
    return fail(
        name, input("", shown(it->first, d) + " belongs to " + core::text(s) +
                            "; only functions of that session can read from it, not functions of " +
                            core::text(of)));
  auto& drawn = drawing_[r.closure];
  if (!d.has(r.closure)) drawn.push_back(it->first);
  dataset::answers dealt;
  d.draw(name, r, worker, dealt);
  deal(d, dealt);
}

void object_table::deal(dataset const& d, dataset::answers const& dealt) {
  for (auto const& a : dealt) {
    // If the caller has left, its closure ends, and the closure's splits are requeued.
    auto const* c = calls_.find(a.name);
    if (!c || c->answered) continue;
    if (!a.wrong.empty())
      fail(a.name, input("", a.wrong));
    else
      queue_answer(calls_.answer(
          a.name, {a.name, true, a.split ? in_words(d, *a.split) : blob("null"), {}}));
  }
}

void object_table::closure_stops(closure_id closure) {
  auto const drew = drawing_.find(closure);
  if (drew == drawing_.end()) return;
  for (auto const id : drew->second) {
    auto& d = datasets_.at(id);
    dataset::answers dealt;
    d.stop(closure, dealt);
    deal(d, dealt);
  }
}

void object_table::closure_ended(closure_id closure, bool succeeded) {
  auto const drew = drawing_.extract(closure);
  if (drew.empty()) return;
  for (auto const id : drew.mapped()) {
    auto const it = datasets_.find(id);
    if (it == datasets_.end()) continue;
    dataset::answers dealt;
    it->second.ended(closure, succeeded, dealt);
    deal(it->second, dealt);
  }
}

void object_table::ask(dataset_id id, call_name const& name, session_id s, call_spec const& c) {
  auto& d = datasets_.at(id);
  if (d.owner() != s)
    return fail(
        name,
        because(
            failure_reason::ticket_refused,
            input("muster.TicketError",
                  "the session of the handle has ended, or the handle belongs to another server")));
  if (c.method == "go_to") {
    auto const at = datasets::position_from(c.args.view());
    if (!at) return fail(name, input("", "args: not a valid dataset position"));
    dataset::answers dealt;
    auto done = dataset::check(*at, d.splits(), d.epochs());
    if (done.ok()) done = d.seek_to(*at, dealt);
    if (!done.ok()) return fail(name, input("", done.message));
    deal(d, dealt);
  } else if (c.method == "progress") {
    return queue_answer(calls_.answer(name, {name, true, progress_of(d), {}}));
  } else if (c.method != "position") {
    return fail(name,
                input("", c.method == "draw" ? "only functions that run on workers can read splits"
                                             : "a dataset has no method '" + c.method + "'"));
  }
  queue_answer(calls_.answer(name, {name, true, position_of(d), {}}));
}

datasets::dataset_totals object_table::dataset_totals() const {
  datasets::dataset_totals t;
  t.done_ever = splits_done_before_;
  t.given_back_ever = splits_given_back_before_;
  for (auto const& [id, d] : datasets_) {
    auto const now = d.counts();
    ++t.datasets;
    t.queued += now.queued;
    t.drawn += now.drawn;
    t.done += now.done;
    t.waiting += now.waiting;
    t.done_ever += d.done_ever();
    t.given_back_ever += d.given_back();
  }
  return t;
}

std::vector<datasets::dataset_view> object_table::list_datasets(
    dataset_id before, std::size_t limit, std::string const& submitter) const {
  std::vector<datasets::dataset_view> views;
  auto it = before == dataset_id{} ? datasets_.end() : datasets_.lower_bound(before);
  while (it != datasets_.begin() && views.size() < limit) {
    --it;
    auto const& d = it->second;
    if (submitter.empty() || d.submitter().empty() || d.submitter() == submitter)
      views.push_back(d.view(it->first));
  }
  return views;
}

}  // namespace objects
}  // namespace muster::core
