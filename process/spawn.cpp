#include "process/spawn.hpp"

#include <signal.h>
#include <spawn.h>

#include <stdexcept>
#include <system_error>

extern char** environ;

namespace muster {
namespace {

void reject_nul(std::string const& text) {
  if (text.find('\0') != text.npos) throw std::invalid_argument("a NUL byte in argv, env or cwd");
}

std::vector<std::string> environment_with(std::map<std::string, std::string> const& added) {
  std::vector<std::string> all;
  for (char** e = environ; *e; ++e) {
    std::string const entry = *e;
    if (!added.contains(entry.substr(0, entry.find('=')))) all.push_back(entry);
  }
  for (auto const& [key, text] : added) {
    if (key.empty() || key.find('=') != key.npos)
      throw std::invalid_argument("'" + key + "' cannot name an environment variable");
    all.push_back(key + "=" + text);
    reject_nul(all.back());
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (auto& t : texts) out.push_back(t.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

pid_t spawn(process_options const& o, standard_streams streams) {
  if (o.argv.empty()) throw std::invalid_argument("argv is empty");
  auto argv = o.argv;
  for (auto const& a : argv) reject_nul(a);
  reject_nul(o.cwd);
  auto env = environment_with(o.env);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, streams.in, 0);
  posix_spawn_file_actions_adddup2(&actions, streams.out, 1);
  posix_spawn_file_actions_adddup2(&actions, streams.err, 2);
  if (!o.cwd.empty()) posix_spawn_file_actions_addchdir_np(&actions, o.cwd.c_str());
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  pid_t pid = 0;
  int const error = posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes,
                                 pointers(argv).data(), pointers(env).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category(), o.argv[0]);
  return pid;
}

}  // namespace muster
