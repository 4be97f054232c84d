// Fuzzes the JSON of job submissions and programs. The input is the body of a request; all readers
// of web/json try it.
//
// Checked properties:
// - The slices that the readers see agree with Boost.JSON's tree of the same text.
// - A text that is rewritten with other white space, another order of members and other escapes is
//   accepted, and has the same digest.
// - A refusal has a status of a client error, and a detail that begins with the field it names. Its
//   problem document is valid JSON.
// - An accepted job or program satisfies the limits of docs/limits.md. The gaps for inputs are in
//   order, and the arguments with their inputs are JSON of the documented form.
// - The core takes an accepted job, or refuses it with a status that names the cause. Afterwards
//   its invariants hold.
#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/core/api/placeholders.hpp"
#include "server/core/coordination/api/declared_cluster.hpp"
#include "server/core/programs/controller.hpp"
#include "server/hub/hub.hpp"
#include "tests/fuzz/require.hpp"
#include "web/json/cluster_json.hpp"
#include "web/json/json_in.hpp"
#include "web/json/json_out.hpp"
#include "web/json/program_json.hpp"
#include "web/json/python_call.hpp"
#include "web/json/submission_json.hpp"
#include "web/rest/idempotency_key.hpp"

namespace {

using namespace muster;
using fuzz::require;
using web::json_ref;
using web::json_type;
using web::json_walk;

constexpr core::time_point start{std::chrono::seconds(1'700'000'000)};
constexpr core::duration year = std::chrono::hours(24 * 365);

server::hub_dependencies surroundings() {
  server::hub_dependencies around;
  around.now = [] { return start; };
  around.arm = [](core::time_point) {};
  return around;
}

boost::json::value parse(std::string_view text, boost::system::error_code& ec) {
  boost::json::parse_options deep;
  deep.max_depth = web::json_depth_max + 2;
  return boost::json::parse({text.data(), text.size()}, ec, {}, deep);
}

void require_same(json_ref const& at, boost::json::value const& v) {
  switch (at.type()) {
    case json_type::null:
      return require(v.is_null(), "both parsers see null");
    case json_type::boolean:
      return require(v.is_bool() && v.get_bool() == at.boolean(), "both parsers see a boolean");
    case json_type::number: {
      require(v.is_number(), "both parsers see a number");
      auto const n = at.integer();
      if (v.is_int64()) require(n && *n == v.get_int64(), "both parsers see an integer");
      return require(!v.is_uint64() || !n, "an integer above 63 bits is not an integer");
    }
    case json_type::string:
      return require(v.is_string() && at.string() == std::string_view(v.get_string().data(),
                                                                      v.get_string().size()),
                     "both parsers see a string");
    case json_type::array: {
      require(v.is_array(), "both parsers see an array");
      std::size_t n = 0;
      for (json_walk w(at); w.next(); ++n) {
        require(n < v.get_array().size(), "an array has no additional elements");
        require_same(w.value(), v.get_array()[n]);
      }
      return require(n == v.get_array().size(), "an array has all elements");
    }
    case json_type::object: {
      require(v.is_object(), "both parsers see an object");
      std::size_t n = 0;
      for (json_walk w(at); w.next(); ++n) {
        auto const* const member = v.get_object().if_contains(w.key());
        require(member != nullptr, "both parsers see the same member");
        require_same(w.value(), *member);
      }
      return require(n == v.get_object().size(), "an object has all members");
    }
  }
}

// Writes the value without white space, with the members of objects in reverse order.
void rewrite(json_ref const& at, std::string& to) {
  if (at.type() == json_type::string) return web::append_json_string(to, at.string());
  if (at.type() != json_type::object && at.type() != json_type::array) {
    to += at.text();
    return;
  }
  bool const object = at.type() == json_type::object;
  std::vector<std::pair<std::string, std::string_view>> parts;
  for (json_walk w(at); w.next();)
    parts.emplace_back(object ? w.key() : std::string(), w.value().text());
  if (object) std::reverse(parts.begin(), parts.end());
  to += object ? '{' : '[';
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) to += ',';
    if (object) web::append_json_string(to, parts[i].first);
    if (object) to += ':';
    rewrite(json_ref(parts[i].second), to);
  }
  to += object ? '}' : ']';
}

void check_rewritten(json_ref const& body) {
  std::string text;
  rewrite(body, text);
  require(!web::check_json(text), "JSON that is written again is accepted");
  if (body.type() != json_type::object) return;
  require(web::request_digest(json_ref(text)) == web::request_digest(body),
          "the digest does not depend on white space, order and escapes");
}

void check_refusal(web::problem const& p) {
  require(p.status == 400 || p.status == 404 || p.status == 422,
          "a body that is refused is an error of the client");
  require(!p.detail.empty(), "a refusal has a detail");
  require(p.field.empty() || std::string_view(p.detail).starts_with(p.field),
          "the detail begins with the field");
  require(!web::check_json(web::to_json(p)), "a problem document is JSON");
}

void check_refusal(status const& s) {
  require(s.code != code::internal && s.code != code::unknown,
          "a refusal of the core is not an internal error");
  require(!s.message.empty(), "a refusal of the core has a message");
  require(s.field.empty() || std::string_view(s.message).starts_with(s.field),
          "the message of the core begins with the field");
}

bool within(core::duration d, core::duration most) {
  return d >= core::duration{} && d <= most;
}

bool is_function(std::string_view name) {
  return !name.empty() && name.size() <= 256 &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 32 || c == 127; });
}

