// The plan is verified on a view that contains the changes, before anything is written.
#include "server/journal/repair.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "muster/journal/v1/records.pb.h"
#include "server/core/api/generations.hpp"
#include "server/core/api/id_text.hpp"
#include "server/core/api/server_wide.hpp"
#include "server/journal/entries.hpp"
#include "server/journal/job_entries.hpp"
#include "server/journal/rocks.hpp"
#include "server/journal/rocks_store.hpp"

namespace muster::server::journal {
namespace {

namespace fs = std::filesystem;

/// Each change must affect a single key.
class changed_view final : public view {
 public:
  changed_view(view const& of, std::vector<change> const& changes) : of_(of) {
    for (auto const& c : changes) changes_[c.key] = &c;
  }
  muster::status read(std::string_view prefix, visitor const& v) const override {
    auto next = changes_.lower_bound(prefix);
    bool goes_on = true;
    auto const show_before = [&](std::string_view const* key) {
      for (; goes_on && next != changes_.end() && next->first.starts_with(prefix) &&
             (!key || next->first <= *key);
           ++next)
        if (next->second->what == change::kind::put) goes_on = v(next->first, next->second->value);
    };
    auto const read = of_.read(prefix, [&](std::string_view key, std::string_view value) {
      show_before(&key);
      if (goes_on && !changes_.contains(key)) goes_on = v(key, value);
      return goes_on;
    });
    if (read.ok()) show_before(nullptr);
    return read;
  }
  std::uint64_t bytes_on_disk() const override { return of_.bytes_on_disk(); }
  std::string name() const override { return of_.name(); }
  std::vector<std::string> const& notes() const override { return of_.notes(); }

 private:
  view const& of_;
  std::map<std::string_view, change const*> changes_;
};

struct request_entry {
  std::string key;
  core::session_id job{};
  std::uint32_t first = 0;
  accepted_entry what;
  std::vector<bool>
      // Whether the client has released the closure, so that it has no slot; indexed by closure.
      released;
  bool changed = false;

  core::closure_id id(std::size_t i) const { return what.ids[i]; }
};

struct job_entries {
  core::session_id id{};
  core::delivery delivery{};
  std::string cluster;
  std::vector<request_entry> requests;  // indexed by the request's first position

  request_entry* with(std::uint64_t order) {
    auto const after =
        std::upper_bound(requests.begin(), requests.end(), order,
                         [](std::uint64_t at, request_entry const& r) { return at < r.first; });
    if (after == requests.begin()) return nullptr;
    auto& r = *std::prev(after);
    return order - r.first < r.what.ids.size() ? &r : nullptr;
  }
};

class planner_of_repair {
 public:
  planner_of_repair(view const& of, bool drop) : of_(of), drop_(drop) {}

  muster::result<repair_plan> plan() {
    auto const f = format_of(of_);
    if (!f) return f.error();
    for (auto const step : {&planner_of_repair::find_unreadable, &planner_of_repair::take_jobs,
                            &planner_of_repair::take_requests, &planner_of_repair::take_states,
                            &planner_of_repair::take_per_worker})
      if (auto const s = (this->*step)(); !s.ok()) return s;
    find_places();
    // A server that loaded old data may have reused a start number.
    if (auto const s = move_all(std::max(f->epoch, epoch_) + 1); !s.ok()) return s;
    return std::move(plan_);
  }

 private:
  void erase(std::string_view key) {
    plan_.changes.push_back({change::kind::erase, std::string(key), {}});
    ++plan_.removed;
  }
  void dead(std::string_view key, std::string const& why) {
    plan_.report.add("removes " + name_of(key).text() + ": " + why);
    erase(key);
  }
  void unusable(std::string_view key, std::string const& why) {
    auto const text = name_of(key).text() + ": " + why;
    plan_.unusable.add(text);
    if (!drop_) return;
    plan_.report.add("removes " + text);
    erase(key);
  }

  muster::status find_unreadable() {
    return of_.read({}, [&](std::string_view key, std::string_view value) {
      auto const name = name_of(key);
      if (name.kind && key != format_key && !is_readable(*name.kind, value)) {
        unreadable_.emplace(key);
        unusable(key, "it cannot be read");
      }
      return true;
    });
  }

  template <class Entry, class Take>
  muster::status each(char kind, Take take) {
    return of_.read(std::string(1, kind) + '\0', [&](std::string_view key, std::string_view value) {
      Entry e;
      bool in_range = true;
      if (!unreadable_.contains(std::string(key)) && decode_entry(value, e, in_range))
        take(key, e, in_range);
      return true;
    });
  }

