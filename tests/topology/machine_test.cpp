// SPDX-License-Identifier: BSD-3-Clause
#include "topology/machine.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace stoker::topology {
namespace {

// A file in the temporary folder, gone at the end of the test.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string& content)
      : path_(std::filesystem::temp_directory_path() / ("stoker-machine-" + std::to_string(::getpid()) + ".xml")) {
    std::ofstream(path_) << content;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

// Sets a variable for one test.
class Variable {
public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

private:
  const char* name_;
};

std::string error_of(const std::string& source) {
  try {
    const Machine machine(source);
    return "no error: " + machine.description();
  } catch (const TopologyError& error) {
    return error.what();
  }
}

std::vector<std::string> cpus_of(std::span<const NumaDomain> domains) {
  std::vector<std::string> lists;
  for (const NumaDomain& domain : domains) {
    lists.push_back(domain.cpus.to_string());
  }
  return lists;
}

TEST(Machine, ThisSystem) {
  const Machine machine;
  EXPECT_TRUE(machine.is_this_system());
  EXPECT_TRUE(machine.cpus().contains(machine.allowed_cpus()));
  EXPECT_FALSE(machine.allowed_cpus().empty());
  ASSERT_FALSE(machine.numa_domains().empty());
  CpuSet all;
  for (const NumaDomain& domain : machine.numa_domains()) {
    EXPECT_FALSE(all.intersects(domain.cpus));
    all |= domain.cpus;
  }
  EXPECT_EQ(all, machine.cpus());
  CpuSet cores;
  for (const Core& core : machine.cores()) {
    EXPECT_EQ(machine.core_of(core.cpus.first()), &core);
    EXPECT_TRUE(machine.numa_domain(core.numa).cpus.contains(core.cpus));
    cores |= core.cpus;
  }
  EXPECT_EQ(cores, machine.cpus());
}

TEST(Machine, FourNumaDomainsWithSmt) {
  const Machine machine("package:2 numa:2 core:4 pu:2");
  EXPECT_FALSE(machine.is_this_system());
  EXPECT_TRUE(machine.has_smt());
  EXPECT_EQ(machine.cores().size(), 16U);
  EXPECT_EQ(machine.allowed_cpus().to_string(), "0-31");
  EXPECT_EQ(cpus_of(machine.numa_domains()), (std::vector<std::string>{"0-7", "8-15", "16-23", "24-31"}));
  EXPECT_EQ(machine.numa_domains()[2].os, OsIndex{2});
  EXPECT_EQ(machine.numa_domains()[1].package, 0);
  EXPECT_EQ(machine.numa_domains()[2].package, 1);
  const Core* core = machine.core_of({21});
  ASSERT_NE(core, nullptr);
  EXPECT_EQ(core->index, LogicalIndex{10});
  EXPECT_EQ(core->numa, LogicalIndex{2});
  EXPECT_EQ(core->package, 1);
  EXPECT_EQ(core->cpus.to_string(), "20-21");
  EXPECT_EQ(machine.core_of({32}), nullptr);
  EXPECT_EQ(machine.description(),
            "described by setting machine 'package:2 numa:2 core:4 pu:2': 16 cores, 32 CPUs, 4 NUMA domains");
}

TEST(Machine, SiblingsMayBeNumberedFarApart) {
  const Machine machine("package:2 core:2 pu:2(indexes=0,4,1,5,2,6,3,7)");
  EXPECT_EQ(machine.core_of({5})->cpus.to_string(), "1,5");
  EXPECT_EQ(machine.core_of({5})->index, LogicalIndex{1});
}

TEST(Machine, CoresThatAreNotReportedAreOnePerCpu) {
  const Machine machine("pu:3");
  EXPECT_EQ(machine.cores().size(), 3U);
  EXPECT_FALSE(machine.has_smt());
  EXPECT_EQ(machine.numa_domains().size(), 1U);
}

TEST(Machine, SecondMemoriesAreNoDomains) {
  const Machine two_each("package:2 [numa] [numa] core:2 pu:1");
  EXPECT_EQ(cpus_of(two_each.numa_domains()), (std::vector<std::string>{"0-1", "2-3"}));
  EXPECT_EQ(two_each.numa_domains()[1].os, OsIndex{2});
  EXPECT_EQ(two_each.cores()[3].numa, LogicalIndex{1});

  const Machine one_above("[numa] package:2 [numa] core:2 pu:1");
  EXPECT_EQ(cpus_of(one_above.numa_domains()), (std::vector<std::string>{"0-1", "2-3"}));
}

TEST(Machine, XmlFile) {
  const TemporaryFile file(R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" allowed_cpuset="0x0000000d"
          nodeset="0x00000001" complete_nodeset="0x00000001" allowed_nodeset="0x00000001" gp_index="1">
    <object type="NUMANode" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f" nodeset="0x00000001"
            complete_nodeset="0x00000001" gp_index="2" local_memory="1024"/>
    <object type="Core" os_index="0" cpuset="0x00000003" complete_cpuset="0x00000003" nodeset="0x00000001"
            complete_nodeset="0x00000001" gp_index="3">
      <object type="PU" os_index="0" cpuset="0x00000001" complete_cpuset="0x00000001" nodeset="0x00000001"
              complete_nodeset="0x00000001" gp_index="4"/>
      <object type="PU" os_index="1" cpuset="0x00000002" complete_cpuset="0x00000002" nodeset="0x00000001"
              complete_nodeset="0x00000001" gp_index="5"/>
    </object>
    <object type="Core" os_index="1" cpuset="0x0000000c" complete_cpuset="0x0000000c" nodeset="0x00000001"
            complete_nodeset="0x00000001" gp_index="6">
      <object type="PU" os_index="2" cpuset="0x00000004" complete_cpuset="0x00000004" nodeset="0x00000001"
              complete_nodeset="0x00000001" gp_index="7"/>
      <object type="PU" os_index="3" cpuset="0x00000008" complete_cpuset="0x00000008" nodeset="0x00000001"
              complete_nodeset="0x00000001" gp_index="8"/>
    </object>
  </object>
</topology>
)");
  const Machine machine(file.path());
  EXPECT_FALSE(machine.is_this_system());
  EXPECT_EQ(machine.cores().size(), 2U);
  EXPECT_EQ(machine.cpus().to_string(), "0-3");
  EXPECT_EQ(machine.allowed_cpus().to_string(), "0,2-3"); // CPU 1 belongs to somebody else
  const Variable variable("HWLOC_XMLFILE", file.path().c_str());
  EXPECT_EQ(Machine().cpus().to_string(), "0-3");
}

TEST(Machine, BadInputIsAnErrorAndNeverTheRealMachine) {
  EXPECT_EQ(error_of("nonsense"), "setting machine: 'nonsense' is neither a file nor an hwloc synthetic description "
                                  "(hwloc does not understand it); "
                                  "expected something like 'package:2 numa:2 core:4 pu:2'");
  EXPECT_NE(error_of("package:0").find("neither a file nor"), std::string::npos);
  EXPECT_NE(error_of("core:two").find("neither a file nor"), std::string::npos);
  EXPECT_EQ(error_of("no/such/machine.xml"),
            "setting machine: cannot load a machine from the XML file 'no/such/machine.xml': "
            "there is no such file; expected a file written by 'lstopo file.xml'");
  EXPECT_NE(error_of(std::filesystem::temp_directory_path().string()).find("there is no such file"), std::string::npos);
  for (const char* content : {"", "not XML", "<?xml version=\"1.0\"?><topology></topology>", "<a><b></a>"}) {
    const TemporaryFile file(content);
    EXPECT_NE(error_of(file.path()).find("cannot load a machine from the XML file"), std::string::npos) << content;
  }
}

TEST(Machine, HwlocsOwnVariablesAreCheckedToo) {
  {
    const Variable variable("HWLOC_SYNTHETIC", "core:3 pu:1");
    EXPECT_EQ(Machine().cores().size(), 3U);
    EXPECT_EQ(Machine("core:5 pu:1").cores().size(), 5U); // the setting goes first
  }
  {
    const Variable variable("HWLOC_SYNTHETIC", "nonsense");
    EXPECT_NE(error_of("").find("HWLOC_SYNTHETIC: 'nonsense'"), std::string::npos);
  }
  {
    const Variable variable("HWLOC_XMLFILE", "/no/such.xml");
    EXPECT_NE(error_of("").find("HWLOC_XMLFILE: cannot load"), std::string::npos);
  }
}

} // namespace
} // namespace stoker::topology
