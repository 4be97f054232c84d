// Tokens as JSON: what is asked for, what is shown. Never a secret, but for the one that was just
// made. Web thread.
#pragma once

#include "server/hub/access/token_keeper.hpp"
#include "web/json/json_in.hpp"
#include "web/json/members.hpp"

namespace muster::web {

/// The body of POST /api/v1/tokens.
server::wanted_token read_token(json_check& check, json_ref const& body);
/// The token in the body of POST /api/v1/session.
std::string read_sign_in(json_check& check, json_ref const& body);

void members(member_list const& m, core::token const& t);
/// With its secret.
void members(member_list const& m, server::new_token const& t);

/// Who asks, as GET /api/v1/session tells.
struct session_state {
  bool required = false;  // everybody is asked who they are
  bool signed_in = false;
  core::caller who;
  bool read_only = false;  // nobody may change anything
};
void write(json_out& out, session_state const& s);

/// Tokens, what is asked for and what is shown.
std::vector<schema::named> token_schemas();

}  // namespace muster::web
