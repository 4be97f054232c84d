// Limits on complexity: collaborators of a class, length of a function, files that name a field,
// and no circular includes. Each list of exceptions only shrinks: an entry states today's count,
// and the test fails until a smaller count has been entered.
#include "tests/tidy/types.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <set>

#include "tests/tidy/collaborators.hpp"

namespace {

bool is_production(std::string const& path) {
  for (auto const* folder : {"tests/", "bench/", "examples/", "python/tests/"})
    if (path.starts_with(folder)) return false;
  return true;
}

std::vector<source> production_sources() {
  auto all = cpp_sources();
  std::erase_if(all, [](source const& s) { return !is_production(s.path); });
  return all;
}

struct exception {
  std::string_view place, name;  // file or struct, and the name in it
  std::size_t count;
};

/// Fails for each count above `max` without an exception, or above its exception. Also fails if the
/// count of an exception has decreased.
class limited_counts {
 public:
  template <std::size_t N>
  limited_counts(std::size_t max, exception const (&list)[N], std::string advice)
      : max_(max), list_(std::begin(list), std::end(list)), advice_(std::move(advice)) {}

  void add(std::string const& place, std::string const& name, std::size_t n,
           std::string const& detail = "") {
    auto const it = std::find_if(list_.begin(), list_.end(), [&](exception const& e) {
      return e.place == place && e.name == name;
    });
    if (it != list_.end()) met_[place + " " + name] = std::max(met_[place + " " + name], n);
    if (n > std::max(max_, it != list_.end() ? it->count : 0))
      ADD_FAILURE() << place << ": " << name << " has " << n << "; " << advice_ << "\n" << detail;
  }
  void expect_list_is_exact() {
    for (auto const& e : list_) {
      auto const n = met_[std::string(e.place) + " " + std::string(e.name)];
      if (n < e.count)
        ADD_FAILURE() << e.place << ": " << e.name << " has " << n << " now, not " << e.count
                      << "; " << (n > max_ ? "lower its entry" : "remove its entry");
    }
  }

