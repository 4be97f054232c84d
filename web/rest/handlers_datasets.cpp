// A dataset is visible to the token that created it and to admins.
#include "server/hub/id_parsing.hpp"
#include "web/json/object_json.hpp"
#include "web/rest/answers.hpp"
#include "web/rest/caller_check.hpp"
#include "web/rest/cluster_access.hpp"

namespace muster::web {

namespace {

using core::datasets::dataset_view;

// Returns an empty string if all datasets are visible.
std::string seen_by(request const& req) {
  return !req.who || req.who->role == core::role::admin ? std::string() : req.who->id;
}

coro::task<response> list_datasets(web_context& context, exchange& ex) {
  query_check query(ex.req);
  auto const limit = query.limit();
  auto const before = core::dataset_id{query.page_token('d')};
  if (query.failed()) return refused(query.failure());
  auto work = [before, limit, submitter = seen_by(ex.req)](server::hub& h) {
    core::page<dataset_view, core::dataset_id> page;
    page.items = h.objects().state().list_datasets(before, limit, submitter);
    if (page.items.size() == limit) page.next = page.items.back().id;
    return page;
  };
  return respond_with(context, in_pool_named(ex, std::move(work)), as_page{"datasets", 'd'});
}

struct wanted_dataset {
  std::string id, submitter;  // dataset ID, and required submitter or empty
};

muster::result<dataset_view> find_dataset(server::hub& h, wanted_dataset const& w) {
  auto const id = server::parse_dataset(w.id).value_or(core::dataset_id{});
  auto const* d = h.objects().state().find(id);
  if (!d) return muster::status{muster::code::not_found, "there is no dataset '" + w.id + "'"};
  if (w.submitter.empty() || d->submitter().empty() || d->submitter() == w.submitter)
    return d->view(id);
  return muster::status{muster::code::permission_denied,
                        "dataset '" + w.id + "' belongs to token '" + d->submitter() +
                            "', and token '" + w.submitter + "' is not an admin token"};
}

coro::task<response> get_dataset(web_context& context, exchange& ex) {
  if (auto p = check_cluster(context, ex.req, ex.req.parameter("cluster")))
    return refused(std::move(*p));
  wanted_dataset w{std::string(ex.req.capture("id")), seen_by(ex.req)};
  auto work = [w = std::move(w)](server::hub& h) { return find_dataset(h, w); };
  return respond_with(context, in_pool_named(ex, std::move(work)));
}

}  // namespace

void add_dataset_routes(std::vector<route>& to) {
  to.push_back(
      get("/api/v1/datasets", list_datasets, "listDatasets",
          "List datasets, newest first; only admins can see the datasets of other tokens")
          .with({cluster_parameter, limit_parameter, page_token_parameter("d")})
          .responds_with("DatasetPage", [] { return page_schema("datasets", "DatasetView"); })
          .also(404, "No such cluster"));
  to.push_back(get("/api/v1/datasets/{id}", get_dataset, "getDataset",
                   "Get a dataset with the progress of its epoch and its consumers")
                   .with({cluster_parameter})
                   .responds_with("DatasetView", schema_of<dataset_view>));
}

}  // namespace muster::web
