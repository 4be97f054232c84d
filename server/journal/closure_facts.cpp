// A job or session is one entry, each request of it one more, and each closure that has ended, or
// come back from a worker, one; they go with their job, those of a session when all closures of
// their request are released.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/journal/closure_words.hpp"
#include "server/journal/each_entry.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/job_entries.hpp"

namespace muster::server::journal {
namespace {

constexpr std::size_t job_digits = 16;  // and of a value

// A number of so many digits; for each closure that ends and each that goes, so by hand.
void append(std::string& to, std::uint64_t number, std::uint64_t base, std::size_t digits) {
  to.append(digits, '0');
  for (auto at = to.end(); number > 0; number /= base) *--at = "0123456789abcdef"[number % base];
}

std::string key_of(char kind, core::session_id job) {
  std::string key;
  key.reserve(2 + 2 * job_digits + 1);
  key.append(1, kind).append(1, '\0');
  append(key, raw(job), 16, job_digits);
  return key;
}

std::string key_of(core::session_id job, core::per_worker_id value) {
  auto key = key_of('p', job);
  key += '\0';
  append(key, raw(value), 16, job_digits);
  return key;
}

std::string key_of(char kind, core::session_id job, std::uint32_t position) {
  auto key = key_of(kind, job);
  key += '\0';
  append(key, position, 10, 10);
  return key;
}

// Appends what has to be written for a fact.
struct encoder {
  std::string const& cluster;  // whose jobs they are
  std::vector<change>& into;

  void operator()(core::accepted_fact const& f) const {
    wire::Accepted w;
    w.set_created(us(f.created));
    for (auto const& name : f.functions) w.add_functions(name);
    for (auto const& c : f.callables) {
      auto& to = *w.add_callables();
      to.set_name(c.name);
      to.set_hash(c.hash);
    }
    std::map<core::closure_extras const*, std::uint32_t>
        known;  // shared by those that ask the same
    bool bytes = false, extras = false, tokens = false, own_errors = false;
    for (auto const& c : f.closures) {
      bytes = bytes || c.args.encoding() == core::encoding::bytes;
      extras = extras || c.extras;
      tokens = tokens || c.token != 0;
      own_errors = own_errors || c.own_error;
    }
    for (auto const& c : f.closures) {
      w.add_ids(raw(c.id));
      w.add_function(c.function);
      w.add_args(c.args.view().data(), c.args.size());
      if (bytes) w.add_encodings(static_cast<std::uint32_t>(c.args.encoding()));
      if (tokens) w.add_tokens(c.token);
      if (own_errors) w.add_own_errors(c.own_error);
      if (!extras) continue;
      std::uint32_t at = 0;
      if (c.extras) {
        auto const [it, fresh] = known.try_emplace(c.extras.get(), known.size() + 1);
        if (fresh) encode(*c.extras, *w.add_extras());
        at = it->second;
      }
      w.add_extras_of(at);
    }
    into.push_back({change::kind::put, key_of('a', f.job, f.first), w.SerializeAsString()});
  }

  void operator()(core::closure_fact const& f) const {
    wire::ClosureState w;
    w.set_state(static_cast<std::uint32_t>(f.state));
    w.set_value(f.value.view().data(), f.value.size());
    w.set_encoding(static_cast<std::uint32_t>(f.value.encoding()));
    if (f.dropped) w.set_dropped(static_cast<std::uint32_t>(*f.dropped));
    if (f.failure) encode(*f.failure, *w.mutable_failure());
    w.set_attempt(f.attempt);
    w.set_worker_failures(f.worker_failures);
    w.set_retries(f.retries);
    w.set_workers_lost(f.workers_lost);
    w.set_processes_ended(f.processes_ended);
    w.set_started(us(f.started));
    w.set_finished(us(f.finished));
    for (auto const& a : f.lost) encode(a, *w.add_lost());
    if (f.newest) encode(*f.newest, *w.mutable_newest());
    w.set_released(f.released);
    w.set_exclusive(f.exclusive);
    into.push_back({change::kind::put, key_of('e', f.job, f.order), w.SerializeAsString()});
  }

  void operator()(core::closure_gone const& f) const {
    wire::ClosureState w;
    w.set_state(forgotten);
    into.push_back({change::kind::put, key_of('e', f.job, f.order), w.SerializeAsString()});
  }

  void operator()(core::request_gone const& f) const {
    into.push_back({change::kind::erase, key_of('a', f.job, f.first), {}});
    for (std::uint32_t i = 0; i < f.size; ++i)
      into.push_back({change::kind::erase, key_of('e', f.job, f.first + i), {}});
  }

  void operator()(core::per_worker_fact const& f) const {
    wire::PerWorker w;
    if (f.job == core::session_id{}) w.set_cluster(cluster);
    w.set_name(f.name);
    w.set_function(f.function);
    w.set_args(f.args.view().data(), f.args.size());
    w.set_encoding(static_cast<std::uint32_t>(f.args.encoding()));
    w.set_token(f.token);
    w.set_submitted_by(f.submitted_by);
    w.set_released(f.released);
    w.set_created(us(f.created));
    into.push_back({change::kind::put, key_of(f.job, f.id), w.SerializeAsString()});
  }

