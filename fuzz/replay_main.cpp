// Runs a fuzz target without a fuzzing engine: every file of its corpus as it is, every truncation
// of the small ones, then mutations from a fixed seed. FUZZ_MUTATIONS sets how many (default:
// 100,000; ./test takes fewer). A crash names the input by its number.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLargestTruncated =
    4096;  // bytes; larger files are cut at 4,096 places instead
constexpr std::size_t kLargestMutated = 64 * 1024;

std::vector<Input> load(const char* folder) {
  std::vector<std::filesystem::path> paths;
  if (std::filesystem::is_directory(folder))
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file{path, std::ios::binary};
    inputs.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
  }
  return inputs;
}

void run(const Input& input) {
  // An exact copy, so that a read past the end is seen.
  const Input exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void truncate_everywhere(const Input& input) {
  const auto step = std::max<std::size_t>(1, input.size() / kLargestTruncated);
  for (std::size_t size = 0; size < input.size(); size += step)
    run(Input(input.begin(), input.begin() + static_cast<std::ptrdiff_t>(size)));
}

Input mutated(const std::vector<Input>& corpus, std::mt19937_64& random) {
  static constexpr std::uint64_t kInteresting[] = {
      0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, ~0ULL};
  const auto pick = [&](std::size_t bound) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(1, bound));
  };
  Input input = corpus[pick(corpus.size())];
  if (input.size() > kLargestMutated) input.resize(kLargestMutated);
  for (auto changes = 1 + pick(4); changes > 0; --changes) {
    const auto at = static_cast<std::ptrdiff_t>(pick(input.size()));
    switch (pick(6)) {
      case 0:
        if (!input.empty())
          input[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(1U << pick(8));
        break;
      case 1:
        if (!input.empty())
          input[static_cast<std::size_t>(at)] = static_cast<std::uint8_t>(random());
        break;
      case 2: {
        const auto value = kInteresting[pick(std::size(kInteresting))];
        for (std::size_t i = 0, width = std::size_t{1} << pick(4);
             i < width && static_cast<std::size_t>(at) + i < input.size(); ++i)
          input[static_cast<std::size_t>(at) + i] = static_cast<std::uint8_t>(value >> (8 * i));
        break;
      }
      case 3:
        input.erase(
            input.begin() + at,
            input.begin() + at +
                static_cast<std::ptrdiff_t>(pick(input.size() - static_cast<std::size_t>(at) + 1)));
        break;
      case 4:
        input.insert(input.begin() + at, 1 + pick(16), static_cast<std::uint8_t>(random()));
        break;
      default: {
        const auto& other = corpus[pick(corpus.size())];
        const auto from = pick(other.size());
        const auto count = std::min<std::size_t>(pick(64), other.size() - from);
        input.insert(input.begin() + at, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + count));
      }
    }
  }
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s CORPUS_FOLDER\n", argv[0]), 3;
  auto corpus = load(argv[1]);
  if (corpus.empty()) return std::fprintf(stderr, "%s: no corpus in %s\n", argv[0], argv[1]), 1;
  for (const auto& input : corpus) run(input);
  for (const auto& input : corpus) truncate_everywhere(input);

  const char* wanted = std::getenv("FUZZ_MUTATIONS");
  const long mutations = wanted ? std::atol(wanted) : 100'000;
  std::mt19937_64 random{20261115};
  // The input about to run stays in this file, so that a crash leaves its cause behind.
  const char* crash_path = std::getenv("FUZZ_KEEP");
  for (long i = 0; i < mutations; ++i) {
    const auto input = mutated(corpus, random);
    if (crash_path)
      std::ofstream{crash_path, std::ios::binary}.write(reinterpret_cast<const char*>(input.data()),
                                                        static_cast<std::streamsize>(input.size()));
    run(input);
  }
  std::printf("%zu files, their truncations and %ld mutations: no crash\n", corpus.size(),
              mutations);
  return 0;
}
