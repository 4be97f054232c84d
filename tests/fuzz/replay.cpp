// The main program of a fuzz target without libFuzzer: runs the target on each file of the given
// folders.
//
//   fuzz_NAME FOLDER|FILE…
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

namespace {

std::vector<std::filesystem::path> files_of(std::filesystem::path const& place) {
  if (!std::filesystem::is_directory(place)) return {place};
  std::vector<std::filesystem::path> files;
  for (auto const& entry : std::filesystem::directory_iterator(place)) files.push_back(entry);
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i)
    for (auto const& file : files_of(argv[i])) {
      std::ifstream in(file, std::ios::binary);
      std::string const bytes{std::istreambuf_iterator<char>(in), {}};
      if (!in) return std::fprintf(stderr, "%s cannot be read\n", file.c_str()), 2;
      std::printf("%s\n", file.c_str());  // the last line names the input that aborted
      std::fflush(stdout);
      LLVMFuzzerTestOneInput(reinterpret_cast<std::uint8_t const*>(bytes.data()), bytes.size());
      ++count;
    }
  std::printf("%zu inputs\n", count);
  return count == 0;
}
