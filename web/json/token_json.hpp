// JSON of tokens. Only the response that creates a token contains its secret.
#pragma once

#include "server/hub/access/token_keeper.hpp"
#include "web/json/json_in.hpp"
#include "web/json/members.hpp"

namespace muster::web {

server::token_request read_token(json_check& check, json_ref const& body);
std::string read_sign_in(json_check& check, json_ref const& body);

void members(member_list const& m, core::token const& t);
/// Writes the members of the token, including its secret.
void members(member_list const& m, server::new_token const& t);

struct session_state {
  bool required = false;
  bool signed_in = false;
  core::caller who;
  bool read_only = false;
};
void write(json_out& out, session_state const& s);

std::vector<schema::named> token_schemas();

}  // namespace muster::web
