#include "client/worker/per_worker_store.hpp"

#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "base/text.hpp"
#include "muster/function_error.hpp"
#include "muster/json.hpp"
#include "muster/per_worker.hpp"

namespace muster {
namespace {

namespace json = boost::json;

[[noreturn]] void reject(std::uint64_t handle, std::string const& why) {
  throw function_error(failure_kind::input,
                       "per-worker value " + per_worker_text(handle) + " " + why,
                       "muster::per_worker_error");
}

}  // namespace

void per_worker_store::keep(std::uint64_t handle, kept_value v) {
  std::lock_guard lock(mutex_);
  values_.insert_or_assign(handle, std::move(v));
}

void per_worker_store::drop(std::uint64_t handle) {
  std::unordered_map<std::uint64_t, kept_value>::node_type dropped;  // destroyed without the lock
  std::lock_guard lock(mutex_);
  dropped = values_.extract(handle);
}

std::optional<kept_value> per_worker_store::find(std::uint64_t handle) const {
  std::lock_guard lock(mutex_);
  auto const it = values_.find(handle);
  if (it == values_.end()) return std::nullopt;
  return it->second;
}

std::vector<std::uint64_t> per_worker_store::handles() const {
  std::lock_guard lock(mutex_);
  std::vector<std::uint64_t> all;
  for (auto const& [handle, v] : values_)
    if (!v.error) all.push_back(handle);
  return all;
}

void per_worker_store::resolve(json::value& args, std::vector<std::uint64_t> const& uses) const {
  std::unordered_map<std::uint64_t, json::value> plain;
  for (auto const handle : uses) {
    auto const v = find(handle);
    if (!v) reject(handle, "is not on this worker");
    if (v->error) reject(handle, "could not be built here: " + v->error->message);
    if (v->object.has_value()) continue;
    if (v->data.encoding == encoding::bytes)
      reject(handle, "is raw bytes, which cannot be part of JSON arguments");
    plain.emplace(handle, from_json({v->data.bytes, v->data.encoding}));
  }
  auto const replace = [&plain](auto const& self, json::value& v) -> void {
    if (auto const handle = per_worker_handle(v)) {
      if (auto const it = plain.find(*handle); it != plain.end()) v = it->second;
      return;
    }
    if (v.is_array())
      for (auto& element : v.get_array()) self(self, element);
    if (v.is_object())
      for (auto& member : v.get_object()) self(self, member.value());
  };
  replace(replace, args);
}

value per_worker_store::resolve(value_view args, std::vector<std::uint64_t> const& uses) const {
  auto parsed = from_json(args);
  resolve(parsed, uses);
  return {to_json(parsed), encoding::json};
}

std::string per_worker_text(std::uint64_t handle) {
  return "pw_" + hex16(handle);
}

std::optional<std::uint64_t> per_worker_handle(boost::json::value const& v) {
  auto const* object = v.if_object();
  if (!object || object->size() != 1) return std::nullopt;
  auto const* text = object->if_contains("$per_worker");
  if (!text || !text->is_string()) return std::nullopt;
  std::string_view const id = text->get_string();
  if (id.size() != 19 || !id.starts_with("pw_")) return std::nullopt;
  std::uint64_t handle = 0;
  auto const [end, error] = std::from_chars(id.data() + 3, id.data() + id.size(), handle, 16);
  if (error != std::errc() || end != id.data() + id.size()) return std::nullopt;
  return handle;
}

}  // namespace muster
