// An object is visible to the token that created it and to admins.
#include "base/text.hpp"
#include "server/hub/id_parsing.hpp"
#include "web/json/object_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

using core::objects::object_query;
using core::objects::object_view;

constexpr auto object_states = all_names<core::objects::object_state>();
constexpr query_parameter session_parameter{.name = "session",
                                            .kind = query_kind::text,
                                            .meaning = "only objects created by this session",
                                            .pattern = "^(job_[0-9a-f]{16})?$"};

// Returns an empty string if all objects are visible.
std::string submitter_for(request const& req) {
  return !req.who || req.who->role == core::role::admin ? std::string() : req.who->id;
}

object_query query_of(query_check& query, request const& req) {
  object_query q;
  q.submitter = submitter_for(req);
  q.job = query.text("task");
  if (auto const colon = q.job.rfind(':'); colon != std::string::npos)
    if (auto const index = parse_number(std::string_view(q.job).substr(colon + 1));
        index && *index <= INT64_MAX) {
      q.index = static_cast<std::int64_t>(*index);
      q.job.resize(colon);
    }
  q.class_name = query.text("class");
  q.text = query.text("q");
  auto const of = query.text("session");
  if (auto const session = server::parse_job(of))
    q.owner = *session;
  else if (!of.empty())
    query.fail("session",
               "expected a session such as job_00000000000000a1, got '" + std::string(of) + "'");
  for (std::size_t i = 0; i < std::size(object_states); ++i)
    if (equal_ignoring_case(query.text("state"), object_states[i]))
      q.state = core::objects::object_state(i);
  return q;
}

coro::task<response> list_objects(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const before = core::object_id{query.page_token('o')};
  auto wanted = query_of(query, ex.req);
  if (query.failed()) return refused(query.failure());
  auto work = [before, limit, q = std::move(wanted)](server::hub& h) {
    core::page<object_view, core::object_id> page;
    page.items = h.objects().state().list(before, limit, q);
    if (page.items.size() == limit) page.next = page.items.back().id;
    return page;
  };
  return respond_with(context, in_pool_named(ex, std::move(work)), as_page{"objects", 'o'});
}

struct wanted {
  std::string name, submitter;  // name or ID of the object, and required submitter or empty
};

muster::result<core::object_id> find_object(server::hub& h, wanted const& w) {
  auto const& all = h.objects().state();
  auto const id = server::parse_object(w.name).value_or(core::object_id{});
  auto const found = all.find(id) ? id : all.named(w.name);
  auto const* o = all.find(found);
  if (!o) return muster::status{muster::code::not_found, "there is no object '" + w.name + "'"};
  if (w.submitter.empty() || o->submitter.empty() || o->submitter == w.submitter) return found;
  return muster::status{muster::code::permission_denied,
                        "object '" + w.name + "' belongs to token '" + o->submitter +
                            "', and token '" + w.submitter + "' is not an admin token"};
}

template <class Then>
auto with_object(exchange& ex, Then then) {
  wanted w{std::string(ex.req.capture("id")), submitter_for(ex.req)};
  return in_pool_named(ex, [w = std::move(w), then](server::hub& h) {
    auto const id = find_object(h, w);
    using value = decltype(then(h, *id));
    return id ? then(h, *id) : value(id.error());
  });
}

coro::task<response> get_object(web_context& context, exchange& ex) {
  if (auto p = check_cluster(context, ex.req, ex.req.parameter("cluster")))
    return refused(std::move(*p));
  auto then = [](server::hub& h, core::object_id id) -> muster::result<object_view> {
    auto const& all = h.objects().state();
    return all.view(id, *all.find(id));
  };
  return respond_with(context, with_object(ex, then));
}

coro::task<response> delete_object(web_context& context, exchange& ex) {
  if (auto p = check_cluster(context, ex.req, ex.req.parameter("cluster")))
    return refused(std::move(*p));
  auto then = [](server::hub& h, core::object_id id) -> muster::status {
    h.objects().remove(id);
    return {};
  };
  auto work = [work = with_object(ex, then)](engine_services& services, auto const& slot) mutable {
    slot->send(work(services));
  };
  return order(context, std::move(work));
}

}  // namespace

void add_object_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/objects", list_objects, "listObjects",
          "List objects on tasks, newest first; only admins can see the objects of other tokens")
          .with({{"task", query_kind::text,
                  "only objects of this task, such as ps:0, or of all tasks of this role, "
                  "such as ps"},
                 {"class", query_kind::text, "only objects of this class"},
                 session_parameter,
                 choice_parameter("state", object_states, "only objects in this state"),
                 {"q", query_kind::text,
                  "only objects whose name or id contains this text; case-insensitive"},
                 cluster_parameter,
                 limit_parameter,
                 page_token_parameter("o")})
          .responds_with("ObjectPage", [] { return page_schema("objects", "ObjectView"); })
          .also(404, "No such cluster"));
  to.push_back(
      get("/api/v1/objects/{id}", get_object, "getObject", "Get an object by its id or name")
          .with({cluster_parameter})
          .responds_with("ObjectView", schema_of<object_view>));
  to.push_back(remove("/api/v1/objects/{id}", delete_object, "deleteObject",
                      "Delete an object in any state; its unfinished calls fail with CANCELLED")
                   .with({cluster_parameter}));
}

}  // namespace muster::web
