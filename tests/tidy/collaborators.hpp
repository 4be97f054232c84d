// Counts the collaborators of a class: the objects that it references or points to. A reference to
// a struct of objects counts as each member that the class uses. A struct held by value counts as
// each of its references. Built on types.hpp; one thread.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/tidy/types.hpp"

class collaborator_counter {
 public:
  struct counted {
    std::string path, name;
    std::vector<std::string> collaborators;
  };

  explicit collaborator_counter(std::vector<source> const& all) {
    for (auto const& s : all) {
      auto& f = files_[s.path];
      f.code = code_of(s);
      f.types = type_scanner(f.code).found;
      for (auto const& line : s.lines) {
        static std::regex const form("^#include \"([^\"]+)\"");
        std::smatch m;
        if (std::regex_search(line, m, form)) f.includes.insert(m[1]);
      }
    }
  }

  std::vector<counted> count() {
    std::vector<counted> all;
    for (auto const& [path, f] : files_)
      for (auto const& t : f.types) all.push_back({path, t.name, of(path, t, {})});
    return all;
  }

 private:
  struct file {
    std::string code;
    std::vector<defined_type> types;
    std::set<std::string> includes;
  };
  struct member {
    std::string type, name;
    bool is_reference = false, is_pointer = false;
  };
  struct found_type {
    std::string path;
    defined_type const* type = nullptr;
  };

  static std::string last_part(std::string const& name) {
    auto const colon = name.rfind(':');
    return colon == std::string::npos ? name : name.substr(colon + 1);
  }
  static std::optional<member> parsed(std::string const& field) {
    static std::regex const form(
        R"(^\s*(?:mutable\s+|const\s+)*([\w:]+)(?:\s+const)?\s*([&*]?)\s*(\w+))");
    std::smatch m;
    if (!std::regex_search(field, m, form)) return {};
    return member{last_part(m[1]), m[3], m[2] == "&", m[2] == "*"};
  }

  /// Returns the files whose types `path` can use: itself, its sources and all that they include.
  std::set<std::string> const& visible_from(std::string const& path) {
    auto const [it, made] = visible_.try_emplace(path);
    if (!made) return it->second;
    auto open = sources_of(path);
    std::set<std::string> seen(open.begin(), open.end());
    while (!open.empty()) {
      auto const next = open.back();
      open.pop_back();
      for (auto const& other : files_[next].includes)
        if (files_.contains(other) && seen.insert(other).second) open.push_back(other);
    }
    return visible_[path] = std::move(seen);
  }
  /// Returns the type of that name, the nearest in the tree where several are visible.
  found_type resolved(std::string const& name, std::string const& path) {
    found_type best;
    std::size_t most = 0;
    for (auto const& other : visible_from(path))
      for (auto const& t : files_[other].types) {
        if (last_part(t.name) != name) continue;
        auto const same = std::mismatch(path.begin(), path.end(), other.begin(), other.end());
        auto const near = 1 + static_cast<std::size_t>(same.first - path.begin());
        if (near > most) best = {other, &t}, most = near;
      }
    return best;
  }
  /// Returns the header and the sources that are named after it: `x.cpp` and `x_*.cpp`.
  std::vector<std::string> sources_of(std::string const& path) const {
    std::vector<std::string> all = {path};
    if (!path.ends_with(".hpp")) return all;
    auto const stem = path.substr(0, path.size() - 4);
    for (auto const& [other, f] : files_)
      if (other.ends_with(".cpp") && (other == stem + ".cpp" || other.starts_with(stem + "_")))
        all.push_back(other);
    return all;
  }

  std::vector<std::string> of(std::string const& path, defined_type const& t,
                              std::vector<defined_type const*> above) {
    above.push_back(&t);
    std::vector<std::string> all;
    for (auto const& field : t.fields) {
      auto const m = parsed(field);
      if (!m) continue;
      auto const what = resolved(m->type, path);
      auto const is_struct = what.type && what.type->is_struct;
      if (m->is_reference || (m->is_pointer && what.type)) {
        auto const used = is_struct ? used_objects(path, m->name, what) : std::set<std::string>();
        for (auto const& name : used) all.push_back(m->name + "." + name);
        if (used.empty()) all.push_back(m->name);
      } else if (is_struct && !m->is_pointer &&
                 std::find(above.begin(), above.end(), what.type) == above.end()) {
        for (auto const& inner : of(what.path, *what.type, above))
          all.push_back(m->name + "." + inner);
      }
    }
    return all;
  }
  /// Returns the members of an aggregate that are objects of this tree and that the class uses.
  std::set<std::string> used_objects(std::string const& path, std::string const& name,
                                     found_type const& aggregate) {
    std::set<std::string> objects, used;
    for (auto const& field : aggregate.type->fields)
      if (auto const m = parsed(field); m && resolved(m->type, aggregate.path).type)
        objects.insert(m->name);
    std::regex const use("\\b" + name + "(?:\\.|->)(\\w+)");
    for (auto const& file : sources_of(path)) {
      auto const& code = files_[file].code;
      for (std::sregex_iterator m(code.begin(), code.end(), use), end; m != end; ++m)
        if (objects.contains((*m)[1])) used.insert((*m)[1]);
    }
    return used;
  }

  std::map<std::string, file> files_;
  std::map<std::string, std::set<std::string>> visible_;
};
