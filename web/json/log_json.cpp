// Lines and progress, member by member.
#include "web/json/log_json.hpp"

#include "server/hub/id_text.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

void write(json_out& out, server::log_line const& l) {
  auto const object = out.object();
  out.key("seq").number(l.seq);
  out.key("time_ms").number(core::to_unix_ms(l.at));
  out.key("closure").string(core::text(l.closure));
  out.key("index").number(l.index);
  out.key("attempt").number(l.attempt);
  out.key("worker").string(l.worker ? std::string_view(*l.worker) : std::string_view());
  out.key("level").string(server::name(l.level));
  out.key("text").string(l.text);
}

void write(json_out& out, server::closure_progress const& p) {
  auto const object = out.object();
  out.key("fraction").number(p.fraction);
  out.key("text").string(p.text);
  out.key("attempt").number(p.attempt);
  out.key("time_ms").number(core::to_unix_ms(p.at));
}

void write(json_out& out, reported_closure const& c) {
  write(out, c.view, c.progress ? &*c.progress : nullptr);
}

}  // namespace muster::web
