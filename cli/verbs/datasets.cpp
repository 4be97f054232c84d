// muster datasets: lists or shows datasets whose splits are distributed to functions.
#include <iostream>

#include "base/text.hpp"
#include "cli/actions.hpp"
#include "cli/rest.hpp"
#include "cli/table.hpp"
#include "cli/words/targets.hpp"

namespace muster::cli {
namespace {

struct datasets_options : server_options {
  std::vector<std::string> words;
  std::string cluster;
};

std::string epoch_of(json::value const& d) {
  auto const epoch = count_of(d, "epoch"), epochs = count_of(d, "epochs");
  return epoch >= epochs ? "all " + with_thousands(epochs) + " are done"
                         : with_thousands(epoch + 1) + " of " + with_thousands(epochs);
}

void list(rest& server, datasets_options const& o) {
  auto const all = server.all("/api/v1/datasets?" + of_cluster(o.cluster), "datasets");
  if (printed_as_json(o.output, all)) return;
  table rows({"ID", "NAME", "EPOCH", right("SPLITS"), right("QUEUED"), right("DRAWN"),
              right("DONE"), right("WAITING")});
  for (auto const& one : all)
    rows.add({text_of(one, "id"), for_terminal(text_of(one, "name")), epoch_of(one),
              with_thousands(count_of(one, "splits")), with_thousands(count_of(one, "queued")),
              with_thousands(count_of(one, "drawn")), with_thousands(count_of(one, "done")),
              with_thousands(count_of(one, "waiting"))});
  rows.print(std::cout);
  if (all.empty()) std::cerr << "no dataset; Python and C++ programs create datasets\n";
}

void show(rest& server, std::string const& path, datasets_options const& o) {
  auto const one = server.get(path);
  if (printed_as_json(o.output, one)) return;
  auto const line = [](char const* what, std::string const& text) {
    if (!text.empty()) std::cout << what << for_terminal(text) << '\n';
  };
  line("id          ", text_of(one, "id"));
  line("name        ", text_of(one, "name"));
  line("session     ", text_of(one, "session"));
  line("created by  ", text_of(one, "submitted_by"));
  line("epoch       ", epoch_of(one));
  line("splits      ", text_of(one, "splits") + ": " + text_of(one, "queued") + " queued, " +
                           text_of(one, "drawn") + " drawn, " + text_of(one, "done") + " done");
  line("waiting     ", text_of(one, "waiting"));
  line("requeued    ", text_of(one, "given_back"));
  table rows({"TASK", right("DRAWN"), right("DONE")});
  auto const& workers = field_of(one, "workers");
  if (!workers.is_array() || workers.as_array().empty()) return;
  for (auto const& w : workers.as_array())
    rows.add({for_terminal(text_of(w, "task")), with_thousands(count_of(w, "drawn")),
              with_thousands(count_of(w, "done"))});
  rows.print(std::cout);
}

int run_datasets(datasets_options& o) {
  parsed_action const words("datasets", o.words, {{"list", 0}, {"show", 1}});
  rest server(o.rest);
  if (words.action() == "list")
    list(server, o);
  else
    show(server,
         find_target(server, words.need(0, "NAME or ID"), {target::dataset}, {.cluster = o.cluster})
                 .path +
             "?" + of_cluster(o.cluster),
         o);
  return exit_ok;
}

}  // namespace

void add_datasets(CLI::App& app, choice& chosen) {
  auto const [verb, o] =
      add_verb(app, chosen, "datasets",
               "List or show datasets whose splits are distributed to functions", run_datasets);
  add_value(*verb, "action", o->words, "list | show DATASET",
            "What to do, with a name or an id (list)");
  add_closure_cluster_option(*verb, o->cluster);
  add_server_options(*verb, *o);
  verb->footer(
      "If tokens are required, only admins and the token that created a dataset can see it.\n"
      "Example:\n"
      "  muster datasets list");
}

}  // namespace muster::cli
