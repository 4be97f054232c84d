// Entries: one per job or session, per request, and per closure that has finished or that a worker
// has returned. A job's entries are deleted with the job; a session's request is deleted when all
// its closures are released.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include "server/core/api/id_text.hpp"
#include "server/journal/each_entry.hpp"
#include "server/journal/fact_encoding.hpp"
#include "server/journal/job_entries.hpp"

namespace muster::server::journal {
namespace {

// This function is hand-written for speed, because each finished or deleted closure needs keys.
void append(std::string& to, std::uint64_t number, std::uint64_t base, std::size_t digits) {
  to.append(digits, '0');
  for (auto at = to.end(); number > 0; number /= base) *--at = "0123456789abcdef"[number % base];
}

std::string key_of(char kind, core::session_id job) {
  std::string key;
  key.reserve(2 + 2 * id_digits + 1);
  key.append(1, kind).append(1, '\0');
  append(key, raw(job), 16, id_digits);
  return key;
}

std::string key_of(core::session_id job, core::per_worker_id value) {
  auto key = key_of('p', job);
  key += '\0';
  append(key, raw(value), 16, id_digits);
  return key;
}

std::string key_of(char kind, core::session_id job, std::uint32_t position) {
  auto key = key_of(kind, job);
  key += '\0';
  append(key, position, 10, position_digits);
  return key;
}

struct encoder {
  std::string const& cluster;
  std::vector<change>& into;

  template <class Entry>
  void put(std::string key, Entry const& e) const {
    into.push_back({change::kind::put, std::move(key), encoded_entry(e)});
  }

  void operator()(core::accepted_fact const& f) const {
    accepted_entry e{.created = f.created, .functions = f.functions, .callables = f.callables};
    std::map<core::closure_extras const*, std::uint32_t> known;
    bool bytes = false, extras = false, tokens = false, own_errors = false;
    for (auto const& c : f.closures) {
      bytes = bytes || c.args.encoding() == core::encoding::bytes;
      extras = extras || c.extras;
      tokens = tokens || c.token != 0;
      own_errors = own_errors || c.own_error;
    }
    for (auto const& c : f.closures) {
      e.ids.push_back(c.id);
      e.function.push_back(c.function);
      e.args.push_back(c.args);
      if (bytes) e.encodings.push_back(c.args.encoding());
      if (tokens) e.tokens.push_back(c.token);
      if (own_errors) e.own_errors.push_back(c.own_error);
      if (!extras) continue;
      std::uint32_t at = 0;
      if (c.extras) {
        auto const [it, fresh] = known.try_emplace(c.extras.get(), known.size() + 1);
        if (fresh) e.extras.push_back(c.extras);
        at = it->second;
      }
      e.extras_of.push_back(at);
    }
    put(key_of('a', f.job, f.first), e);
  }

  void operator()(core::closure_fact const& f) const { put(key_of('e', f.job, f.order), f); }

  void operator()(core::closure_removed const& f) const {
    into.push_back({change::kind::put, key_of('e', f.job, f.order), std::string(forgotten_entry)});
  }

  void operator()(core::request_removed const& f) const {
    into.push_back({change::kind::erase, key_of('a', f.job, f.first), {}});
    for (std::uint32_t i = 0; i < f.size; ++i)
      into.push_back({change::kind::erase, key_of('e', f.job, f.first + i), {}});
  }

  void operator()(core::per_worker_fact const& f) const {
    put(key_of(f.job, f.id), per_worker_entry{f.job == core::session_id{} ? cluster : "", f});
  }

  void operator()(core::per_worker_removed const& f) const {
    into.push_back({change::kind::erase, key_of(f.job, f.id), {}});
  }

  void operator()(core::job_fact const& f) const {
    job_entry e{cluster, 0, f};
    if (f.spec.delivery == core::delivery::job)
      e.job.generation = 0;
    else
      e.delivery = f.spec.delivery == core::delivery::resumable ? 1 : 2;
    put(key_of('j', f.id), e);
  }

