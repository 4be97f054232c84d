#include "tests/simulation/model_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "server/core/api/blob_name.hpp"
#include "server/core/api/id_text.hpp"

namespace muster::simulation {

using namespace std::chrono_literals;

namespace {
constexpr std::size_t same_bytes = 10 + 48;  // the part that identifies the owner
}  // namespace

bool makes_large(core::blob const& args) {
  return args.view().ends_with('L');
}

core::blob large_args(core::blob const& args) {
  return core::blob(std::string(args.view()) + "L", args.encoding());
}

bool same_value(std::string_view a, std::string_view b) {
  return core::names_blob(a) ? a.substr(0, same_bytes) == b.substr(0, same_bytes) : a == b;
}

core::blob model_memory::make(core::blob const& args, std::uint64_t process) {
  auto of = std::string(args.view());
  of.pop_back();
  char again[17];
  std::snprintf(again, sizeof(again), "%016llx", static_cast<unsigned long long>(++made_));
  auto const name =
      R"({"$blob":")" + std::string(48 - of.size(), '0') + of + again + R"(","bytes":5000000})";
  if (process != 0) values_[name] = {{process}, {}, world_.now(), {}, false};
  return core::blob(name, args.encoding());
}

void model_memory::gone(std::uint64_t process) {
  for (auto& [name, of] : values_)
    if (of.by.erase(process) > 0 && of.by.empty()) of.gone_at = world_.now();
}

void model_memory::learn(core::closure_id id) {
  auto const view = world_.server().closures().find(id);
  if (!view || view->state != core::closure_state::succeeded) return;
  std::string const name(view->data.view());
  if (!core::names_blob(name)) return;
  if (!values_.contains(name)) throw violation("a value was dropped before it was named: " + name);
  unname(id);
  values_.at(name).named.insert(id);
  named_by_[id] = name;
  maker_[name] = id;
}

void model_memory::unname(core::closure_id id) {
  auto const node = named_by_.extract(id);
  if (!node) return;
  auto const it = values_.find(node.mapped());
  if (it == values_.end()) return;
  it->second.named.erase(id);
  if (it->second.named.empty()) values_.erase(it);
}

void model_memory::perform(core::effects const& fx) {
  for (auto const& e : fx.changes.ended)
    if (e.of.as == core::closure_state::succeeded) learn(e.of.closure);
  for (auto const& v : fx.changes.values)
    if (v.made_again) learn(v.closure);
  for (auto const& m : fx.value_moves)
    if (m.kind == core::move_kind::copy)
      world_.after(100ms, [this, id = m.closure] {
        if (auto const it = named_by_.find(id); it != named_by_.end()) copy(it->second);
      });
}

void model_memory::copy(std::string const& name) {
  auto const it = values_.find(name);
  if (it == values_.end() || it->second.by.empty() || it->second.at_server) return;
  it->second.at_server = true;
  ++world_.counts["copied"];
  core::values_moved e;
  for (auto const id : it->second.named) {
    e.moves.push_back({core::move_kind::copy, id, true, {}, {}});
    copied_.insert(core::text(id));
  }
  world_.apply(std::move(e));
}

void model_memory::sweep() {
  auto const now = world_.now();
  for (auto const& [id, name] : std::map(named_by_)) {
    auto const view = world_.server().closures().find(id);
    if (!view || !view->released.empty() || view->data.view() != name) unname(id);
  }
  core::values_moved lost;
  std::vector<std::string> due;
  for (auto it = values_.begin(); it != values_.end();) {
    auto const& of = it->second;
    bool const away = of.by.empty() && !of.at_server;
    bool const is_lost = away && of.gone_at + 3s <= now;
    for (auto const id : of.named) {
      if (is_lost) lost.moves.push_back({core::move_kind::lost, id, false, {}, "it is gone"});
      if (is_lost) named_by_.erase(id);
    }
    if (!away && !of.at_server && of.made + 10s <= now && world_.dice().chance(80))
      due.push_back(it->first);
    bool const untold = of.named.empty() && of.made + 30s <= now;
    world_.counts["lost_values"] += is_lost;
    it = is_lost || untold ? values_.erase(it) : std::next(it);
  }
  if (!lost.moves.empty()) world_.apply(std::move(lost));
  for (auto const& name : due) copy(name);
  world_.after(500ms, [this] { sweep(); });
}

model_memory::place model_memory::look(core::blob const& value, user const& by) {
  std::string const name(value.view());
  if (!core::names_blob(name)) return place::here;
  if (auto const it = values_.find(name); it != values_.end())
    return it->second.by.empty() && !it->second.at_server ? place::awaited : place::here;
  if (dead_.contains(name)) return place::never;
  auto const made_by = maker_.find(name);
  bool const runs = world_.server().held(by.stream, by.closure, by.attempt).has_value();
  if (made_by == maker_.end()) {
    if (runs) throw violation("an input is handed out that nobody ever kept");
    return place::never;
  }
  auto const id = made_by->second;
  if (named_by_.contains(id)) return look(core::blob(named_by_.at(id)), by);  // was recomputed
  if (auto& asked = asked_[id]; world_.now() >= asked + 10s) {
    asked = world_.now();
    auto const told = [this, name, by](core::reply const& r) {
      if (r.status.ok() || r.status.code != muster::code::not_found) return;
      dead_[name] = r.status.message;
      // Otherwise no attempt waits for it.
      if (world_.server().held(by.stream, by.closure, by.attempt)) check_reason(r.status.message);
    };
    world_.ask(core::await_value{{}, id, world_.now() + 60s}, told);
  }
  return place::awaited;
}

// Checks why a value was not recomputed. A release by the client is a valid reason only if the
// server had a copy.
void model_memory::check_reason(std::string const& why) const {
  ++world_.counts["not_made_again"];
  bool const had = std::any_of(copied_.begin(), copied_.end(), [&](std::string const& id) {
    return why.find(id) != std::string::npos;
  });
  for (auto const* wrong : {"its client released it", "there is no", "are no longer stored"})
    if (!had && why.find(wrong) != std::string::npos)
      throw violation("a large value could have been made again: " + why);
}

void model_memory::check_there(std::string_view value) const {
  if (core::names_blob(value) && !values_.contains(std::string(value)))
    throw violation("a value is told that is nowhere: " + std::string(value));
}

}  // namespace muster::simulation
