// JSON Schema of every answer, beside the functions that write them (views_json.cpp,
// cluster_json.cpp, …): tests hold what is sent against it, and it against what is sent.
#pragma once

#include <vector>

#include "web/json/schema.hpp"

namespace muster::web {

/// Jobs, closures, values and what they report.
std::vector<schema::named> closure_answer_schemas();
/// Listings of values, graphs, what a worker holds.
std::vector<schema::named> listing_answer_schemas();
/// Workers, agents, clusters and what is in them.
std::vector<schema::named> cluster_answer_schemas();
/// What workers did, and the server's numbers over time.
std::vector<schema::named> stream_answer_schemas();
/// The server itself, and problems.
std::vector<schema::named> server_answer_schemas();

/// Tokens, what is asked for and what is shown.
std::vector<schema::named> token_schemas();

/// {"jobs":[…],"next_page_token":"…"}
std::string page_schema(std::string_view name, std::string_view of);

}  // namespace muster::web
