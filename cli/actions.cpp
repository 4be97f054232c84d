#include "cli/actions.hpp"

#include "base/text.hpp"
#include "cli/job_submission.hpp"
#include "cli/suggestion.hpp"

namespace muster::cli {

parsed_action::parsed_action(std::string verb, std::vector<std::string> words,
                             std::initializer_list<known> actions)
    : verb_(std::move(verb)), action_(words.empty() ? actions.begin()->action : words.front()) {
  if (!words.empty()) rest_.assign(words.begin() + 1, words.end());
  std::string all;
  for (auto const& [action, arguments_max] : actions) {
    all += (all.empty() ? "" : ", ") + std::string(action);
    if (action != action_) continue;
    if (rest_.size() > arguments_max)
      throw wrong("unexpected argument '" + rest_[arguments_max] + "'");
    return;
  }
  throw command_error(exit_usage, "'" + action_ + "' is not one of " + all + " (see 'muster " +
                                      verb_ + " --help')");
}

std::string const& parsed_action::need(std::size_t at, std::string const& what) const {
  if (at < rest_.size() && !rest_[at].empty()) return rest_[at];
  throw wrong(what + " is missing");
}

command_error parsed_action::wrong(std::string const& why) const {
  return {exit_usage, action_ + ": " + why + " (see 'muster " + verb_ + " --help')"};
}

std::vector<std::string> remaining_arguments(CLI::App const& verb,
                                             std::vector<std::string> const& literal) {
  std::vector<std::string> all;
  for (auto const& word : verb.remaining()) {
    if (word.starts_with('-') && !argument(word).is_number())
      throw unknown_flag(verb, word, "write -- before an argument that begins with -");
    all.push_back(word);
  }
  all.insert(all.end(), literal.begin(), literal.end());
  return all;
}

std::map<std::string, std::string> named_values(std::string const& flag, std::string const& form,
                                                std::vector<std::string> const& texts) {
  std::map<std::string, std::string> all;
  for (auto const& text : texts) {
    auto const equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      throw command_error(exit_usage, flag + " " + text + ": write " + form);
    all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return all;
}

void add_closure_cluster_option(CLI::App& verb, std::string& cluster) {
  add_value(verb, "--cluster", cluster, "NAME",
            "Cluster of the workers (default: the main cluster)");
}

std::string of_cluster(std::string const& name) {
  return name.empty() ? name : "cluster=" + percent_encoded(name);
}

void add_cluster_option(CLI::App& verb, std::string& cluster) {
  add_value(verb, "--cluster", cluster, "NAME",
            "Name of the cluster (default: the cluster of the main port)")
      ->capture_default_str();
}

}  // namespace muster::cli
