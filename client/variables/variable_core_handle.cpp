#include <stdexcept>
#include <utility>

#include "client/variables/variable_names.hpp"
#include "muster/detail/variable_core.hpp"

namespace muster::detail {
namespace {

// {"$variable":"w","dtype":"float32","shape":[3,2],"bounds":[0,2,3],"shards":[{"$object":…},…]}
constexpr char const* name_key = "$variable";

struct described {
  shape of;
  std::string dtype;
};

std::vector<std::uint64_t> counts_of(array_view const& a) {
  std::vector<std::int64_t> raw(a.data.size() / sizeof(std::int64_t));
  if (a.dtype != "int64" || a.shape.size() != 1)
    throw std::invalid_argument("a variable returned an invalid shape");
  copy(a, raw.data());
  return {raw.begin(), raw.end()};
}

std::vector<std::uint64_t> counts_at(boost::json::object const& o, char const* key) {
  return boost::json::value_to<std::vector<std::uint64_t>>(o.at(key));
}

}  // namespace

std::shared_ptr<variable_core const> variable_core::of(std::vector<remote_object> shards,
                                                       std::string const& name,
                                                       remote_object index) {
  std::vector<std::uint64_t> bounds{0};
  described first;
  for (auto const& s : shards) {
    auto const answer =
        s.caller().call(s.place(), "info", {encode({}), encoding::bytes})->get(for_ever);
    auto const all = decode(answer.bytes);
    if (all.size() != 3 || all[1].dtype != "utf8")
      throw std::invalid_argument("'" + name + "' does not return the properties of a variable");
    described d{counts_of(all[0]), std::string(all[1].data)};
    bounds.push_back(bounds.back() + (d.of.empty() ? 0 : d.of[0]));
    if (first.dtype.empty()) first = std::move(d);
  }
  if (!first.of.empty()) first.of[0] = bounds.back();
  return std::make_shared<variable_core const>(std::move(shards), std::move(bounds),
                                               std::move(first.of), std::move(first.dtype), name,
                                               std::move(index));
}

void variable_core::write(boost::json::value& to) const {
  boost::json::object o{{name_key, name_}, {"dtype", dtype_}};
  o["shape"] = boost::json::value_from(shape_);
  o["bounds"] = boost::json::value_from(bounds_);
  o["shards"] = boost::json::value_from(shards_);
  to = std::move(o);
}

std::shared_ptr<variable_core const> variable_core::read(boost::json::value const& from) {
  auto const* o = from.if_object();
  if (!o || !o->if_contains(name_key))
    throw std::invalid_argument(
        "a variable handle must be a JSON object with the member '$variable'");
  std::vector<remote_object> shards;
  for (auto const& s : o->at("shards").as_array())
    shards.push_back(boost::json::value_to<remote_object>(s));
  auto bounds = counts_at(*o, "bounds");
  auto of = counts_at(*o, "shape");
  bool good = !shards.empty() && bounds.size() == shards.size() + 1 && bounds.front() == 0 &&
              bounds.back() == (of.empty() ? 0 : of.front());
  for (std::size_t i = 1; good && i < bounds.size(); ++i) good = bounds[i - 1] <= bounds[i];
  std::string dtype(o->at("dtype").as_string());
  if (!good || item_bytes(dtype) == 0)
    throw std::invalid_argument("a variable handle has shards that do not match its shape");
  return std::make_shared<variable_core const>(std::move(shards), std::move(bounds), std::move(of),
                                               std::move(dtype),
                                               std::string(o->at(name_key).as_string()));
}

}  // namespace muster::detail
