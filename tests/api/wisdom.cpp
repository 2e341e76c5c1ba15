// SPDX-License-Identifier: BSD-3-Clause
// Wisdom across engines: programs are compiled once and found afterwards, by every collective that has them; folders
// that hold nonsense, or cannot be written, cost nothing but time. STOKER_RANKS_PER_NODE pretends nodes.
#include "tests/api/mpi_main.hpp"
#include "tests/api/vector_transfer.hpp"

#include <filesystem>
#include <fstream>
#include <functional>

namespace api_tests {
namespace {

namespace fs = std::filesystem;
using algos::Collective;

std::vector<Collective> vector_collectives() {
  std::vector<Collective> list;
  for (std::size_t c = 0; c < algos::collectives_with_algorithms; ++c) {
    if (algos::pattern_of(static_cast<Collective>(c)) == algos::Pattern::distributed_vector &&
        static_cast<Collective>(c) != Collective::barrier) {
      list.push_back(static_cast<Collective>(c));
    }
  }
  return list;
}

class WisdomOfEngines : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = fs::temp_directory_path() / "stoker-wisdom-XXXXXX";
    if (world_rank() == 0) {
      ASSERT_NE(mkdtemp(name.data()), nullptr);
    }
    MPI_Bcast(name.data(), static_cast<int>(name.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
    folder_ = name;
  }
  void TearDown() override {
    barrier();
    if (world_rank() == 0) {
      fs::remove_all(folder_);
    }
    barrier();
  }

  [[nodiscard]] const fs::path& folder() const { return folder_; }

  // By one rank, while the others wait.
  void for_each_file(const std::function<void(std::size_t, const fs::path&)>& work) const {
    barrier();
    if (world_rank() == 0) {
      std::size_t number = 0;
      for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
        if (!entry.is_directory()) {
          work(number++, entry.path());
        }
      }
    }
    barrier();
  }
  [[nodiscard]] int files() const {
    int count = 0;
    for_each_file([&](std::size_t, const fs::path&) { ++count; });
    MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return count;
  }

  struct Found {
    int compiled = 0; // programs of all ranks
    int wisdom = 0;
  };
  // Each collective once, in an engine of its own: checked, and where its programs came from.
  [[nodiscard]] Found run(Settings settings = {}, int count = 17) const {
    settings.emplace_back("log", "error"); // what is refused is told; not here
    if (std::ranges::none_of(settings, [](const auto& setting) { return setting.first == "wisdom"; })) {
      settings.emplace_back("wisdom", folder_.string());
    }
    const EngineOwner engine(MPI_COMM_WORLD, settings);
    Found mine;
    for (const Collective collective : vector_collectives()) {
      VectorSpec spec;
      spec.collective = collective;
      spec.elements = Elements::doubles;
      spec.count = count;
      note(describe(spec));
      VectorTransfer transfer(spec, engine.get());
      EXPECT_EQ(transfer.code(), STOKER_SUCCESS) << transfer.message();
      for (int epoch = 0; epoch < 2; ++epoch) {
        transfer.prepare();
        EXPECT_TRUE(ok(stoker_start(transfer.request())));
        EXPECT_TRUE(ok(stoker_wait(transfer.request())));
        EXPECT_EQ(transfer.defect(), "") << describe(spec);
      }
      stoker_statistics statistics{};
      statistics.size = sizeof statistics;
      EXPECT_TRUE(ok(stoker_request_statistics(transfer.request(), &statistics)));
      const std::string program = statistics.program;
      EXPECT_TRUE(program == "compiled" || program == "wisdom") << program;
      ++(program == "wisdom" ? mine.wisdom : mine.compiled);
    }
    Found all;
    MPI_Allreduce(&mine.compiled, &all.compiled, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
  }
  [[nodiscard]] static int programs() { return world_size() * static_cast<int>(vector_collectives().size()); }

private:
  fs::path folder_;
};

TEST_F(WisdomOfEngines, TheSecondEngineCompilesNothing) {
  EXPECT_EQ(run().compiled, programs());
  const int after_the_first = files();
  EXPECT_GE(after_the_first, programs()); // and choices, where there was one to make
  EXPECT_EQ(run().wisdom, programs());
  EXPECT_EQ(files(), after_the_first);
}

TEST_F(WisdomOfEngines, WithoutAFolderAllIsCompiled) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(run({{"wisdom", ""}}).compiled, programs());
  }
  EXPECT_EQ(files(), 0);
}

