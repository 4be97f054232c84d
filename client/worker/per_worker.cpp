// Handles of PerWorkerValues as text.
#include "muster/per_worker.hpp"

#include <charconv>

#include "client/wire.hpp"

namespace muster {

std::string per_worker_text(std::uint64_t handle) {
  return id_text("pw_", handle);
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
