// Recordings of torch's own clients get the recorded answers, byte by byte. Data sent at once is
// answered at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/torch/torch_clients.hpp"

namespace muster::torch {
namespace {

namespace fs = std::filesystem;

struct line {
  int connection = 0;
  enum { open, sent, answered, ended } what{};
  std::string bytes;
  bool any_order = false;  // LIST_KEYS promises no order
};

std::string sorted(std::string bytes) {
  std::sort(bytes.begin(), bytes.end());
  return bytes;
}

std::string from_hex(std::string const& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::vector<line> lines_of(fs::path const& file) {
  std::vector<line> all;
  auto in = std::ifstream(file);
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with('#') || text.empty()) continue;
    auto words = std::istringstream(text);
    line l;
    std::string what, bytes;
    words >> l.connection >> what >> bytes;
    l.what = what == "open"   ? line::open
             : bytes == "eof" ? line::ended
             : what == ">"    ? line::sent
                              : line::answered;
    if (l.what == line::ended && what == "<") continue;
    l.bytes = from_hex(bytes);
    l.any_order = text.ends_with("to LIST_KEYS");
    all.push_back(l);
  }
  return all;
}

enum class pieces { commands, bytes, merged };

numbering early_of(fs::path const& file) {
  return file.stem().string().find("-2.1.2") == std::string::npos ? numbering::a : numbering::b;
}

void replay(fs::path const& file, pieces how) {
  SCOPED_TRACE(file.filename().string());
  clients server(early_of(file));
  std::map<int, connection_id> ids;
  auto all = lines_of(file);
  ASSERT_FALSE(all.empty());
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const& l = all[i];
    SCOPED_TRACE("line " + std::to_string(i) + " of connection " + std::to_string(l.connection));
    auto const id = l.what == line::open ? server.open() : ids.at(l.connection);
    if (l.what == line::open) ids[l.connection] = id;
    if (l.what == line::ended) server.close(id);
    if (l.what == line::sent && how == pieces::merged && i + 1 < all.size() &&
        all[i + 1].what == line::sent && all[i + 1].connection == l.connection) {
      all[i + 1].bytes = l.bytes + all[i + 1].bytes;
    } else if (l.what == line::sent && how == pieces::bytes) {
      for (auto const b : l.bytes) server.send(id, std::string(1, b));
    } else if (l.what == line::sent) {
      server.send(id, l.bytes);
    }
    if (l.what == line::answered) {
      auto& got = server.got[id];
      auto const answer = got.substr(0, l.bytes.size());
      if (l.any_order)
        ASSERT_EQ(sorted(answer), sorted(l.bytes));
      else
        ASSERT_EQ(answer, l.bytes);
      got.erase(0, l.bytes.size());
    }
    ASSERT_EQ(server.tcp_store.invalid(), "");
  }
  for (auto const& [id, got] : server.got) EXPECT_EQ(got, "") << "not in the recording: " << id;
  for (auto const& i : server.told) EXPECT_NE(i.what, incident::kind::refused) << i.text;
}

void replay_all(pieces how) {
  std::size_t n = 0;
  for (auto const& entry : fs::directory_iterator(TRANSCRIPTS)) {
    if (entry.path().extension() != ".hex") continue;
    replay(entry.path(), how);
    ++n;
  }
  EXPECT_EQ(n, 24u);
}

TEST(transcripts, are_answered_as_recorded) {
  replay_all(pieces::commands);
}

TEST(transcripts, are_answered_byte_by_byte) {
  replay_all(pieces::bytes);
}

TEST(transcripts, are_answered_when_commands_are_merged) {
  replay_all(pieces::merged);
}

}  // namespace
}  // namespace muster::torch
