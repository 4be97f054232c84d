#include "web/attention/attention.hpp"
#include "web/json/json_out.hpp"

namespace muster::web {

std::string key_of(attention_item const& i) {
  return i.rule + " " + i.subject;
}

void write(json_out& out, attention_item const& i) {
  auto const object = out.object();
  out.key("rule").string(i.rule);
  out.key("severity").string(name(i.severity));
  out.key("title").string(i.title);
  out.key("detail").string(i.detail);
  out.key("since_ms").number(i.since == core::never ? 0 : core::to_unix_ms(i.since));
  out.key("count").number(i.count);
  out.key("link").string(i.link);
  if (!i.command.empty()) out.key("command").string(i.command);
}

}  // namespace muster::web
