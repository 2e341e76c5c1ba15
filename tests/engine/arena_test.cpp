// SPDX-License-Identifier: BSD-3-Clause
// Arenas: attaching from another process, refusing what is not the expected segment, exhaustion, and the free list
// against a shadow map.
#include "engine/shared/arena.hpp"

#include "engine/base/error.hpp"
#include "engine/base/owned_fd.hpp"
#include "engine/base/round_up.hpp"
#include "engine/shared/memory_limits.hpp"
#include "tests/engine/watchdog.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numaif.h>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace stoker::engine {
namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;
constexpr std::uint64_t stamp = 0x1234;

class ArenaTest : public test::WithWatchdog {};

// The code and message of the Error that `call` throws; nothing when it throws none.
template <class Call>
std::optional<Error> error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

bool mentions(const Error& error, const std::string& text) {
  return std::string(error.what()).find(text) != std::string::npos;
}

std::uint64_t backed_bytes(const Arena& arena) {
  struct stat status {};
  EXPECT_EQ(fstat(arena.descriptor().fd, &status), 0);
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

TEST_F(ArenaTest, ChildTakesNothingAndGivesNothingBack) {
  Arena arena({.bytes = 8 * mib, .layout_stamp = stamp});
  const std::uint64_t at = arena.allocate(2 * mib, 4096);
  std::memset(arena.base() + at, 'p', 2 * mib);
  const pid_t child = test::fork_child([&] {
    arena.deallocate(at);
    const auto error = error_of([&] { (void)arena.allocate(mib); });
    return error && error->code() == Code::resource && mentions(*error, "child") ? 0 : 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
  EXPECT_EQ(*arena.at<char>(at), 'p');
  EXPECT_EQ(*arena.at<char>(at + 2 * mib - 1), 'p');
}

// An emulator of another processor may accept advice about memory, and forget it.
bool heeds_advice() {
  const OwnedFd file(memfd_create("probe", MFD_CLOEXEC));
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(ftruncate(file, static_cast<off_t>(page)), 0);
  const Mapping memory(mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), page);
  *memory.base() = std::byte{1};
  EXPECT_EQ(madvise(memory.base(), page, MADV_REMOVE), 0);
  return *memory.base() == std::byte{0};
}

TEST_F(ArenaTest, AnotherProcessSeesTheSameBytesAtTheSameOffsets) {
  Arena arena({.bytes = 8 * mib, .layout_stamp = stamp});
  const std::uint64_t at = arena.allocate(100'000, 4096);
  auto* word = new (arena.at<void>(at)) std::atomic<std::uint64_t>{41};
  std::memset(arena.base() + at + 64, 'p', 1000);
  const pid_t child = test::fork_child([&, descriptor = arena.descriptor()] {
    const Mapping peer = attach_arena(descriptor, stamp);
    const bool elsewhere = peer.base() != arena.base() && peer.bytes() == arena.bytes();
    const auto* text = peer.at<const char>(at + 64);
    const bool same = std::all_of(text, text + 1000, [](char c) { return c == 'p'; });
    std::memset(peer.base() + at + 64, 'c', 1000);
    peer.at<std::atomic<std::uint64_t>>(at)->fetch_add(1);
    return elsewhere && same && peer.offset_of(text) == at + 64 ? 0 : 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
  EXPECT_EQ(word->load(), 42u);
  EXPECT_EQ(*arena.at<char>(at + 64), 'c');
  EXPECT_EQ(*arena.at<char>(at + 1063), 'c');
}

// The mapping of a peer outlives its owner, and nothing has a name that could stay behind.
TEST_F(ArenaTest, NothingStaysWhenTheOwnerIsKilled) {
  Arena mailbox({.bytes = mib});
  struct Mail {
    ArenaDescriptor descriptor;
    std::uint64_t place = 0;
    std::atomic<int> state{0};
  };
  auto* mail = new (mailbox.at<void>(mailbox.allocate(sizeof(Mail)))) Mail;
  const pid_t owner = test::fork_child([&] {
    Arena arena({.bytes = mib});
    mail->place = arena.allocate(4);
    *arena.at<int>(mail->place) = 7;
    mail->descriptor = arena.descriptor();
    mail->state = 1;
    while (true) {
      pause();
    }
    return 0;
  });
  while (mail->state == 0) {
    std::this_thread::yield();
  }
  const ArenaDescriptor descriptor = mail->descriptor;
  {
    const Mapping peer = attach_arena(descriptor, 0);
    kill(owner, SIGKILL);
    EXPECT_EQ(test::join_child(owner), -1);
    EXPECT_EQ(*peer.at<int>(mail->place), 7);
  }
  const auto error = error_of([&] { (void)attach_arena(descriptor, 0); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::peer_lost);
  if (std::filesystem::exists("/dev/shm")) {
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      EXPECT_EQ(entry.path().filename().string().find("stoker"), std::string::npos) << entry.path();
    }
  }
}

TEST_F(ArenaTest, RefusesADamagedHeader) {
  Arena arena({.bytes = mib, .layout_stamp = stamp});
  const ArenaDescriptor descriptor = arena.descriptor();
  auto& header = *arena.at<ArenaHeader>(0);
  const ArenaHeader good = header;
  const auto refused = [&](const char* field) {
    const auto error = error_of([&] { (void)attach_arena(descriptor, stamp); });
    ASSERT_TRUE(error) << field;
    EXPECT_EQ(error->code(), Code::mismatch);
    EXPECT_TRUE(mentions(*error, field)) << error->what();
    header = good;
  };
  header.magic ^= 1;
  refused("magic");
  header.version += 1;
  refused("version");
  header.pid += 1;
  refused("pid");
  header.layout_stamp += 1;
  refused("layout stamp");
  header.bytes += 4096;
  refused("length");
  header.identity ^= 1;
  refused("identity");
  // Unharmed it is accepted, by those who expect the same layout.
  EXPECT_FALSE(error_of([&] { (void)attach_arena(descriptor, stamp); }));
  const auto error = error_of([&] { (void)attach_arena(descriptor, stamp + 1); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::mismatch);
}

TEST_F(ArenaTest, RefusesWhatIsNotTheDescribedSegment) {
  Arena arena({.bytes = mib});
  Arena other({.bytes = mib});
  const auto code_of = [](const ArenaDescriptor& descriptor) {
    const auto error = error_of([&] { (void)attach_arena(descriptor, 0); });
    return error ? error->code() : Code::success;
  };
  ArenaDescriptor descriptor = arena.descriptor();
  EXPECT_EQ(code_of(descriptor), Code::success);
  descriptor.fd = other.descriptor().fd; // as after a number has been used anew
  EXPECT_EQ(code_of(descriptor), Code::mismatch);
  descriptor = arena.descriptor();
  descriptor.bytes *= 2;
  EXPECT_EQ(code_of(descriptor), Code::mismatch);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  descriptor = arena.descriptor();
  descriptor.fd = ends[0];
  EXPECT_EQ(code_of(descriptor), Code::mismatch);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(code_of(descriptor), Code::peer_lost); // no such descriptor any more
}

TEST_F(ArenaTest, SaysWhenAccessIsDenied) {
  Arena arena({.bytes = mib});
  const int dumpable = prctl(PR_GET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
  prctl(PR_SET_DUMPABLE, 0UL, 0UL, 0UL, 0UL);
  const pid_t child = test::fork_child([descriptor = arena.descriptor()] {
    if (geteuid() == 0 && setuid(65534) != 0) { // root may do anything
      return 2;
    }
    const auto error = error_of([&] { (void)attach_arena(descriptor, 0); });
    return error && error->code() == Code::access && mentions(*error, "dumpable") ? 0 : 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
  prctl(PR_SET_DUMPABLE, static_cast<unsigned long>(dumpable), 0UL, 0UL, 0UL);
}

TEST_F(ArenaTest, ClosingTheDescriptorEndsAttachingAndNothingElse) {
  Arena arena({.bytes = 16 * mib});
  const ArenaDescriptor descriptor = arena.descriptor();
  const Mapping peer = attach_arena(descriptor, 0);
  arena.close_descriptor();
  EXPECT_EQ(arena.descriptor().fd, -1);
  EXPECT_TRUE(error_of([&] { (void)attach_arena(descriptor, 0); }));
  EXPECT_TRUE(error_of([&] { (void)attach_arena(arena.descriptor(), 0); }));
  const std::uint64_t at = arena.allocate(2 * mib);
  arena.base()[at + 2 * mib - 1] = std::byte{9};
  EXPECT_EQ(peer.base()[at + 2 * mib - 1], std::byte{9});
  arena.deallocate(at);
  EXPECT_EQ(peer.base()[at + mib], std::byte{0});
}

TEST_F(ArenaTest, ContainsOnlyWhatLiesWithin) {
  Arena arena({.bytes = mib});
  const std::byte* base = arena.base();
  EXPECT_TRUE(arena.contains(base, arena.bytes()));
  EXPECT_TRUE(arena.contains(base + 10, 0));
  EXPECT_TRUE(arena.contains(base + arena.bytes(), 0));
  EXPECT_FALSE(arena.contains(base + 1, arena.bytes()));
  EXPECT_FALSE(arena.contains(base - 1, 1));
  EXPECT_FALSE(arena.contains(base + arena.bytes(), 1));
  EXPECT_FALSE(arena.contains(base + 10, ~std::uint64_t{0}));
  EXPECT_FALSE(arena.contains(nullptr, 1));
  EXPECT_EQ(arena.offset_of(base + 77), 77u);
}

TEST_F(ArenaTest, RefusesBadArguments) {
  EXPECT_EQ(error_of([] { Arena arena({.bytes = 0}); })->code(), Code::setting);
  EXPECT_EQ(error_of([] { Arena arena({.bytes = ~std::uint64_t{0}}); })->code(), Code::setting);
  Arena arena({.bytes = mib});
  for (const std::uint64_t alignment : {std::uint64_t{0}, std::uint64_t{3}, mib}) {
    EXPECT_EQ(error_of([&] { (void)arena.allocate(1, alignment); })->code(), Code::argument);
  }
  EXPECT_EQ(error_of([&] { arena.deallocate(128); })->code(), Code::argument);
  const std::uint64_t at = arena.allocate(1);
  arena.deallocate(at);
  EXPECT_EQ(error_of([&] { arena.deallocate(at); })->code(), Code::argument);
}

TEST_F(ArenaTest, ExhaustionIsAnErrorThatNamesTheSetting) {
  Arena arena({.bytes = mib});
  std::vector<std::uint64_t> blocks;
  std::optional<Error> error;
  while (!error) {
    error = error_of([&] { blocks.push_back(arena.allocate(60 * kib)); });
  }
  EXPECT_EQ(error->code(), Code::resource);
  EXPECT_TRUE(mentions(*error, "arena_bytes")) << error->what();
  EXPECT_TRUE(mentions(*error, std::to_string(60 * kib))) << error->what();
  EXPECT_EQ(blocks.size(), 17u);
  EXPECT_EQ(arena.bytes_in_use(), 17 * 60 * kib);
  arena.deallocate(blocks[5]);
  EXPECT_EQ(arena.allocate(60 * kib), blocks[5]);
  EXPECT_EQ(error_of([&] { (void)arena.allocate(~std::uint64_t{0}); })->code(), Code::resource);
  EXPECT_EQ(error_of([&] { (void)arena.allocate(2 * mib); })->code(), Code::resource);
}

// Address space is no memory: what the machine cannot have must not wake the out-of-memory killer.
TEST_F(ArenaTest, MoreThanTheMachineHasIsAnError) {
  Arena arena({.bytes = std::uint64_t{1} << 46});
  const std::uint64_t memory = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
  if (arena.bytes() / 2 <= memory) {
    GTEST_SKIP() << "not enough address space here: " << arena.bytes();
  }
  const auto error = error_of([&] { (void)arena.allocate(arena.bytes() / 2); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), Code::resource);
  EXPECT_TRUE(mentions(*error, "available")) << error->what();
  EXPECT_EQ(arena.bytes_in_use(), 0u);
  arena.deallocate(arena.allocate(mib));
}

TEST_F(ArenaTest, TakesLessWhereTheProcessMayNotHaveAll) {
  const pid_t child = test::fork_child([] {
    const rlimit limit{100 * mib, 100 * mib};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      return 2;
    }
    Arena arena({.bytes = 1000 * mib});
    const bool halved = arena.bytes() == 64 * mib;
    arena.deallocate(arena.allocate(50 * mib));
    const rlimit less{10 * mib, 10 * mib};
    if (setrlimit(RLIMIT_FSIZE, &less) != 0) {
      return 2;
    }
    const auto error = error_of([] { Arena none({.bytes = 1000 * mib}); });
    return halved && error && error->code() == Code::resource && mentions(*error, "arena_bytes") ? 0 : 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
}

TEST_F(ArenaTest, ByDefaultAllRanksArenasFitIntoTheAddressSpace) {
  constexpr std::uint64_t gib = 1024 * mib;
  constexpr std::uint64_t tib = 1024 * gib;
  const std::uint64_t page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(default_arena_bytes(64 * gib, 128 * tib, 8), 64 * gib); // the machine's memory, where there is room
  const std::uint64_t large = default_arena_bytes(3 * tib / 2, 128 * tib, 112);
  EXPECT_GE(large, 256 * gib);
  EXPECT_LE(112 * large, 32 * tib);
  EXPECT_EQ(large % page, 0u);
  // 39 bits of address space
  EXPECT_EQ(default_arena_bytes(16 * gib, 512 * gib, 4), 16 * gib);
  EXPECT_EQ(default_arena_bytes(256 * gib, 512 * gib, 64), 2 * gib);
  // There is no use in less than some; that a process cannot have it is told when it is tried.
  EXPECT_EQ(default_arena_bytes(16 * gib, 100 * mib, 4), 64 * mib);
  EXPECT_EQ(default_arena_bytes(16 * gib, 0, 1), 64 * mib);
}

// A folder with files that stand for those of the kernel.
class FakeRoot {
public:
  explicit FakeRoot(const std::string& groups) {
    put("proc/self/cgroup", groups);
    put("proc/meminfo", "MemTotal:  2000 kB\nMemFree:  1 kB\nMemAvailable:  1000 kB\n");
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void put(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file) << text;
  }
  [[nodiscard]] std::uint64_t limit() const { return memory_limit(path_); }
  [[nodiscard]] std::uint64_t available() const { return available_memory(path_); }

private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("stoker-fake-root-" + std::to_string(getpid()));
};

TEST_F(ArenaTest, LimitsOfControlGroupsOfVersion2Count) {
  const FakeRoot root("0::/job/step\n");
  EXPECT_GT(root.limit(), 100 * mib);
  EXPECT_EQ(root.available(), 1000 * kib);
  const std::string groups = "sys/fs/cgroup/";
  root.put(groups + "job/step/memory.max", "max\n");
  EXPECT_EQ(root.available(), 1000 * kib);
  root.put(groups + "job/memory.max", "900000\n"); // of a group above
  root.put(groups + "job/memory.current", "500000\n");
  root.put(groups + "job/memory.stat", "anon 300000\ninactive_file 60000\nactive_file 40000\nslab 7\n");
  EXPECT_EQ(root.limit(), 900000u);
  EXPECT_EQ(root.available(), 500000u);
  root.put(groups + "job/step/memory.max", "200000\n");
  root.put(groups + "job/step/memory.current", "200001\n");
  EXPECT_EQ(root.limit(), 200000u);
  EXPECT_EQ(root.available(), 0u);
}

TEST_F(ArenaTest, LimitsOfControlGroupsOfVersion1Count) {
  const FakeRoot root("9:cpu,cpuacct:/other\n4:hugetlb,memory:/host/path/job\n0::/\n");
  const std::string groups = "sys/fs/cgroup/memory/";
  root.put("sys/fs/cgroup/cpu/other/memory.limit_in_bytes", "1\n");                  // no limit of memory
  root.put(groups + "host/path/job/memory.limit_in_bytes", "9223372036854771712\n"); // none
  EXPECT_GT(root.limit(), 100 * mib);
  EXPECT_EQ(root.available(), 1000 * kib);
  root.put(groups + "memory.limit_in_bytes", "800000\n"); // the container's own, whose path is the host's
  root.put(groups + "memory.usage_in_bytes", "600000\n");
  root.put(groups + "memory.stat", "inactive_file 9\ntotal_inactive_file 100000\ntotal_active_file 0\n");
  EXPECT_EQ(root.limit(), 800000u);
  EXPECT_EQ(root.available(), 300000u);
}

TEST_F(ArenaTest, TheAddressSpaceLeftIsWhatTheProcessMayHave) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer maps more than the address space of most machines";
#endif
  const std::uint64_t all = address_space_left();
  EXPECT_GT(all, std::uint64_t{1} << 37);
  EXPECT_LE(all, std::uint64_t{1} << 57);
  const Arena arena({.bytes = 1024 * mib});
  EXPECT_LE(address_space_left(), all - 1024 * mib);
  const pid_t child = test::fork_child([] {
    constexpr std::uint64_t more = std::uint64_t{8} << 30; // than the process has, with sanitizers terabytes
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{(pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) + more, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    rlimit obtained{};
    getrlimit(RLIMIT_AS, &obtained);
    if (obtained.rlim_cur != limit.rlim_cur) {
      return 77;
    }
    const std::uint64_t left = address_space_left();
    return left > more / 2 && left <= more ? 0 : 1;
  });
  const int status = test::join_child(child);
  if (status == 77) {
    GTEST_SKIP() << "this system, or what emulates it, sets no limit to the address space";
  }
  EXPECT_EQ(status, 0);
}

TEST_F(ArenaTest, MemoryIsThereBeforeUseAndGoesBackAfter) {
  if (!heeds_advice()) {
    GTEST_SKIP() << "this system ignores advice about memory";
  }
  Arena arena({.bytes = 64 * mib});
  const std::uint64_t before = backed_bytes(arena);
  const std::uint64_t guard = arena.allocate(64);
  const std::uint64_t at = arena.allocate(8 * mib);
  const std::uint64_t other_guard = arena.allocate(64);
  EXPECT_GE(backed_bytes(arena), before + 8 * mib) << "not reserved (a kernel before 5.14?)";
  *arena.at<int>(guard) = 1;
  *arena.at<int>(other_guard) = 2;
  arena.deallocate(at);
  EXPECT_LE(backed_bytes(arena), before + 64 * kib);
  EXPECT_EQ(*arena.at<int>(guard), 1);
  EXPECT_EQ(*arena.at<int>(other_guard), 2);
  // And again.
  const std::uint64_t again = arena.allocate(8 * mib);
  EXPECT_EQ(again, at);
  EXPECT_GE(backed_bytes(arena), before + 8 * mib);
}

std::vector<std::string> flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  std::uint64_t begin = 0;
  while (std::getline(maps, line)) {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &end) == 2) {
      begin = first;
    }
    if (line.starts_with("VmFlags:") && begin == reinterpret_cast<std::uintptr_t>(address)) {
      std::istringstream words(line.substr(8));
      return {std::istream_iterator<std::string>(words), {}};
    }
  }
  return {};
}

TEST_F(ArenaTest, DumpsLeaveSegmentsOutAndChildrenHaveTheirParentsOnly) {
  if (!heeds_advice()) {
    GTEST_SKIP() << "this system ignores advice about memory";
  }
  Arena arena({.bytes = mib});
  const Mapping peer = attach_arena(arena.descriptor(), 0);
  const auto has = [](const void* address, const char* flag) {
    const std::vector<std::string> flags = flags_of(address);
    EXPECT_FALSE(flags.empty());
    return std::ranges::find(flags, flag) != flags.end();
  };
  EXPECT_TRUE(has(arena.base(), "dd")); // "do not dump"
  EXPECT_TRUE(has(peer.base(), "dd"));
  EXPECT_FALSE(has(arena.base(), "dc")); // "do not copy"
  EXPECT_TRUE(has(peer.base(), "dc"));
  auto* buffer = arena.at<int>(arena.allocate(sizeof(int)));
  *buffer = 5;
  const pid_t child = test::fork_child([&] { return *buffer == 5 && flags_of(peer.base()).empty() ? 0 : 1; });
  EXPECT_EQ(test::join_child(child), 0);
}

TEST_F(ArenaTest, ACoreDumpFillsNoHoles) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer maps more than the address space of most machines";
#endif
  if (!heeds_advice()) {
    GTEST_SKIP() << "this system ignores advice about memory";
  }
  Arena arena({.bytes = 256 * mib});
  const Mapping peer = attach_arena(arena.descriptor(), 0);
  (void)arena.allocate(64);
  const std::uint64_t before = backed_bytes(arena);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("core." + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const pid_t child = test::fork_child([&] {
    // The child itself maps a peer, too, as a rank does.
    const Mapping childs_peer = attach_arena(arena.descriptor(), 0);
    rlimit all{};
    getrlimit(RLIMIT_CORE, &all);
    all.rlim_cur = all.rlim_max;
    setrlimit(RLIMIT_CORE, &all);
    std::filesystem::current_path(folder);
    signal(SIGABRT, SIG_DFL);
    std::abort();
    return 0;
  });
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  std::uint64_t core = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    core += entry.file_size();
  }
  std::filesystem::remove_all(folder);
  EXPECT_LE(backed_bytes(arena), before);
  EXPECT_LT(core, 128 * mib);
  if (!WIFSIGNALED(status) || !WCOREDUMP(status)) {
    GTEST_SKIP() << "this system dumps no core";
  }
}

// Before the segment is made, and when it is there: neither fills it, and it works all the same.
TEST_F(ArenaTest, LockingAllMemoryFillsNoHoles) {
  const auto locked = [](int first, int then) {
    return test::join_child(test::fork_child([=] {
      if (first != 0 && mlockall(first) != 0) {
        return 77;
      }
      Arena arena({.bytes = 256 * mib});
      const Mapping peer = attach_arena(arena.descriptor(), 0);
      const std::uint64_t at = arena.allocate(100 * kib);
      if (then != 0 && mlockall(then) != 0) {
        return 77;
      }
      const std::uint64_t more = arena.allocate(5 * mib);
      peer.base()[more + mib] = std::byte{1};
      const bool works = arena.base()[more + mib] == std::byte{1} && arena.base()[at] == std::byte{0};
      return works && arena.bytes() == 256 * mib && backed_bytes(arena) < 8 * mib ? 0 : 1;
    }));
  };
  const int after = locked(0, MCL_CURRENT | MCL_FUTURE);
  if (after == 77) {
    GTEST_SKIP() << "this process may not lock memory";
  }
  EXPECT_EQ(after, 0);
  EXPECT_EQ(locked(MCL_CURRENT | MCL_FUTURE, 0), 0);
  EXPECT_EQ(locked(MCL_CURRENT | MCL_FUTURE, MCL_CURRENT), 0);
}

// As programs do that become daemons: a file of theirs then has the number, and must not be changed.
TEST_F(ArenaTest, DescriptorsThatTheApplicationClosesAreNotUsed) {
  const pid_t child = test::fork_child([] {
    Arena arena({.bytes = 64 * mib});
    const std::uint64_t small = arena.allocate(kib);
    arena.close_descriptor();
    close_range(3, ~0U, 0);
    char name[] = "/tmp/arena_test.XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    for (int i = 0; i < 20; ++i) {
      (void)!dup(file);
    }
    const auto error = error_of([&] { (void)arena.allocate(32 * mib); });
    struct stat status {};
    fstat(file, &status);
    *arena.at<int>(small) = 1;
    return error && error->code() == Code::resource && status.st_size == 0 && arena.bytes_in_use() == kib ? 0 : 1;
  });
  EXPECT_EQ(test::join_child(child), 0);
}

TEST_F(ArenaTest, NobodyShortensOrExecutesASegment) {
  Arena arena({.bytes = mib});
  (void)arena.allocate(kib);
  const int fd = arena.descriptor().fd;
  EXPECT_EQ(ftruncate(fd, 0), -1);
  EXPECT_EQ(errno, EPERM);
  const int seals = fcntl(fd, F_GET_SEALS);
  EXPECT_EQ(seals & (F_SEAL_SHRINK | F_SEAL_SEAL), F_SEAL_SHRINK | F_SEAL_SEAL);
  constexpr int seal_exec = 0x0020;
  if ((seals & seal_exec) == 0) {
    const int probe = memfd_create("probe", 0x0008U); // MFD_NOEXEC_SEAL
    EXPECT_LT(probe, 0) << "the kernel knows the seal";
  }
  struct stat status {};
  fstat(fd, &status);
  EXPECT_EQ(status.st_mode & 0111U, (seals & seal_exec) != 0 ? 0U : 0111U);
}

TEST_F(ArenaTest, FreeListAgreesWithAShadowMap) {
  constexpr std::uint64_t bytes = 4 * mib;
  Arena arena({.bytes = bytes});
  struct Block {
    std::uint64_t offset;
    std::uint64_t bytes;
    std::byte fill;
  };
  std::vector<Block> blocks;
  constexpr std::uint64_t unit = FreeList::granularity;
  constexpr std::uint64_t header_units = round_up(sizeof(ArenaHeader), unit) / unit;
  std::vector<char> shadow(bytes / unit, 0); // in use
  std::fill_n(shadow.begin(), header_units, char{1});
  std::mt19937 random(20);
  const auto pick = [&](std::uint64_t below) {
    return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random);
  };
  std::uint64_t in_use = 0;
  std::uint64_t exhausted = 0;
  const auto free_one = [&](std::size_t index) {
    const Block block = blocks[index];
    const auto* content = arena.at<const std::byte>(block.offset);
    ASSERT_TRUE(std::all_of(content, content + block.bytes, [&](std::byte b) { return b == block.fill; }));
    const std::uint64_t units = round_up(block.bytes, unit) / unit;
    std::fill_n(shadow.begin() + static_cast<std::ptrdiff_t>(block.offset / unit), units, char{0});
    in_use -= units * unit;
    arena.deallocate(block.offset);
    blocks[index] = blocks.back();
    blocks.pop_back();
  };
  for (int step = 0; step < 20'000; ++step) {
    if (blocks.empty() || pick(100) < 55) {
      const std::uint64_t size = 1 + pick(std::uint64_t{1} << (4 + pick(16)));
      const std::uint64_t alignment = std::uint64_t{1} << pick(13);
      std::uint64_t offset = 0;
      if (error_of([&] { offset = arena.allocate(size, alignment); })) {
        ++exhausted;
        free_one(pick(blocks.size()));
        continue;
      }
      const std::uint64_t units = round_up(size, unit) / unit;
      ASSERT_EQ(offset % std::max(alignment, unit), 0u);
      ASSERT_LE(offset + size, bytes);
      for (std::uint64_t at = offset / unit; at < offset / unit + units; ++at) {
        ASSERT_EQ(shadow[at], 0) << "overlap at step " << step;
        shadow[at] = 1;
      }
      const auto fill = static_cast<std::byte>(step);
      std::memset(arena.base() + offset, static_cast<int>(fill), size);
      blocks.push_back({offset, size, fill});
      in_use += units * unit;
    } else {
      free_one(pick(blocks.size()));
    }
    ASSERT_EQ(arena.bytes_in_use(), in_use);
  }
  EXPECT_GT(exhausted, 0u) << "the fuzz never filled the arena";
  while (!blocks.empty()) {
    free_one(pick(blocks.size()));
  }
  // All neighbours have been joined: one block takes everything but the header.
  EXPECT_EQ(arena.allocate(bytes - header_units * unit), header_units * unit);
}

TEST_F(ArenaTest, ThreadsAllocateAtTheSameTime) {
  Arena arena({.bytes = 16 * mib});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const std::uint64_t size = 64 + i * 37 % 5000;
        const std::uint64_t at = arena.allocate(size);
        auto* block = arena.at<char>(at);
        std::memset(block, t, size);
        std::this_thread::yield();
        wrong += std::all_of(block, block + size, [&](char c) { return c == t; }) ? 0 : 1;
        arena.deallocate(at);
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(arena.bytes_in_use(), 0u);
}

TEST_F(ArenaTest, PlacesItsMemoryOnTheWishedNode) {
  Arena anywhere({.bytes = mib});
  EXPECT_FALSE(anywhere.on_numa_node());
  // A node that does not exist is refused by the system; the memory is usable all the same.
  Arena nowhere({.bytes = mib, .numa_node = 1000});
  EXPECT_FALSE(nowhere.on_numa_node());
  *nowhere.at<int>(nowhere.allocate(4)) = 1;
  Arena arena({.bytes = mib, .numa_node = 0});
  if (!arena.on_numa_node()) {
    GTEST_SKIP() << "this system refuses memory policies";
  }
  const std::uint64_t at = arena.allocate(4096, 4096);
  int node = -1;
  ASSERT_EQ(get_mempolicy(&node, nullptr, 0, arena.base() + at, MPOL_F_NODE | MPOL_F_ADDR), 0);
  EXPECT_EQ(node, 0);
  int policy = -1;
  ASSERT_EQ(get_mempolicy(&policy, nullptr, 0, arena.base() + at, MPOL_F_ADDR), 0);
  EXPECT_EQ(policy, MPOL_PREFERRED);
}

} // namespace
} // namespace stoker::engine