  void operator()(core::per_worker_gone const& f) const {
    into.push_back({change::kind::erase, key_of(f.job, f.id), {}});
  }

  void operator()(core::job_fact const& f) const {
    wire::DurableJob w;
    w.set_cluster(cluster);
    encode(f, w);
    into.push_back({change::kind::put, key_of('j', f.id), w.SerializeAsString()});
  }

  void operator()(core::job_gone const& f) const {
    for (char const kind : {'j', 'p', 'a', 'e'})
      into.push_back({change::kind::erase_below, key_of(kind, f.job), {}});
  }
};

core::accepted_fact requested(core::session_id job, std::uint32_t first, wire::Accepted const& w) {
  core::accepted_fact f{job, first, time(w.created()), {}, {}};
  f.functions.assign(w.functions().begin(), w.functions().end());
  for (auto const& c : w.callables()) f.callables.push_back({c.name(), c.hash()});
  std::vector<std::shared_ptr<core::closure_extras const>> extras{nullptr};
  for (auto const& x : w.extras())
    extras.push_back(std::make_shared<core::closure_extras const>(decoded(x)));
  f.closures.reserve(static_cast<std::size_t>(w.ids_size()));
  for (int i = 0; i < w.ids_size(); ++i) {
    auto const as = w.encodings_size() > 0 ? w.encodings(i) & 1 : 0;
    f.closures.push_back({core::closure_id{w.ids(i)}, w.function(i),
                          core::blob(w.args(i), static_cast<core::encoding>(as)),
                          w.extras_of_size() > 0 ? extras[w.extras_of(i)] : nullptr,
                          w.tokens_size() > 0 ? w.tokens(i) : 0, false,
                          w.own_errors_size() > 0 && w.own_errors(i)});
  }
  return f;
}

// Of one kind, those of all jobs: `take(job, position, message)`; false: it does not fit.
template <class Message, class Take>
muster::status each(store const& s, char kind, Take take) {
  return each_entry<Message>(s, std::string(1, kind) + '\0', [&](auto key, auto const& m) {
    return take(job_in(key), position_in(key, kind == 'p' ? 16 : 10), m);
  });
}

using jobs = std::map<core::session_id, stored_job>;

// Where a closure was accepted; null: nowhere.
core::accepted_closure* accepted_at(stored_job& j, std::uint32_t order) {
  auto const after =
      std::upper_bound(j.job.accepted.begin(), j.job.accepted.end(), order,
                       [](std::uint32_t at, core::accepted_fact const& f) { return at < f.first; });
  if (after == j.job.accepted.begin()) return nullptr;
  auto& in = *std::prev(after);
  return order - in.first < in.closures.size() ? &in.closures[order - in.first] : nullptr;
}

bool follows_last(stored_job const& j, std::uint64_t first) {
  auto const& before = j.job.accepted;
  auto const end = before.empty() ? 0 : before.back().first + before.back().closures.size();
  return follows(j.job.job.spec.delivery, end, first);
}

muster::status load_closures(store const& s, jobs& all) {
  auto const accepted =
      each<wire::Accepted>(s, 'a', [&](core::session_id id, std::uint64_t first, auto const& w) {
        auto const job = all.find(id);
        if (job == all.end() || !fits(w) || !follows_last(job->second, first)) return false;
        job->second.job.accepted.push_back(requested(id, static_cast<std::uint32_t>(first), w));
        return true;
      });
  if (!accepted.ok()) return accepted;
  return each<wire::ClosureState>(
      s, 'e', [&](core::session_id id, std::uint64_t at, auto const& w) {
        auto const job = all.find(id);
        auto const order = static_cast<std::uint32_t>(at);
        auto* const c = job == all.end() ? nullptr : accepted_at(job->second, order);
        bool ok = c != nullptr;
        if (!ok) return false;
        if (w.state() == forgotten)
          c->forgotten = true;
        else
          job->second.job.closures.push_back(state_in(id, order, w, ok));
        return ok;
      });
}

template <class F>
void each_closure(jobs const& all, F f) {
  for (auto const& [id, j] : all)
    for (auto const& request : j.job.accepted)
      for (auto const& c : request.closures)
        if (!c.forgotten && !f(id, c.id)) return;
}

std::string named(core::session_id job, core::closure_id c) {
  return core::text(c) + " of " + core::text(job);
}

// Each closure has a place in the table of closures, no two have the same. Returns the first that
// does not fit, in words; empty: all fit.
std::string wrong_place(jobs const& all) {
  std::unordered_set<std::uint32_t> places;
  std::optional<std::pair<core::session_id, core::closure_id>> wrong;
  each_closure(all, [&](core::session_id job, core::closure_id c) {
    if (!has_place(c) || !places.insert(place_of(c)).second) wrong = {job, c};
    return !wrong;
  });
  if (!wrong) return {};
  auto const [job, c] = *wrong;
  std::string text;
  if (!has_place(c)) text = "the closure " + named(job, c) + " has no place";
  each_closure(all, [&](core::session_id other, core::closure_id o) {
    if (text.empty() && place_of(o) == place_of(c))
      text = "the closures " + named(other, o) + " and " + named(job, c) + " have the same place";
    return text.empty();
  });
  return text + "; 'muster data repair' gives each its own";
}

}  // namespace

// Parts of the loading of jobs that the repair of a store uses as well.
core::session_id job_in(std::string_view key) {
  if (key.size() < 2 + job_digits) return {};
  return core::session_id{
      std::strtoull(std::string(key.substr(2, job_digits)).c_str(), nullptr, 16)};
}

std::uint64_t position_in(std::string_view key, int base) {
  if (key.size() <= 3 + job_digits) return ~std::uint64_t{0};
  return std::strtoull(std::string(key.substr(3 + job_digits)).c_str(), nullptr, base);
}

bool fits(wire::Accepted const& w) {
  auto const n = w.ids_size();
  auto const is = [n](int size) { return size == 0 || size == n; };
  if (n == 0 || w.function_size() != n || w.args_size() != n || !is(w.encodings_size()) ||
      !is(w.extras_of_size()) || !is(w.tokens_size()) || !is(w.own_errors_size()) ||
      (w.callables_size() != 0 && w.callables_size() != w.functions_size()))
    return false;
  for (auto const f : w.function())
    if (f >= static_cast<std::uint32_t>(w.functions_size())) return false;
  for (auto const x : w.extras_of())
    if (x > static_cast<std::uint32_t>(w.extras_size())) return false;
  return true;
}

core::closure_fact state_in(core::session_id job, std::uint32_t order, wire::ClosureState const& w,
                            bool& ok) {
  core::closure_fact f;
  f.job = job;
  f.order = order;
  f.state = static_cast<core::closure_state>(w.state());
  bool const done = core::ended(f.state);
  bool const runs = f.state == core::closure_state::running;
  ok = ok && (done || (runs && w.has_newest()) || f.state == core::closure_state::queued) &&
       w.state() <= static_cast<std::uint32_t>(core::closure_state::cancelled) &&
       w.dropped() < enum_size<core::release_reason> &&
       w.has_failure() == (done && f.state != core::closure_state::succeeded);
  if (f.state == core::closure_state::succeeded)
    f.value = core::blob(w.value(), static_cast<core::encoding>(w.encoding() & 1));
  if (w.has_dropped()) f.dropped = static_cast<core::release_reason>(w.dropped());
  if (w.has_failure()) f.failure = decoded(w.failure(), ok);
  f.attempt = w.attempt();
  f.worker_failures = w.worker_failures();
  f.retries = w.retries();
  f.workers_lost = w.workers_lost();
  f.processes_ended = w.processes_ended();
  f.started = time(w.started());
  f.finished = time(w.finished());
  for (auto const& a : w.lost()) f.lost.push_back(decoded(a, ok));
  if (w.has_newest()) f.newest = decoded(w.newest(), ok);
  f.released = w.released();
  f.exclusive = w.exclusive();
  return f;
}

bool follows(core::delivery d, std::uint64_t end, std::uint64_t first) {
  if (first > ~std::uint32_t{0}) return false;
  return d == core::delivery::job ? first == end : first >= end;
}

void encode(std::string const& cluster, std::vector<core::fact> const& facts,
            std::vector<change>& into) {
  for (auto const& f : facts) std::visit(encoder{cluster, into}, f);
}

muster::result<std::vector<stored_job>> load_jobs(store const& s) {
  jobs all;
  std::map<std::string, stored_job> of_nobody;  // by cluster
  auto const read =
      each<wire::DurableJob>(s, 'j', [&](core::session_id id, std::uint64_t, auto const& w) {
        bool ok = id != core::session_id{};
        auto& job = all[id];
        job.cluster = w.cluster();
        job.job.job = decoded(id, w, ok);
        return ok;
      });
  if (!read.ok()) return read;
  auto const values =
      each<wire::PerWorker>(s, 'p', [&](core::session_id id, std::uint64_t number, auto const& w) {
        bool const owned = id != core::session_id{};
        if ((owned && !all.contains(id)) || number == 0 || w.function().empty()) return false;
        auto& with = owned ? all[id] : of_nobody[w.cluster()];
        with.job.per_worker.push_back(
            {id, core::per_worker_id{number}, w.name(), w.function(),
             core::blob(w.args(), static_cast<core::encoding>(w.encoding() & 1)), w.token(),
             w.released(), time(w.created()), w.submitted_by()});
        return true;
      });
  if (!values.ok()) return values;
  if (auto const closures = load_closures(s, all); !closures.ok()) return closures;
  if (auto const wrong = wrong_place(all); !wrong.empty())
    return muster::status{code::internal, wrong};
  std::vector<stored_job> list;
  list.reserve(all.size() + of_nobody.size());
  for (auto& [cluster, own] : of_nobody) {
    own.cluster = cluster;
    list.push_back(std::move(own));
  }
  for (auto& [id, job] : all) list.push_back(std::move(job));
  return list;
}

}  // namespace muster::server::journal
