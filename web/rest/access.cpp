// Bounds of tokens as problems.
#include "web/rest/access.hpp"

namespace muster::web {

server::shared_scope scope_of(web_context const& context, request const& req) {
  return std::make_shared<server::cluster_scope>(req.who, context.options.main_cluster);
}

problem refusal_problem(muster::status const& refused) {
  auto p = to_problem(refused);
  if (refused.code == muster::code::permission_denied) p.field = "role";
  return p;
}

std::optional<problem> check_cluster(web_context const& context, request const& req,
                                     std::string_view cluster) {
  if (scope_of(context, req)->sees(cluster)) return {};
  return make_problem(
      403, muster::code::permission_denied,
      "token '" + req.who->id + "' is not for cluster '" +
          std::string(cluster.empty() ? std::string_view(context.options.main_cluster) : cluster) +
          "'",
      "cluster");
}

std::optional<problem> check_function(request const& req, std::string_view function) {
  auto const bad = server::check_function(req.who, function);
  if (bad.ok()) return {};
  auto p = to_problem(bad);
  p.field = "function";
  return p;
}

std::optional<problem> check_functions(request const& req, server::submission const& closures) {
  for (auto const& name : closures.names())
    if (auto p = check_function(req, name)) return p;
  return {};
}

}  // namespace muster::web
