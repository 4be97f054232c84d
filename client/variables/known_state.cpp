#include "client/variables/known_state.hpp"

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "client/log_line.hpp"
#include "client/variables/saved_variables.hpp"
#include "muster/closure_error.hpp"

namespace muster::detail {
namespace {

std::string absolute(std::string const& path) {
  return std::filesystem::absolute(path).lexically_normal();
}

}  // namespace

std::vector<std::uint64_t> known_state::known::ids() const {
  if (!variable) return {object.place().id};
  std::vector<std::uint64_t> all;
  for (auto const& s : variable->shards()) all.push_back(s.place().id);
  return all;
}

void known_state::add(std::shared_ptr<variable_core const> v) {
  if (!v->name().empty()) return add({v}, v->name());
  std::lock_guard held(mutex_);
  std::erase_if(unnamed_, [](auto const& u) { return u.second.expired(); });
  unnamed_[known{v}.ids().front()] = v;
}

void known_state::add(remote_object o, std::string const& name) {
  add({nullptr, std::move(o)}, name);
}

void known_state::add(known one, std::string const& name) {
  auto const ids = one.ids();
  std::lock_guard held(mutex_);
  if (auto const before = named_.find(name); before != named_.end()) {
    auto const others = before->second.ids();
    restarted_ = restarted_ || others != ids;
    for (auto const id : others) names_.erase(id);
  }
  restarted_ = restarted_ || deleted_.contains(name);
  for (auto const id : ids) names_[id] = name;
  named_[name] = std::move(one);
}

void known_state::forget(std::uint64_t id) {
  std::lock_guard held(mutex_);
  unnamed_.erase(id);
  auto const it = names_.find(id);
  if (it == names_.end()) return;
  auto const gone = named_.extract(it->second);
  for (auto const other : gone.mapped().ids()) names_.erase(other);
  deleted_.insert(gone.key());
  if (deleted_.size() > deleted_max) deleted_.erase(deleted_.begin());
}

known_state::all const& known_state::listed() const {
  for (auto const& [id, weak] : unnamed_)
    if (auto const v = weak.lock())
      throw std::invalid_argument(
          "a variable of shape " + shown(v->shape()) +
          " has no name; checkpoints find variables by name, so create it with a name");
  return named_;
}

std::uint64_t known_state::save(path where, how_many keep) {
  std::lock_guard const turn(turn_);
  std::unique_lock held(mutex_);
  auto const what = listed();
  held.unlock();
  return write(where, keep, what);
}

std::optional<std::uint64_t> known_state::save_unless_restarted(path where, how_many keep) {
  std::lock_guard const turn(turn_);
  try {
    bool const has_any = !checkpoints_in(where).empty();
    std::unique_lock held(mutex_);
    if (restarted_ || (has_any && !continued_.contains(absolute(where)))) return std::nullopt;
    // Excludes variables and objects that are recreated after this point.
    auto const what = listed();
    held.unlock();
    return write(where, keep, what);
  } catch (unavailable_error const&) {
    std::lock_guard held(mutex_);
    restarted_ = true;
    throw;
  }
}

std::uint64_t known_state::write(path where, how_many keep, all const& what) {
  if (keep == 0u) throw std::invalid_argument("keep: 0, must be at least 1");
  checkpoint_writer out(where);
  for (auto const& [name, one] : what) {
    if (one.variable) {
      out.variable(name, one.variable->shape(), one.variable->dtype());
      detail::save(out, *one.variable);
      continue;
    }
    auto const state = one.object.call<value>("save_state").fetch();
    if (state.encoding != encoding::json)
      throw std::invalid_argument("save_state of '" + name + "' returned a value that is not JSON");
    if (state.bytes.size() + 2 > result_bytes_max)  // as an argument, it is enclosed in brackets
      throw std::invalid_argument("the state of '" + name + "' has " +
                                  std::to_string(state.bytes.size()) + " bytes, the limit is " +
                                  std::to_string(result_bytes_max - 2));
    out.object(name, state.bytes);
  }
  auto const number = out.finish();
  {
    std::lock_guard held(mutex_);
    continued_.insert(absolute(where));
  }
  tidy_checkpoints(where, number, keep);
  return number;
}

std::optional<std::uint64_t> known_state::restore(path where) {
  std::lock_guard const turn(turn_);
  auto const found = newest_checkpoint(where);
  for (auto const& why : found.wrong) log(log_level::warning, "skipped a checkpoint: " + why);
  if (!found.newest && !found.wrong.empty())
    throw std::invalid_argument("no checkpoint in " + where +
                                " is complete: " + found.wrong.front());
  std::unique_lock held(mutex_);
  if (!found.newest) {
    can_continue(where, named_);
    return std::nullopt;
  }
  auto const what = listed();
  held.unlock();
  check(*found.newest, what);
  held.lock();
  restarted_ = true;  // loading can fail halfway
  held.unlock();
  load(*found.newest, what);
  held.lock();
  can_continue(where, what);
  return found.newest->number();
}

void known_state::check(checkpoint_reader const& from, all const& what) {
  for (auto const& [name, one] : what) {
    if (one.variable)
      from.check(name, one.variable->shape(), one.variable->dtype());
    else
      from.check_object(name);
  }
}

void known_state::load(checkpoint_reader& from, all const& what) {
  std::vector<variable_core::handle> pending;
  for (auto const& [name, one] : what) {
    if (one.variable)
      detail::load(from, *one.variable);
    else
      pending.push_back(one.object.caller().call(one.object.place(), "load_state",
                                                 {"[" + from.object(name) + "]", encoding::json}));
  }
  for (auto const& p : pending) p->get(for_ever);
}

// Objects that were recreated during loading have not been loaded.
void known_state::can_continue(path where, all const& loaded) {
  restarted_ = std::any_of(loaded.begin(), loaded.end(), [this](auto const& one) {
    auto const now = named_.find(one.first);
    return now != named_.end() && now->second.ids() != one.second.ids();
  });
  std::erase_if(deleted_, [&loaded](auto const& name) { return !loaded.contains(name); });
  continued_.insert(absolute(where));
}

}  // namespace muster::detail