  muster::status take_jobs() {
    return each<job_entry>('j', [&](std::string_view key, job_entry& e, bool in_range) {
      auto const id = job_in(key);
      if (!complete(e, id) || !in_range) return unusable(key, "its numbers are out of range");
      jobs_[id] = {id, e.job.spec.delivery, std::move(e.cluster), {}};
    });
  }

  muster::status take_requests() {
    return each<accepted_entry>('a', [&](std::string_view key, accepted_entry& e, bool in_range) {
      auto const job = jobs_.find(job_in(key));
      if (job == jobs_.end()) return unusable(key, "its job is missing");
      auto const first = number_in(key);
      if (!first) return unusable(key, "its key contains no position");
      auto& before = job->second.requests;
      auto const end = before.empty() ? 0 : before.back().first + before.back().what.ids.size();
      bool const whole = fits(e) && in_range;
      if (!whole || !follows(job->second.delivery, end, *first))
        return unusable(key, !whole         ? "its columns differ in length"
                             : *first < end ? "the previous request has the same positions"
                                            : "the previous request is missing");
      std::vector<bool> released(e.ids.size());
      before.push_back(
          {std::string(key), job->first, *first, std::move(e), std::move(released), false});
    });
  }

  muster::status take_states() {
    return of_.read({"e\0", 2}, [&](std::string_view key, std::string_view value) {
      take_state(key, value);
      return true;
    });
  }
  void take_state(std::string_view key, std::string_view value) {
    core::closure_fact f;
    bool in_range = true;
    if (unreadable_.contains(std::string(key)) || !decode_entry(value, f, in_range)) return;
    auto const job = jobs_.find(job_in(key));
    auto const order = number_in(key);
    auto* const request = job == jobs_.end() || !order ? nullptr : job->second.with(*order);
    if (!request) return dead(key, "no request contains this closure");
    if (is_forgotten(value))
      request->released[*order - request->first] = true;
    else if (!complete(f, job->first, *order) || !in_range)
      unusable(key, "its numbers are out of range");
  }

  muster::status take_per_worker() {
    return each<per_worker_entry>('p', [&](std::string_view key, per_worker_entry& e, bool) {
      auto const job = job_in(key);
      if (job != core::session_id{} && !jobs_.contains(job))
        return dead(key, "its session is missing");
      if (value_in(key) == core::per_worker_id{} || e.value.function.empty())
        unusable(key, "it contains no function");
    });
  }

  // If several closures have the same slot, the closure of the newest job keeps the slot, because
  // this job's clients were served last.
  void find_places() {
    for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job)
      for (auto& r : job->second.requests)
        for (std::size_t i = 0; i < r.what.ids.size(); ++i) {
          if (r.released[i]) continue;
          ++named_[raw(r.id(i))];
          bool has_own = has_place(r.id(i));
          if (has_own) {
            chunks_ = std::max(chunks_, place_of(r.id(i)) / core::server_wide::chunk_size + 1);
            epoch_ =
                std::max(epoch_, core::epoch_of(static_cast<std::uint32_t>(raw(r.id(i)) >> 32)));
            has_own = places_.insert(place_of(r.id(i))).second;
          }
          if (!has_own) moves_.push_back({&job->second, &r, i});
        }
  }

  muster::status move_all(std::uint64_t epoch) {
    if (moves_.empty()) return {};
    auto const generation = std::uint64_t{core::generations_of(epoch).first};
    for (auto const& m : moves_) {
      auto& [next, end] = free_[m.job->cluster];  // chunks of slots belong to a single cluster
      if (next == end) {
        if (chunks_ >= core::server_wide::chunks_max)
          return {code::internal, of_.name() + ": no closure ids are free"};
        next = std::uint64_t{chunks_++} * core::server_wide::chunk_size;
        end = next + core::server_wide::chunk_size;
      }
      auto const before = m.request->id(m.at);
      auto const after = core::closure_id{generation << 32 | next++};
      m.request->what.ids[m.at] = after;
      m.request->changed = true;
      own_[{m.job->id, before}] = after;
      if (named_[raw(before)] == 1) moved_[raw(before)] = after;
      plan_.report.add("gives closure " + core::text(before) + " of " + core::text(m.job->id) +
                       " its own id, " + core::text(after));
      ++plan_.moved;
    }
    for (auto& [id, job] : jobs_)
      for (auto& r : job.requests) rename_inputs(r);
    for (auto const& [id, job] : jobs_)
      for (auto const& r : job.requests)
        if (r.changed) plan_.changes.push_back({change::kind::put, r.key, encoded_entry(r.what)});
    return count_as_start(epoch);
  }