void check_options(core::closure_options const& o) {
  require(o.priority >= -1'000'000 && o.priority <= 1'000'000, "a priority is limited");
  require(o.max_retries <= 10'000, "the number of retries is limited");
  for (auto const d : {o.delay, o.deadline, o.retry_initial, o.retry_max})
    require(within(d, year), "a time of a closure is at most a year");
  require(o.gang.size() <= 256 && o.task_job.size() <= 256, "a name is limited");
  require(o.task_index >= -1, "a task index is not negative");
  require(o.task_index == -1 || !o.task_job.empty(), "a task has a job");
  for (auto const& [name, value] : o.labels) require(value.size() <= 256, "a label is limited");
  for (auto const& [name, n] : o.resources) require(n > 0, "an amount is at least 1");
}

void check_references(boost::json::value const& v) {
  if (v.is_array())
    for (auto const& one : v.get_array()) check_references(one);
  if (!v.is_object()) return;
  auto const& object = v.get_object();
  require(!object.contains("$remote_value"), "every reference to a value is replaced");
  require(!object.contains("$bytes"), "bytes are the only argument");
  require(!object.contains("$per_worker") || object.size() == 1,
          "a reference to a per-worker value has no other members");
  for (auto const& [key, one] : object) check_references(one);
}

void check_arguments(core::closure_spec const& c) {
  if (c.args.encoding() == core::encoding::bytes) return;
  auto const inputs = c.extras ? c.extras->inputs : std::vector<core::input_ref>();
  std::size_t gap = 0;
  for (auto const& i : inputs) {
    require(i.offset >= gap && i.offset <= c.args.size(), "the gaps for inputs are in order");
    gap = i.offset;
  }
  auto const filled =
      core::fill_gaps(c.args.view(), inputs, [](std::size_t) { return std::string("null"); });
  boost::system::error_code ec;
  auto const v = parse(filled, ec);
  require(!ec, "arguments with their inputs are JSON");
  auto const is_call = [](boost::json::object const& o) {
    return o.size() == 2 && o.contains("args") && o.at("args").is_array() && o.contains("kwargs") &&
           o.at("kwargs").is_object();
  };
  require(v.is_array() || (v.is_object() && is_call(v.get_object())),
          "arguments are a list, or a list and an object");
  check_references(v);
}

// Returns whether the core's limits of a single closure are met.
bool fits(core::closure_spec const& c) {
  if (!c.extras) return true;
  auto const named = [](auto const& pairs) {
    return pairs.size() <= 64 && std::all_of(pairs.begin(), pairs.end(), [](auto const& p) {
             return !p.first.empty() && p.first.size() <= 256;
           });
  };
  auto const& x = *c.extras;
  return x.inputs.size() <= 1'000 && x.per_worker.size() <= 64 && named(x.options.labels) &&
         named(x.options.resources);
}

void check_closures(server::submission& all) {
  for (auto const& name : all.names()) require(is_function(name), "a function name is valid");
  for (auto const& called : all.callables()) {
    require(is_function(called.name), "the name of a callable is valid");
    require(called.hash.empty() || called.hash.size() == core::callable_hash_bytes,
            "a hash has 32 bytes");
  }
  for (auto const& c : all.closures()) {
    require(c.callable <= all.callables().size(), "a closure names a callable of the request");
    if (c.extras) check_options(c.extras->options);
    check_arguments(c);
  }
}

void check_spec(core::session_spec const& s) {
  require(s.delivery == core::delivery::job, "a submission is a job");
  require(s.name.size() <= 256 && s.idempotency_key.size() <= 256, "a name is limited");
  require(s.metadata.size() <= 16 * 1'024, "metadata are limited");
  require(s.metadata.empty() ||
              (web::is_json(s.metadata) && json_ref(s.metadata).type() == json_type::object),
          "metadata are an object");
  require(s.weight >= 1 && s.weight <= 1'000, "a weight is from 1 to 1000");
  require(within(s.deadline, year), "a deadline is at most a year");
  require(s.max_worker_failures <= core::worker_failures_max, "the number of losses is limited");
  require(s.submitted_by.empty() && s.request_digest.empty(), "a body sets no internal field");
}

void read_job(json_ref const& body) {
  web::json_check check;
  auto job = web::read_job(check, body);
  if (check.failed()) return check_refusal(check.failure());
  require(job.cluster.size() <= 256, "the name of a cluster is limited");
  check_spec(job.spec);
  check_closures(job.closures);
  auto const& all = job.closures.closures();
  bool const fitting = std::all_of(all.begin(), all.end(), fits);
  server::hub h({}, surroundings());
  require(job.closures.learn(h).ok(), "the core knows the functions of an accepted job");
  auto const answer = h.ask_now(job.closures.opening(std::move(job.spec)));
  require(!answer.status.ok() || fitting, "the core refuses a closure beyond its limits");
  if (!answer.status.ok()) check_refusal(answer.status);
  require(h.state().violated_invariant().empty(), "the invariants of the core hold");
}

void check_tasks(core::program_spec const& s) {
  std::uint64_t ranks = 0;
  for (auto const& t : s.tasks) {
    require(!t.type.empty() && t.type.size() <= 64, "the name of a task type is limited");
    require(t.min >= 1 && t.min <= t.max, "the number of tasks is a range");
    require(!t.command.empty() || !s.command.empty(), "every task has a command");
    for (auto const& [name, n] : t.resources) require(n > 0, "an amount is at least 1");
    ranks += t.max;
  }
  require(!s.tasks.empty() && s.tasks.size() <= 32, "the number of task types is limited");
  require(ranks <= 4'096, "the number of ranks is limited");
}

void check_program(core::program_spec const& s) {
  check_tasks(s);
  require(!s.name.empty() && s.name.size() <= 128, "the name of a program is limited");
  require(s.spares <= 64 && s.preload.size() <= 64, "the numbers of a program are limited");
  require(s.weight >= 1 && s.weight <= 1'000, "a weight is from 1 to 1000");
  require(s.priority >= -1'000'000 && s.priority <= 1'000'000, "a priority is limited");
  for (auto const d : {s.grace, s.restart_grace})
    require(within(d, std::chrono::hours(1)), "a grace period is at most an hour");
  for (auto const d : {s.deadline, s.notice, s.hang_after})
    require(within(d, year), "a time of a program is at most a year");
  require(s.hang_after >= std::chrono::seconds(1), "a hang is not found within a second");
  require(s.metadata.size() <= 16 * 1'024, "metadata are limited");
  require(s.working_dir.empty() || s.working_dir.front() == '/', "a folder is absolute");
  require(s.upload.empty() || s.upload.size() == 64, "an upload is a digest");
  require(s.submitted_by.empty() && s.request_digest.empty(), "a body sets no internal field");
}

void read_program(json_ref const& body) {
  web::json_check check;
  auto request = web::read_program(check, body);
  if (check.failed()) return check_refusal(check.failure());
  require(request.cluster.size() <= 256, "the name of a cluster is limited");
  if (auto const wrong = core::programs::valid(request.spec, {}); !wrong.ok())
    return check_refusal(wrong);
  check_program(request.spec);
  server::hub h({}, surroundings());
  auto const answer = h.ask_now(core::submit_program{{}, std::move(request.spec)});
  require(answer.status.ok(), "the core takes a valid program");
  require(h.state().violated_invariant().empty(), "the invariants of the core hold");
}

void read_appended(json_ref const& body) {
  web::json_check check;
  server::submission closures;
  web::read_closures(check, body, closures);
  if (check.failed()) return check_refusal(check.failure());
  check_closures(closures);
}

void read_other_bodies(json_ref const& body) {
  {
    web::json_check check;
    auto const name = web::read_retry(check, body);
    check.failed() ? check_refusal(check.failure())
                   : require(name.size() <= 256, "the name of a job is limited");
  }
  {
    web::json_check check;
    auto const asked = web::read_per_worker(check, body);
    if (check.failed())
      check_refusal(check.failure());
    else
      require(is_function(asked.function) && asked.name.size() <= 256, "a builder has a name");
  }
  {
    web::json_check check;
    auto const asked = web::read_stop(check, body);
    check.failed() ? check_refusal(check.failure())
                   : require(asked.at_step.value_or(0) <= std::uint64_t{1} << 53,
                             "a step is a number that JSON can represent");
  }
  {
    web::json_check check;
    auto const spec = web::read_cluster(check, body);
    if (check.failed()) return check_refusal(check.failure());
    auto const wrong = core::coordination::validate(spec);
    if (!wrong.ok()) return check_refusal(wrong);
    require(spec.size() <= 100'000, "the number of tasks of a cluster is limited");
  }
}

// The descriptions of pickled calls and values have a tail with a length, which a client writes.
void read_pickled(std::string_view bytes) {
  auto const text = web::python_arguments_text(bytes);
  require(text.size() <= std::min(bytes.size(), web::python_text_max),
          "the description of a call is a part of it");
  for (auto const encoding : {core::encoding::json, core::encoding::bytes})
    require(web::python_value_text(core::blob(bytes, encoding)).size() <= web::python_text_max,
            "the description of a value is limited");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  read_pickled(text);
  if (auto const refused = web::check_json(text)) {
    check_refusal(*refused);
    return 0;
  }
  require(web::is_json(text), "the strict check accepts only JSON");
  boost::system::error_code ec;
  auto const tree = parse(text, ec);
  require(!ec, "Boost.JSON accepts the text");
  json_ref const body(text);
  require_same(body, tree);
  check_rewritten(body);
  read_job(body);
  read_program(body);
  read_appended(body);
  read_other_bodies(body);
  return 0;
}
