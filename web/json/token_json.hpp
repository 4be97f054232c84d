// Tokens as JSON: what is asked for, what is shown. Never a secret, but for the one that was just
// made. Web thread.
#pragma once

#include "server/hub/access/token_keeper.hpp"
#include "web/json/json_check.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {

/// The body of POST /api/v1/tokens.
server::wanted_token read_token(json_check& check, json_ref const& body);
/// The token in the body of POST /api/v1/session.
std::string read_sign_in(json_check& check, json_ref const& body);

/// Into an object that is open.
void write_fields(json_out& out, core::token const& t);

}  // namespace muster::web