  // If several closures had the same ID, references to the ID are dropped: an error is better than
  // a wrong value.
  void rename_inputs(request_entry& r) {
    for (auto& x : r.what.extras) {
      auto renamed = std::make_shared<core::closure_extras>(*x);
      for (auto& input : renamed->inputs) {
        auto const before = input.closure;
        auto const mine = own_.find({r.job, before});
        auto const others = moved_.find(raw(before));
        auto after = before;
        if (mine != own_.end()) {
          after = mine->second;
        } else if (others != moved_.end()) {
          after = others->second;
        } else if (auto const n = named_.find(raw(before));
                   n != named_.end() && n->second > 1 && !has(r.job, before)) {
          after =
              core::closure_id{place_of(before)};  // an ID without a generation matches no closure
          plan_.report.add(
              "a closure of " + core::text(r.job) + " uses the value of " + core::text(before) +
              ", which is the id of several closures: the closure fails if it has not run yet");
        }
        if (after == before) continue;
        input.closure = after;
        r.changed = true;
      }
      x = std::move(renamed);
    }
  }

  bool has(core::session_id job, core::closure_id id) {
    for (auto const& r : jobs_[job].requests)
      if (std::find(r.what.ids.begin(), r.what.ids.end(), id) != r.what.ids.end()) return true;
    return false;
  }

  // The new IDs use this start number, so the next server must start with a higher number.
  muster::status count_as_start(std::uint64_t epoch) {
    return of_.read(format_key, [&](std::string_view key, std::string_view value) {
      muster::journal::v1::Format f;
      if (key != format_key || !f.ParseFromArray(value.data(), static_cast<int>(value.size())))
        return false;
      f.set_epoch(epoch);
      plan_.changes.push_back({change::kind::put, format_key, f.SerializeAsString()});
      return false;
    });
  }

  struct move {
    job_entries* job;
    request_entry* request;
    std::size_t at;
  };

  view const& of_;
  bool const drop_;
  repair_plan plan_;
  std::unordered_set<std::string> unreadable_;
  std::map<core::session_id, job_entries> jobs_;
  std::unordered_map<std::uint64_t, std::uint32_t> named_;  // closures per ID
  std::unordered_set<std::uint32_t> places_;
  std::uint32_t chunks_ = 0;  // end of the chunks that contain used slots
  std::uint64_t epoch_ = 0;   // latest start that assigned an ID, before start numbers wrap around
  std::vector<move> moves_;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> free_;  // keyed by cluster
  std::map<std::pair<core::session_id, core::closure_id>, core::closure_id> own_;
  // New IDs, indexed by old ID. Contains only IDs that a single closure had.
  std::unordered_map<std::uint64_t, core::closure_id> moved_;
};

muster::status refuse_unusable(view const& of, repair_plan const& plan) {
  auto const n = plan.unusable.all;
  return {code::failed_precondition,
          of.name() + ": " + std::to_string(n) + (n == 1 ? " entry" : " entries") +
              " cannot be repaired, the first: " + plan.unusable.lines.front() +
              "; 'muster data repair --drop' removes them, and the copy still contains them"};
}

}  // namespace

muster::result<repair_plan> plan_repair(view const& of, bool drop, watcher const& watch) {
  if (auto const verified = of.verify(); !verified.ok()) return verified;
  auto plan = planner_of_repair(of, drop).plan();
  if (!plan || (plan->unusable.all > 0 && !drop)) return plan;
  auto const found = inspect(changed_view(of, plan->changes), watch);
  if (!found) return found.error();
  return plan;
}

muster::result<repair_plan> repair_store(view const& from, fs::path const& directory, store& into,
                                         fs::path const& copy, bool drop, watcher const& watch) {
  auto plan = plan_repair(from, drop, watch);
  if (!plan) return plan;
  if (plan->unusable.all > 0 && !drop) return refuse_unusable(from, *plan);
  if (plan->changes.empty()) return plan;
  if (auto const copied = copy_unchecked(from, directory, copy, watch); !copied)
    return copied.error();
  if (auto const written = into.write(plan->changes); !written.ok())
    return muster::status{written.code, from.name() + ": " + written.message};
  return plan;
}

muster::result<repair_plan> repair_store(fs::path const& directory, fs::path const& copy, bool drop,
                                         watcher const& watch) {
  {
    auto const view = rocks_view::open(directory);
    if (!view) return view.error();
    if (auto const ours = format_of(**view); !ours) return ours.error();
    if (user_of(directory)) return rocks::refused(directory, "another process has it open");
  }
  auto opened = rocks_store::open(directory);
  if (!opened) return opened.error();
  auto const view = rocks_view::open(directory);
  if (!view) return view.error();
  return repair_store(**view, directory, **opened, copy, drop, watch);
}

}  // namespace muster::server::journal
