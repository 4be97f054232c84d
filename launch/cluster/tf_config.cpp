#include "muster/tf_config.hpp"

#include <boost/json/serialize.hpp>
#include <sstream>

#include "launch/cluster/resolver_text.hpp"
#include "launch/cluster/spec_json.hpp"
#include "launch/cluster/task_rules.hpp"

namespace muster {
namespace {

using cluster::invalid;
using cluster::kind_name;
using cluster::quoted;
namespace json = boost::json;

std::string const origin = "TF_CONFIG";

cluster_error fault(std::string_view field, std::string const& what) {
  return invalid(origin + ": " + std::string(field) + " " + what);
}

std::optional<std::string> text_of(json::object const& object, std::string_view field) {
  auto const* v = object.if_contains(field);
  if (v == nullptr || v->is_null()) return {};
  if (!v->is_string())
    throw fault(field, "is " + std::string(kind_name(*v)) + ", not a string in quotes");
  std::string text(v->get_string());
  if (cluster::has_control_character(text)) throw fault(field, "contains a control character");
  return text;
}

std::optional<std::string> type_of(json::object const& task) {
  auto const* v = task.if_contains("type");
  if (v == nullptr || v->is_null()) return {};
  if (v->is_int64() || v->is_uint64()) return json::serialize(*v);
  if (!v->is_string())
    throw fault("task.type", "is " + std::string(kind_name(*v)) + ", not a job name");
  if (v->get_string().empty()) throw fault("task.type", "is empty; write a job name");
  return std::string(v->get_string());
}

// Returns "0" for 0.0 and "1.5" for 1.5; Boost.JSON writes 0E0 and 1.5E0.
std::string number_text(json::value const& number) {
  if (!number.is_double()) return json::serialize(number);
  std::ostringstream text;
  text << number.get_double();
  return text.str();
}

std::optional<int> index_of(json::object const& task) {
  constexpr auto highest = static_cast<int>(cluster_spec::tasks_max) - 1;
  auto const* v = task.if_contains("index");
  if (v == nullptr || v->is_null()) return {};
  if (!v->is_string() && !v->is_number())
    throw fault("task.index", "is " + std::string(kind_name(*v)) + ", not a number");
  auto const text = v->is_string() ? std::string(v->get_string()) : number_text(*v);
  auto const digits = cluster::trimmed(text);
  if (auto const index = cluster::parse_count(digits, highest)) return index;
  auto const whole = !digits.empty() &&
                     digits.find_first_not_of("0123456789", digits[0] == '-') == digits.npos &&
                     digits != "-";
  if (!whole)
    throw fault("task.index", "is " + quoted(text) + "; it must be a whole number, 0 or greater");
  auto const shown = digits.size() > 20 ? quoted(digits) : std::string(digits);
  if (digits[0] == '-') throw fault("task.index", "is " + shown + "; it must be 0 or greater");
  throw fault("task.index", "is " + shown + "; the highest is " + std::to_string(highest));
}

}  // namespace

tf_config tf_config::parse(std::string_view text) {
  if (cluster::trimmed(text).empty())
    throw invalid(origin + ": empty; unset it, or write {\"cluster\": {…}, \"task\": {…}}");
  auto const v = cluster::parse_json(text, origin);
  if (!v.is_object())
    throw invalid(origin + ": the value is " + std::string(kind_name(v)) +
                  ", not an object such as {\"cluster\": {…}, \"task\": {…}}");
  auto const& all = v.get_object();
  tf_config c;
  if (auto const* spec = all.if_contains("cluster"); spec != nullptr && !spec->is_null()) {
    c.cluster = cluster::spec_from(*spec, origin, "cluster");
    c.has_cluster = true;
  }
  if (auto const* task = all.if_contains("task"); task != nullptr && !task->is_null()) {
    if (!task->is_object())
      throw fault("task", "is " + std::string(kind_name(*task)) +
                              ", not an object such as {\"type\": \"worker\", \"index\": 0}");
    c.has_task = !task->get_object().empty();
    c.task_type = type_of(task->get_object());
    c.task_index = index_of(task->get_object());
  }
  c.rpc_layer = text_of(all, "rpc_layer");
  c.environment = text_of(all, "environment");
  c.session_master = text_of(all, "session_master");
  return c;
}

tf_config tf_config::from(environment_lookup const& environment) {
  auto const text = environment(origin);
  return text ? parse(*text) : tf_config();
}

void tf_config::check() const {
  if (has_task && !task_type)
    throw invalid(origin + ": task has no type; write \"type\": " +
                  (cluster.empty() ? "\"worker\"" : "one of " + cluster::listed(cluster.jobs())));
  cluster::check_single(cluster, origin + ": cluster.");
  cluster::check_task(cluster, task_type, task_index,
                      {origin + ": task.type", origin + ": task.index"});
}

}  // namespace muster