TEST_F(WisdomOfEngines, AnotherProblemIsAnotherProgram) {
  const int others = world_size() > 1 ? programs() : programs() - 4; // rank 0's block of the v-forms is empty
  EXPECT_EQ(run({}, 17).compiled, programs());
  EXPECT_EQ(run({}, 40).compiled, others);
  EXPECT_EQ(run({}, 17).wisdom, programs());
  EXPECT_EQ(run({}, 40).wisdom, programs());
}

// Files of some ranks only, each damaged in another way: those are compiled again, the others found, and all work
// together.
TEST_F(WisdomOfEngines, DamagedFilesAreCompiledAgain) {
  const auto overwrite = [](const fs::path& path, std::uintmax_t at, char value) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const int old = file.get();
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(old ^ value));
  };
  const std::vector<std::function<void(const fs::path&)>> damages = {
      [&](const fs::path& path) { overwrite(path, 0, 1); },                         // magic
      [&](const fs::path& path) { overwrite(path, 8, 1); },                         // byte order
      [&](const fs::path& path) { overwrite(path, 12, 1); },                        // format
      [&](const fs::path& path) { overwrite(path, 16, 1); },                        // length
      [&](const fs::path& path) { overwrite(path, 30, 1); },                        // checksum
      [&](const fs::path& path) { overwrite(path, 50, 1); },                        // key
      [&](const fs::path& path) { overwrite(path, fs::file_size(path) - 3, 1); },   // program
      [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) / 2); }, // cut in the middle
      [](const fs::path& path) { fs::resize_file(path, 7); },                       // cut in the header
      [](const fs::path& path) { fs::resize_file(path, 0); },                       // empty
      [](const fs::path& path) { fs::resize_file(path, fs::file_size(path) + 8); }, // longer
  };
  EXPECT_EQ(run().compiled, programs());
  const int kept = files();
  for (const std::size_t first : {std::size_t{0}, damages.size() / 2}) { // one rank has too few files for all kinds
    for_each_file([&](std::size_t number, const fs::path& path) {
      if (number % 2 == 0) {
        damages[(first + (number / 2)) % damages.size()](path);
      }
    });
    const Found found = run();
    EXPECT_GT(found.compiled, 0);
    EXPECT_EQ(found.compiled + found.wisdom, programs());
    EXPECT_EQ(run().wisdom, programs()) << "what was refused was not replaced";
    EXPECT_EQ(files(), kept);
  }
}

// As if the names of files had collided, or somebody had renamed them.
TEST_F(WisdomOfEngines, FilesOfOtherKeysAreRefused) {
  EXPECT_EQ(run().compiled, programs());
  fs::path first;
  for_each_file([&](std::size_t number, const fs::path& path) {
    if (number == 0) {
      first = path;
    } else {
      fs::copy_file(first, path, fs::copy_options::overwrite_existing);
    }
  });
  EXPECT_GE(run().compiled, programs() - 1);
  EXPECT_EQ(run().wisdom, programs());
}

TEST_F(WisdomOfEngines, AFolderThatCannotBeMadeIsNoError) {
  const fs::path file = folder() / "file";
  if (world_rank() == 0) {
    std::ofstream(file) << "not a folder";
  }
  barrier();
  EXPECT_EQ(run({{"wisdom", (file / "below").string()}}).compiled, programs());
}

} // namespace
} // namespace api_tests