 private:
  std::size_t const max_;
  std::vector<exception> const list_;
  std::string const advice_;
  std::map<std::string, std::size_t> met_;
};

constexpr std::size_t collaborators_max = 6;
constexpr exception with_more_collaborators[] = {
    {"server/core/transitions/lifecycle/lifecycle.hpp", "lifecycle", 14},
    {"server/core/transitions/sessions/session_ends.hpp", "session_ends", 13},
    {"server/core/durable/job_restart.hpp", "job_restart", 12},
    {"server/core/transitions/admission/admission.hpp", "admission", 14},
    {"server/core/transitions/placing/build_orders.hpp", "build_orders", 12},
    {"server/core/transitions/workers/worker_events.hpp", "worker_events", 12},
    {"server/core/queries/explainer.hpp", "explainer", 12},
    {"server/core/transitions/sessions/session_requests.hpp", "session_requests", 11},
    {"server/core/transitions/workers/worker_answers.hpp", "worker_answers", 11},
    {"client/worker/worker_stream.hpp", "worker_stream", 10},
    {"server/core/transitions/placing/dispatcher.hpp", "dispatcher", 10},
    {"server/core/transitions/sessions/resumable_sessions.hpp", "resumable_sessions", 10},
    {"server/rpc/coordination/call.hpp", "coordination_call", 10},
    {"server/core/transitions/sessions/parked_calls.hpp", "parked_calls", 9},
    {"client/worker/worker_stream.hpp", "resources", 8},
    {"server/core/coordination/transitions/barrier_callers.hpp", "barrier_callers", 8},
    {"server/core/coordination/transitions/registration.hpp", "registration", 8},
    {"server/core/queries/closure_queries.hpp", "closure_queries", 8},
    {"web/server/server.cpp", "web_server::impl", 8},
    {"server/core/coordination/transitions/barrier_service.hpp", "barrier_service", 7},
    {"server/core/coordination/transitions/error_propagation.hpp", "error_propagation", 7},
    {"server/core/durable/durable_records.hpp", "durable_records", 7},
    {"server/core/queries/session_queries.hpp", "session_queries", 7},
    {"server/core/queries/value_queries.hpp", "per_worker_queries", 7},
    {"server/core/transitions/lifecycle/value_keeping.hpp", "value_keeping", 7},
};

TEST(tidy, classes_have_few_collaborators) {
  limited_counts counts(
      collaborators_max, with_more_collaborators,
      "a class works with six others at most, counted through the structs that gather them");
  for (auto const& c : collaborator_counter(production_sources()).count()) {
    std::string all;
    for (auto const& one : c.collaborators) all += "  " + one + "\n";
    counts.add(c.path, c.name, c.collaborators.size(), all);
  }
  counts.expect_list_is_exact();
}

constexpr std::size_t function_lines_max = 80;
constexpr exception longer_functions[] = {
    {"server/core/transitions/workers/worker_events.cpp", "worker_events::attach", 82},
};

TEST(tidy, functions_are_short) {
  limited_counts counts(function_lines_max, longer_functions,
                        "a function has 80 lines at most: divide it into steps with names");
  std::size_t functions = 0;
  for (auto const& s : production_sources())
    for (auto const& f : type_scanner(code_of(s)).functions) {
      counts.add(s.path, f.name, f.lines);
      ++functions;
    }
  counts.expect_list_is_exact();
  EXPECT_GT(functions, 5'000u) << "the scanner failed to parse the code";
}

// Structs that describe a request. Their fields are declared, checked, stored, sent and displayed.
// Shared descriptions keep the number of files small. The dashboard is not counted: the types of
// its fields are generated, and it only displays them.
struct described_struct {
  std::string_view file, name;
};
constexpr described_struct requests[] = {
    {"server/core/api/model.hpp", "closure_options"},
    {"server/core/api/model.hpp", "session_spec"},
    {"server/core/api/objects.hpp", "object_spec"},
    {"server/core/api/programs.hpp", "program_spec"},
    {"server/core/coordination/api/declared_cluster.hpp", "cluster_spec"},
};
constexpr std::size_t files_of_a_field_max = 20;
constexpr exception fields_in_more_files[] = {
    {"cluster_spec", "heartbeat_timeout", 27}, {"object_spec", "class_name", 21},
    {"program_spec", "idempotency_key", 25},   {"program_spec", "max_restarts", 21},
    {"program_spec", "submitted_by", 37},      {"session_spec", "idempotency_key", 25},
    {"session_spec", "num_workers", 29},       {"session_spec", "submitted_by", 37},
};
// These words have other uses, so they cannot be counted.
constexpr std::string_view also_other_words[] = {"ends_with", "per_worker", "task_index"};

std::set<std::string> words_of(source const& s) {
  static std::regex const word("[A-Za-z_][A-Za-z_0-9]*");
  std::set<std::string> all;
  for (auto const& line : s.lines) {
    auto const code = line.substr(0, line.find("//"));
    for (std::sregex_iterator m(code.begin(), code.end(), word), end; m != end; ++m)
      all.insert(m->str());
  }
  return all;
}

/// Returns the last word of a declarator without its initializer: "duration retry_max" → retry_max.
std::string name_of_field(std::string const& declarator) {
  static std::regex const form(R"((\w+)\s*$)");
  std::smatch m;
  auto const told = declarator.substr(0, declarator.find('='));
  return std::regex_search(told, m, form) ? m[1].str() : std::string();
}

TEST(tidy, request_fields_are_named_in_few_files) {
  std::map<std::string, std::set<std::string>> files;  // that contain a word
  auto const read = read_tree([](std::string const& p) {
    if (p.starts_with("python/")) return p.starts_with("python/muster/") && p.ends_with(".py");
    return is_production(p) &&
           (p.ends_with(".hpp") || p.ends_with(".cpp") || p.ends_with(".proto"));
  });
  for (auto const& s : read)
    for (auto const& word : words_of(s)) files[word].insert(s.path);
  limited_counts counts(files_of_a_field_max, fields_in_more_files,
                        "a field is named in 20 files at most: let a table describe it");
  for (auto const& r : requests) {
    std::size_t fields = 0;
    for (auto const& s : cpp_sources())
      if (s.path == r.file)
        for (auto const& t : type_scanner(code_of(s)).found)
          for (auto const& declarator : t.fields) {
            if (t.name != r.name) continue;
            auto const name = name_of_field(declarator);
            ++fields;
            if (name.find('_') == std::string::npos ||  // a word such as "name" has other uses
                std::count(std::begin(also_other_words), std::end(also_other_words), name))
              continue;
            counts.add(std::string(r.name), name, files[name].size());
          }
    EXPECT_GT(fields, 0u) << "there is no " << r.name << " in " << r.file;
  }
  counts.expect_list_is_exact();
}

TEST(tidy, headers_have_no_include_cycle) {
  std::map<std::string, std::set<std::string>> includes;
  static std::regex const form("^#include \"([^\"]+)\"");
  for (auto const& s : cpp_sources())
    for (auto const& line : s.lines) {
      std::smatch m;
      if (s.is_header() && std::regex_search(line, m, form)) includes[s.path].insert(m[1]);
    }
  // The context includes its executor at its end, after the declarations that the executor needs.
  EXPECT_EQ(includes["coro/engine_context.hpp"].erase("coro/engine_executor.hpp"), 1u);
  for (std::size_t removed = 1; removed > 0;) {
    auto const left = includes;
    std::set<std::string> included;
    for (auto const& [header, others] : left) included.insert(others.begin(), others.end());
    removed = std::erase_if(includes, [&](auto const& header) {
      return !included.contains(header.first) ||
             std::none_of(header.second.begin(), header.second.end(),
                          [&](auto const& other) { return left.contains(other); });
    });
  }
  for (auto const& [header, others] : includes)
    ADD_FAILURE() << header << " is in an include cycle, or between two cycles";
}

// Headers with equal names are confusing in lists of files, reviews and error messages.
TEST(tidy, header_names_are_unique) {
  std::map<std::string, std::vector<std::string>> paths;
  for (auto const& s : production_sources())
    if (s.is_header()) paths[fs::path(s.path).filename().string()].push_back(s.path);
  for (auto const& [name, all] : paths)
    EXPECT_EQ(all.size(), 1u) << all.front() << " and " << all.back() << ": rename one";
}

// Sources that also define functions of another header's class.
constexpr described_struct with_other_classes[] = {
    {"client/agent/key_watching.cpp", "agent"},
    {"client/coordinator/cluster_coordinator.cpp", "coordinator_session"},
    {"client/coordinator/cluster_coordinator.cpp", "per_worker_handle"},
    {"client/coordinator/cluster_coordinator.cpp", "per_worker_value"},
    {"client/coordinator/cluster_coordinator.cpp", "value_handle"},
    {"client/coordinator/cluster_coordinator_checkpoints.cpp", "coordinator_session"},
    {"client/coordinator/cluster_coordinator_checkpoints.cpp", "periodic_checkpoints"},
    {"client/coordinator/cluster_coordinator_objects.cpp", "coordinator_session"},
    {"client/coordinator/cluster_coordinator_schedule.cpp", "coordinator_session"},
    {"client/coordinator/per_worker_components.cpp", "per_worker_value"},
    {"client/link/client_engine.cpp", "tls_options"},
    {"server/core/api/names.cpp", "changes"},
    {"server/core/api/names.cpp", "effects"},
    {"server/core/closures/callables.cpp", "function_table"},
    {"server/core/programs/controller_restore.cpp", "attempts"},
    {"server/net/abuse/unknown_calls.cpp", "accepting_server"},
};

TEST(tidy, sources_are_named_after_the_header_of_their_class) {
  std::map<std::string, std::vector<std::string>> headers;  // of a class
  auto const sources = production_sources();
  for (auto const& s : sources)
    if (s.is_header())
      for (auto const& t : type_scanner(code_of(s)).found) headers[t.name].push_back(s.path);
  std::set<std::pair<std::string, std::string>> others;
  for (auto const& s : sources) {
    if (s.is_header()) continue;
    type_scanner const scanned(code_of(s));
    auto const stem = fs::path(s.path).stem().string();
    for (auto const& f : scanned.functions) {
      auto const name = f.name.substr(0, f.name.find(':'));
      if (name == f.name || std::any_of(scanned.found.begin(), scanned.found.end(),
                                        [&](auto const& t) { return t.name == name; }))
        continue;
      auto const all = headers.find(name);
      if (all == headers.end()) continue;
      if (std::none_of(all->second.begin(), all->second.end(), [&](std::string const& header) {
            auto const own = fs::path(header).stem().string();
            return stem == own || stem.starts_with(own + "_");
          }))
        others.emplace(s.path, name);
    }
  }
  for (auto const& [path, name] : others)
    if (std::none_of(std::begin(with_other_classes), std::end(with_other_classes),
                     [&, path = path, name = name](auto const& e) {
                       return e.file == path && e.name == name;
                     }))
      ADD_FAILURE() << path << " defines functions of " << name
                    << "; begin its name with that of the header";
  for (auto const& e : with_other_classes)
    EXPECT_TRUE(others.contains({std::string(e.file), std::string(e.name)}))
        << e.file << " " << e.name << ": remove the entry";
}

// Counts the const methods of the class of that name in the header, without accessors of classes of
// queries by subject.
std::size_t queries_of(std::string const& path, std::string const& name) {
  std::size_t n = 0;
  for (auto const& s : cpp_sources()) {
    if (s.path != path) continue;
    bool within = false;
    for (auto const& line : s.lines) {
      if (line.starts_with("class " + name + " {")) within = true;
      if (line == "};") within = false;
      n += within && line.ends_with(") const;") && line.find("_queries const& ") == line.npos;
    }
  }
  return n;
}

TEST(tidy, coordinator_has_few_queries) {
  auto const n = queries_of("server/core/coordinator.hpp", "coordinator");
  EXPECT_GT(n, 0u) << "the header or its class has another name";
  EXPECT_LE(n, 14u) << "what only readers want is a listener below server/history, or one of the "
                       "queries by subject in server/core/queries";
}

type_scanner scanned(std::vector<std::string> lines) {
  return type_scanner(code_of({"some.hpp", std::move(lines)}));
}

TEST(tidy, types_and_functions_are_recognised) {
  auto const s = scanned({
      "#define OPEN {",
      "namespace a {",
      "template <class T>",
      "class one final : public base<T> {",
      " public:",
      "  one(int& a, int b) : a_(a), b_{b}, c_{b} {}",
      "  int& get() const { return a_; }",
      "  one& operator=(one const&) = delete;",
      "  static int& shared;",
      "  using pair = std::pair<int&, int>;",
      "  std::function<void(int&)> told = [](int& x) { x = 1; };",
      " private:",
      "  enum class kind { first, second };",
      "  struct row { int x = 0, y{1}; char const* text = \"; int z;\"; };  // int& w;",
      "  std::map<int, std::vector<int&>> all_;",
      "  int& a_;",
      "  int b_ = 0, c_{2};",
      "  int const& d_ = b_;",
      "  row rows_[2] = {{1, 2}, {3, 4}};",
      "};",
      "struct later;",
      "int f(int& x) {",
      "  struct hidden { int y; };",
      "  return x;",
      "}",
      "}",
  });
  ASSERT_EQ(s.found.size(), 2u);
  EXPECT_EQ(s.found[0].name, "one");
  EXPECT_FALSE(s.found[0].is_struct);
  EXPECT_EQ(s.found[0].fields.size(), 7u);
  EXPECT_EQ(s.found[1].name, "row");
  EXPECT_TRUE(s.found[1].is_struct);
  EXPECT_EQ(s.found[1].fields.size(), 3u);
  ASSERT_FALSE(s.functions.empty());
  EXPECT_EQ(s.functions.back().name, "f");
  EXPECT_EQ(s.functions.back().lines, 4u);
}

TEST(tidy, collaborators_are_counted_through_aggregates) {
  std::vector<source> const tree = {
      {"a/tables.hpp",
       {"class rows {};", "struct settings { int n; };", "struct tables {", "  rows first, second;",
        "  rows third;", "  int number = 0;", "};"}},
      {"a/user.hpp",
       {"#include \"a/tables.hpp\"", "struct needs { rows& r; rows& s; };", "class user {",
        "  tables& all_;", "  rows* other_;", "  needs needs_;", "  settings const& how_;",
        "  int& count_;", "  rows own_;", "};"}},
      {"a/user_more.cpp",
       {"#include \"a/user.hpp\"", "void user::f() {",
        "  all_.third.f(all_.first.f(), all_.number);", "}"}},
  };
  for (auto const& c : collaborator_counter(tree).count()) {
    if (c.name != "user") continue;
    EXPECT_EQ(c.collaborators,
              (std::vector<std::string>{"all_.first", "all_.third", "other_", "needs_.r",
                                        "needs_.s", "how_", "count_"}));
    return;
  }
  ADD_FAILURE() << "the class was not found";
}

// Detects a broken scanner, which would find fewer types.
TEST(tidy, types_of_the_source_tree_are_found) {
  std::size_t types = 0, begins = 0;
  static std::regex const begin(R"(^\s*(?:class|struct) \w[^;()=]*\{$)");
  for (auto const& s : cpp_sources()) {
    types += type_scanner(code_of(s)).found.size();
    for (auto const& line : s.lines) begins += std::regex_search(line, begin);
  }
  EXPECT_GT(types, begins * 95 / 100);
  EXPECT_GT(begins, 1'000u);
}

}  // namespace
