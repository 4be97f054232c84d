#include "launch/cluster/spec_json.hpp"

#include <boost/json/serialize.hpp>

#include "launch/cluster/resolver_text.hpp"

namespace muster::cluster {
namespace {

constexpr auto highest_index = static_cast<int>(cluster_spec::tasks_max) - 1;

struct place {
  std::string origin;
  std::string path;

  cluster_error fault(std::string const& what) const {
    return invalid(origin + ": " + (path.empty() ? what : path + " " + what));
  }
  place job(std::string_view name) const {
    auto const dot = path.empty() ? "" : ".";
    return {origin, path + dot + std::string(name.substr(0, cluster_spec::name_bytes_max))};
  }
  place task(std::string_view index) const {
    return {origin, path + "[" + printable(index.substr(0, 20)) + "]"};
  }
};

std::string address_from(json::value const& v, place const& at) {
  if (!v.is_string())
    throw at.fault("is " + std::string(kind_name(v)) + ", not a string such as \"host:2222\"");
  if (v.get_string().empty()) throw at.fault("is empty; write an address such as \"host:2222\"");
  return std::string(v.get_string());
}

int index_from(std::string_view key, place const& at) {
  auto const digits = trimmed(key);
  if (auto const index = parse_count(digits, highest_index)) return *index;
  if (digits.size() > 1 && digits[0] == '-' &&
      digits.find_first_not_of("0123456789", 1) == digits.npos)
    throw at.fault("has the index " + quoted(key) + ", which is negative");
  if (!digits.empty() && digits.find_first_not_of("0123456789") == digits.npos)
    throw at.fault("has the index " + quoted(key) + "; the highest is " +
                   std::to_string(highest_index));
  throw at.fault("has the index " + quoted(key) + ", which is not a number");
}

cluster_spec::tasks dense_from(json::array const& list, place const& at) {
  if (list.size() > cluster_spec::tasks_max)
    throw at.fault("has " + std::to_string(list.size()) + " tasks; the limit is " +
                   std::to_string(cluster_spec::tasks_max));
  cluster_spec::tasks tasks;
  for (std::size_t i = 0; i < list.size(); ++i)
    tasks.emplace_hint(tasks.end(), static_cast<int>(i),
                       address_from(list[i], at.task(std::to_string(i))));
  return tasks;
}

cluster_spec::tasks sparse_from(json::object const& object, place const& at) {
  cluster_spec::tasks tasks;
  for (auto const& [key, address] : object) {
    auto const index = index_from(key, at);
    if (!tasks.emplace(index, address_from(address, at.task(key))).second)
      throw at.fault("has the index " + std::to_string(index) + " twice");
  }
  return tasks;
}

}  // namespace

cluster_spec spec_from(json::value const& v, std::string const& origin, std::string const& path) {
  place const top{origin, path};
  if (!v.is_object())
    throw top.fault(std::string(path.empty() ? "the value " : "") + "is " +
                    std::string(kind_name(v)) +
                    ", not an object such as {\"worker\": [\"host:2222\"]}");
  std::map<std::string, cluster_spec::tasks> jobs;
  for (auto const& [name, tasks] : v.get_object()) {
    auto const at = top.job(printable(name));
    if (tasks.is_array())
      jobs[std::string(name)] = dense_from(tasks.get_array(), at);
    else if (tasks.is_object())
      jobs[std::string(name)] = sparse_from(tasks.get_object(), at);
    else
      throw at.fault("is " + std::string(kind_name(tasks)) +
                     ", neither a list of addresses nor an object from index to address");
  }
  try {
    return cluster_spec(std::move(jobs));
  } catch (cluster_error const& e) {
    throw invalid(origin + ": " + (path.empty() ? "" : path + ": ") + e.what());
  }
}

}  // namespace muster::cluster
