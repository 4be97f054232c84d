// Member by member in the order of the contract, and their schemas beside them.
#include "web/json/waiting_json.hpp"

#include "server/hub/id_text.hpp"
#include "web/json/views_json.hpp"

namespace muster::web {

void write(json_out& out, core::gang_view const& g) {
  auto const object = out.object();
  out.key("job").string(core::text(g.job));
  out.key("gang").string(g.name);
  out.key("size").number(g.size);
  out.key("here").number(g.here);
  out.key("first").string(core::text(g.first));
  out.key("function").string(g.function);
  out.key("since_ms").number(core::to_unix_ms(g.since));
  out.key("possible").boolean(g.possible);
  out.key("why").string(g.why);
}

void write(json_out& out, core::gangs_view const& all) {
  auto const object = out.object();
  out.key("gangs").begin_array();
  for (auto const& g : all.items) write(out, g);
  out.end_array();
  out.key("more").number(all.more);
}

void write(json_out& out, core::wish_view const& w) {
  auto const object = out.object();
  out.key("needs").begin_object();
  write_needs(out, w.needs);
  out.end_object();
  out.key("functions").strings(w.functions);
  out.key("queued").number(w.queued);
  out.key("workers").number(w.workers);
  out.key("first").string(core::text(w.first));
  out.key("job").string(core::text(w.job));
  out.key("since_ms").number(core::to_unix_ms(w.since));
  out.key("why").string(w.why);
}

void write(json_out& out, core::wishes_view const& all) {
  auto const object = out.object();
  out.key("wishes").begin_array();
  for (auto const& w : all.items) write(out, w);
  out.end_array();
  out.key("complete").boolean(all.complete);
}

std::vector<schema::named> waiting_schemas() {
  using namespace schema;
  auto const gang =
      object({{"job", id("job_")},
              {"gang", text()},
              {"size", count()},
              {"here", described(count(), "members that only wait to be started")},
              {"first", id("cl_")},
              {"function", text()},
              {"since_ms", time()},
              {"possible", described(boolean(), "the connected workers could hold it")},
              {"why", text()}});
  auto const needs = object({{"task", text(), optional},
                             {"labels", map(text()), optional},
                             {"resources", map(count()), optional}});
  auto const wish = object({{"needs", needs},
                            {"functions", described(array(text()), "at most ten")},
                            {"queued", count()},
                            {"workers", described(count(),
                                                  "that would do, but are draining or "
                                                  "cordoned")},
                            {"first", id("cl_")},
                            {"job", id("job_")},
                            {"since_ms", time()},
                            {"why", text()}});
  auto const more = described(count(), "gangs that are not shown");
  auto const complete = described(boolean(), "false: there is more than was looked at");
  return {{"Gangs", object({{"gangs", array(gang)}, {"more", more}})},
          {"Wishes", object({{"wishes", array(wish)}, {"complete", complete}})}};
}

}  // namespace muster::web
