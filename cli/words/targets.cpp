// Recognizes IDs by prefix and tasks by their colon, without a query. Looks up names in listings.
#include "cli/words/targets.hpp"

#include <algorithm>
#include <array>
#include <iostream>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "cli/table.hpp"
#include "cli/words/id_kinds.hpp"

namespace muster::cli {
namespace {

struct facts {
  target kind;
  std::string_view what, prefix, listing, word;
};
constexpr std::array all_facts{
    facts{target::closure, "closure", "cl_", "closures", "CLOSURE_ID"},
    facts{target::value, "value", "rv_", "remote_values", "VALUE_ID"},
    facts{target::job, "job", "job_", "jobs", "JOB"},
    facts{target::program, "program", "prog_", "programs", "PROGRAM"},
    facts{target::object, "object", "obj_", "objects", "OBJECT"},
    facts{target::dataset, "dataset", "ds_", "datasets", "DATASET"},
    facts{target::per_worker, "per-worker value", "pw_", "per_worker_values", "VALUE"},
    facts{target::task, "task", "", "tasks", "TASK"}};

facts const& facts_of(target kind) {
  return *std::find_if(all_facts.begin(), all_facts.end(),
                       [kind](facts const& f) { return f.kind == kind; });
}

bool is_id(std::string const& word, facts const& f) {
  return !f.prefix.empty() && is_id_with(f.prefix, word);
}

bool is_named(facts const& f) {
  return f.kind != target::closure && f.kind != target::value;
}

std::string path_of(facts const& f, std::string const& id) {
  return "/api/v1/" + std::string(f.listing) + "/" + percent_encoded(id);
}

std::string path_of_tasks(std::string const& cluster) {
  return "/api/v1/clusters/" + percent_encoded(cluster.empty() ? "default" : cluster) + "/tasks";
}

found_target task_found(std::string const& job, std::string const& index,
                        std::string const& cluster, bool by_name) {
  return {target::task, job + ":" + index,
          path_of_tasks(cluster) + "/" + percent_encoded(job) + "/" + index, by_name};
}

struct candidate {
  found_target found;
  std::string state;
  std::int64_t created_ms = 0;
};

bool has_ended(std::string const& state) {
  return state == "SUCCEEDED" || state == "FAILED" || state == "CANCELLED";
}

std::vector<candidate> tasks_named(rest& server, std::string const& word, target_options const& o) {
  std::vector<candidate> all;
  for (auto const& task : server.all(path_of_tasks(o.cluster) + "?", "tasks"))
    if (text_of(task, "host") == word && text_of(task, "kind") != "agent")
      all.push_back({task_found(text_of(task, "job"), text_of(task, "index"), o.cluster, true),
                     text_of(task, "state")});
  return all;
}

std::vector<candidate> named(rest& server, facts const& f, std::string const& word,
                             target_options const& o) {
  if (f.kind == target::task) return tasks_named(server, word, o);
  auto path = "/api/v1/" + std::string(f.listing) + "?";
  bool const searched =
      f.kind == target::job || f.kind == target::program || f.kind == target::object;
  if (searched) path += "q=" + percent_encoded(word) + "&";
  if (!o.cluster.empty()) path += "cluster=" + percent_encoded(o.cluster);
  std::vector<candidate> all;
  for (auto const& one : server.all(path, f.listing)) {
    if (text_of(one, "name") != word) continue;
    auto const id = text_of(one, "id");
    all.push_back(
        {{f.kind, id, path_of(f, id), true}, text_of(one, "state"), number_of(one, "created_ms")});
  }
  return all;
}

std::string listed(std::vector<candidate> const& all) {
  constexpr std::size_t shown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, all.size()); ++i) {
    auto const& c = all[i];
    text += (i == 0 ? "" : ", ") + c.found.id + " (" + std::string(facts_of(c.found.kind).what) +
            (c.state.empty() ? "" : ", " + c.state) + ")";
  }
  return all.size() > shown ? text + ", …" : text;
}

std::string kinds_text(std::initializer_list<target> kinds, char const* last) {
  std::string text;
  std::size_t i = 0;
  for (auto const kind : kinds) {
    if (i > 0) text += i + 1 == kinds.size() ? std::string(" ") + last + " " : ", ";
    text += facts_of(kind).what;
    ++i;
  }
  return text;
}

// Relaunched programs keep their name.
candidate newest_of(std::vector<candidate> const& all, std::string const& word) {
  auto const newest = *std::max_element(
      all.begin(), all.end(),
      [](candidate const& a, candidate const& b) { return a.created_ms < b.created_ms; });
  std::cerr << "muster: " << newest.found.id << " is the newest of " << all.size()
            << " programs named '" << for_terminal(word) << "'\n";
  return newest;
}

}  // namespace

found_target find_target(rest& server, std::string const& word, std::initializer_list<target> kinds,
                         target_options const& o) {
  if (word.empty()) throw command_error(exit_usage, "the id or name is empty");
  for (auto const kind : kinds)
    if (auto const& f = facts_of(kind); is_id(word, f)) return {kind, word, path_of(f, word)};
  auto const takes = [&](target kind) {
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
  auto const colon = word.rfind(':');
  bool const is_task =
      colon != 0 && colon != word.npos && parse_number(std::string_view(word).substr(colon + 1));
  if (is_task && takes(target::task))
    return task_found(word.substr(0, colon), word.substr(colon + 1), o.cluster, false);
  if (is_id_of_any_kind(word)) throw command_error(exit_usage, other_id(word, ""));
  std::vector<candidate> all;
  for (auto const kind : kinds) {
    if (!is_named(facts_of(kind))) continue;
    auto const some = named(server, facts_of(kind), word, o);
    all.insert(all.end(), some.begin(), some.end());
  }
  if (o.live && all.size() > 1) {
    auto left = all;
    std::erase_if(left, [](candidate const& c) { return has_ended(c.state); });
    if (!left.empty()) all = left;
  }
  auto const shown = "'" + for_terminal(word, 60) + "'";
  if (all.empty() && is_task) throw command_error(exit_usage, other_id(word, ""));
  if (all.empty())
    throw command_error(exit_failed, "there is no " + kinds_text(kinds, "or") + " " + shown);
  if (all.size() == 1) return all.front().found;
  bool const programs = std::all_of(
      all.begin(), all.end(), [](candidate const& c) { return c.found.kind == target::program; });
  if (programs) return newest_of(all, word).found;
  throw command_error(exit_usage, shown + " is the name of several entries (" +
                                      std::to_string(all.size()) + "): " + listed(all) +
                                      "; use an id");
}

std::string target_words(std::initializer_list<target> kinds) {
  std::string text;
  for (auto const kind : kinds)
    text += (text.empty() ? "" : "|") + std::string(facts_of(kind).word);
  return text;
}

}  // namespace muster::cli