  void operator()(core::job_removed const& f) const {
    for (char const kind : {'j', 'p', 'a', 'e'})
      into.push_back({change::kind::erase_below, key_of(kind, f.job), {}});
  }
};

core::accepted_fact requested(core::session_id job, std::uint32_t first, accepted_entry& e) {
  core::accepted_fact f{job, first, e.created, std::move(e.functions), {}, std::move(e.callables)};
  f.closures.reserve(e.ids.size());
  for (std::size_t i = 0; i < e.ids.size(); ++i) {
    auto& args = e.args[i];
    if (!e.encodings.empty() && e.encodings[i] != core::encoding::json)
      args = core::blob(args.view(), e.encodings[i]);
    auto const x = e.extras_of.empty() ? 0 : e.extras_of[i];
    f.closures.push_back({e.ids[i], e.function[i], std::move(args),
                          x > 0 ? e.extras[x - 1] : nullptr, e.tokens.empty() ? 0 : e.tokens[i],
                          false, !e.own_errors.empty() && e.own_errors[i]});
  }
  return f;
}

// Visits all entries of one kind in all jobs. Returns an error when `take` returns false.
template <class Entry, class Take>
muster::status each(store const& s, char kind, Take take) {
  return each_entry<Entry>(s, std::string(1, kind) + '\0', take);
}

using jobs = std::map<core::session_id, stored_job>;

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
  auto const accepted = each<accepted_entry>(s, 'a', [&](std::string_view key, accepted_entry& e) {
    auto const job = all.find(job_in(key));
    auto const first = number_in(key);
    if (job == all.end() || !first || !fits(e) || !follows_last(job->second, *first)) return false;
    job->second.job.accepted.push_back(requested(job->first, *first, e));
    return true;
  });
  if (!accepted.ok()) return accepted;
  return each_entry_of(s, std::string("e\0", 2), [&](auto key, std::string_view value) {
    auto const job = all.find(job_in(key));
    auto const order = number_in(key);
    auto* const c = job == all.end() || !order ? nullptr : accepted_at(job->second, *order);
    if (!c) return false;
    c->forgotten = is_forgotten(value);
    if (c->forgotten) return true;
    bool in_range = true;
    auto& f = job->second.job.closures.emplace_back();
    return decode_entry(value, f, in_range) && complete(f, job->first, *order) && in_range;
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

// Returns an error message if two closures have the same slot in the closure table.
std::string first_place_violation(jobs const& all) {
  std::unordered_set<std::uint32_t> places;
  std::optional<std::pair<core::session_id, core::closure_id>> wrong;
  each_closure(all, [&](core::session_id job, core::closure_id c) {
    if (!has_place(c) || !places.insert(place_of(c)).second) wrong = {job, c};
    return !wrong;
  });
  if (!wrong) return {};
  auto const [job, c] = *wrong;
  std::string text;
  if (!has_place(c)) text = "the closure " + named(job, c) + " has an invalid id";
  each_closure(all, [&](core::session_id other, core::closure_id o) {
    if (text.empty() && place_of(o) == place_of(c))
      text = "the closures " + named(other, o) + " and " + named(job, c) + " have the same id";
    return text.empty();
  });
  return text + "; 'muster data repair' gives each closure its own id";
}

}  // namespace

bool complete(job_entry& e, core::session_id job) {
  auto& f = e.job;
  f.id = job;
  f.spec.durable = true;
  bool const ok = job != core::session_id{} && f.state <= core::job_state::cancelled &&
                  f.spec.weight >= 1 && f.spec.weight <= 1'000 && e.delivery <= 2;
  if (e.delivery == 0) {
    f.generation = 1;
    return ok;
  }
  f.spec.delivery = e.delivery == 1 ? core::delivery::resumable : core::delivery::unary;
  return ok && f.state == core::job_state::running && f.generation >= 1;
}

bool fits(accepted_entry const& e) {
  auto const n = e.ids.size();
  auto const is = [n](std::size_t size) { return size == 0 || size == n; };
  auto const below = [](auto const& all, std::size_t end) {
    return std::all_of(all.begin(), all.end(), [end](auto at) { return at < end; });
  };
  return n > 0 && e.function.size() == n && e.args.size() == n && is(e.encodings.size()) &&
         is(e.extras_of.size()) && is(e.tokens.size()) && is(e.own_errors.size()) &&
         (e.callables.empty() || e.callables.size() == e.functions.size()) &&
         below(e.function, e.functions.size()) && below(e.extras_of, e.extras.size() + 1);
}

bool complete(core::closure_fact& f, core::session_id job, std::uint32_t order) {
  using core::closure_state;
  f.job = job;
  f.order = order;
  bool const done = core::ended(f.state);
  if (f.state != closure_state::succeeded)
    f.value = {};
  else if (!f.value)
    f.value = core::blob("");
  return (done || (f.state == closure_state::running && f.newest) ||
          f.state == closure_state::queued) &&
         f.failure.has_value() == (done && f.state != closure_state::succeeded);
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
  std::map<std::string, stored_job> sessionless_values;
  auto const read = each<job_entry>(s, 'j', [&](std::string_view key, job_entry& e) {
    auto const id = job_in(key);
    bool const ok = complete(e, id);
    all[id] = {std::move(e.cluster), {std::move(e.job), {}, {}, {}}};
    return ok;
  });
  if (!read.ok()) return read;
  auto const values =
      each<per_worker_entry>(s, 'p', [&](std::string_view key, per_worker_entry& e) {
        auto const id = job_in(key);
        auto const value = value_in(key);
        bool const owned = id != core::session_id{};
        if ((owned && !all.contains(id)) || value == core::per_worker_id{} ||
            e.value.function.empty())
          return false;
        auto& with = owned ? all[id] : sessionless_values[e.cluster];
        e.value.job = id;
        e.value.id = value;
        if (!e.value.args) e.value.args = core::blob("");
        with.job.per_worker.push_back(std::move(e.value));
        return true;
      });
  if (!values.ok()) return values;
  if (auto const closures = load_closures(s, all); !closures.ok()) return closures;
  if (auto const wrong = first_place_violation(all); !wrong.empty())
    return muster::status{code::internal, wrong};
  std::vector<stored_job> list;
  list.reserve(all.size() + sessionless_values.size());
  for (auto& [cluster, own] : sessionless_values) {
    own.cluster = cluster;
    list.push_back(std::move(own));
  }
  for (auto& [id, job] : all) list.push_back(std::move(job));
  return list;
}

}  // namespace muster::server::journal
