// SPDX-License-Identifier: BSD-3-Clause
#include "api/cli/otf2_archive.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <stdexcept>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <utility>
#include <variant>

namespace stoker::cli {
namespace {

constexpr std::uint64_t ticks_per_second = 1'000'000'000;
constexpr const char* archive_name = "traces"; // as Score-P calls its own
constexpr auto no_list = static_cast<OTF2_AttributeList*>(nullptr);

// Every error of the library's comes here first. It goes on after one, and in the end frees memory twice (3.0.2): so the
// first error ends the process, and no caller has to look at the codes that calls return.
OTF2_ErrorCode end_process(void* folder, const char* /*file*/, std::uint64_t /*line*/, const char* /*function*/,
                           OTF2_ErrorCode code, const char* format, va_list values) {
  if (code == OTF2_WARNING || code == OTF2_DEPRECATED) {
    return code;
  }
  const auto& path = *static_cast<const std::string*>(folder);
  std::error_code none;
  std::filesystem::remove_all(path, none);
  fmt::print(stderr, "stoker: --otf2 {}: {}: ", path, OTF2_Error_GetDescription(code));
  std::vfprintf(stderr, format, values);
  std::fputc('\n', stderr);
  std::_Exit(EXIT_FAILURE);
}

using ArgumentType = std::pair<std::string_view, OTF2_Type>;

ArgumentType type_of(const TraceArgument& argument) {
  static constexpr OTF2_Type types[] = {OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE, OTF2_TYPE_STRING}; // as in the variant
  return {argument.name, types[argument.value.index()]};
}

// Definitions, each of which is written where it is first referred to. Numbers of a kind go up from 0.
class Definitions {
public:
  void write_to(OTF2_GlobalDefWriter* writer) { writer_ = writer; }

  OTF2_StringRef string(std::string_view text) {
    return once(strings_, std::string(text), [&](OTF2_StringRef number, const std::string& key) {
      return OTF2_GlobalDefWriter_WriteString(writer_, number, key.c_str());
    });
  }

  OTF2_RegionRef region(std::string_view name) {
    return once(regions_, name, [&](OTF2_RegionRef number, std::string_view) {
      return OTF2_GlobalDefWriter_WriteRegion(writer_, number, string(name), string(name), string(""),
                                              OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE,
                                              string(""), 0, 0);
    });
  }

  OTF2_AttributeRef attribute(const TraceArgument& argument) {
    return once(attributes_, type_of(argument), [&](OTF2_AttributeRef number, const ArgumentType& key) {
      return OTF2_GlobalDefWriter_WriteAttribute(writer_, number, string(key.first), string(""), key.second);
    });
  }

  // The numbers that one instant brings.
  OTF2_MetricRef metric(const std::vector<TraceArgument>& arguments) {
    std::vector<ArgumentType> types(arguments.size());
    std::ranges::transform(arguments, types.begin(), type_of);
    return once(metrics_, types, [&](OTF2_MetricRef number, const std::vector<ArgumentType>& key) {
      std::vector<OTF2_MetricMemberRef> members;
      for (const ArgumentType& one : key) {
        members.push_back(metric_member(one));
      }
      return OTF2_GlobalDefWriter_WriteMetricClass(writer_, number, static_cast<std::uint8_t>(members.size()),
                                                   members.data(), OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_CPU);
    });
  }

  // Where the process runs: the job, its node, its domain, as far as that is known.
  OTF2_SystemTreeNodeRef place(const TraceProcess& process) {
    const auto job =
        tree_node({"", none, none}, "job", "job", OTF2_UNDEFINED_SYSTEM_TREE_NODE, OTF2_SYSTEM_TREE_DOMAIN_MACHINE);
    if (!process.node) {
      return job;
    }
    const std::string name = process.host.empty() ? fmt::format("node {}", *process.node)
                                                  : fmt::format("{} (node {})", process.host, *process.node);
    const auto node =
        tree_node({process.host, *process.node, none}, name, "node", job, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY);
    return tree_node({process.host, *process.node, *process.domain}, fmt::format("domain {}", *process.domain),
                     "domain", node, OTF2_SYSTEM_TREE_DOMAIN_NUMA);
  }

private:
  using TreeKey = std::tuple<std::string, int, int>; // host, node, domain
  static constexpr int none = -1;

  template <class Key, class Reference, class Write>
  Reference once(std::map<Key, Reference>& known, const Key& key, Write write) {
    if (const auto found = known.find(key); found != known.end()) {
      return found->second;
    }
    const auto number = static_cast<Reference>(known.size());
    write(number, key);
    known.emplace(key, number);
    return number;
  }

  OTF2_MetricMemberRef metric_member(const ArgumentType& type) {
    return once(metric_members_, type, [&](OTF2_MetricMemberRef number, const ArgumentType& key) {
      const auto& [name, value_type] = key;
      return OTF2_GlobalDefWriter_WriteMetricMember(writer_, number, string(name), string(""), OTF2_METRIC_TYPE_OTHER,
                                                    OTF2_METRIC_ACCUMULATED_START, value_type, OTF2_BASE_DECIMAL, 0,
                                                    string(name.ends_with("seconds") ? "s" : "#"));
    });
  }

  OTF2_SystemTreeNodeRef tree_node(const TreeKey& key, const std::string& name, const char* kind,
                                   OTF2_SystemTreeNodeRef parent, OTF2_SystemTreeDomain domain) {
    return once(tree_nodes_, key, [&](OTF2_SystemTreeNodeRef number, const TreeKey&) {
      OTF2_GlobalDefWriter_WriteSystemTreeNode(writer_, number, string(name), string(kind), parent);
      return OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer_, number, domain);
    });
  }

  OTF2_GlobalDefWriter* writer_ = nullptr;
  std::map<std::string, OTF2_StringRef> strings_;
  std::map<std::string_view, OTF2_RegionRef> regions_;
  std::map<ArgumentType, OTF2_AttributeRef> attributes_;
  std::map<ArgumentType, OTF2_MetricMemberRef> metric_members_;
  std::map<std::vector<ArgumentType>, OTF2_MetricRef> metrics_;
  std::map<TreeKey, OTF2_SystemTreeNodeRef> tree_nodes_;
};

// The events of one thread.
class EventWriter {
public:
  EventWriter(OTF2_EvtWriter* writer, Definitions& definitions, OTF2_AttributeList* list)
      : writer_(writer), definitions_(definitions), list_(list) {}

  void write(const TraceThread& thread) {
    for (const TraceEvent& event : thread.events) {
      leave_until(event.begin);
      if (event.counts) {
        count(event);
      } else {
        enter(event);
      }
    }
    leave_until(std::numeric_limits<std::uint64_t>::max());
  }

private:
  void leave_until(std::uint64_t time) {
    for (; !open_.empty() && open_.back()->end <= time; open_.pop_back()) {
      const TraceEvent& event = *open_.back();
      OTF2_EvtWriter_Leave(writer_, no_list, event.end, definitions_.region(event.name));
    }
  }

  // The library empties the list.
  void enter(const TraceEvent& event) {
    for (const TraceArgument& argument : event.arguments) {
      const OTF2_AttributeRef attribute = definitions_.attribute(argument);
      if (const auto* whole = std::get_if<std::int64_t>(&argument.value)) {
        OTF2_AttributeList_AddInt64(list_, attribute, *whole);
      } else if (const auto* number = std::get_if<double>(&argument.value)) {
        OTF2_AttributeList_AddDouble(list_, attribute, *number);
      } else {
        const OTF2_StringRef text = definitions_.string(std::get<std::string>(argument.value));
        OTF2_AttributeList_AddStringRef(list_, attribute, text);
      }
    }
    OTF2_EvtWriter_Enter(writer_, list_, event.begin, definitions_.region(event.name));
    open_.push_back(&event);
  }

  void count(const TraceEvent& event) {
    std::vector<OTF2_Type> types;
    std::vector<OTF2_MetricValue> values;
    for (const TraceArgument& argument : event.arguments) {
      types.push_back(type_of(argument).second);
      OTF2_MetricValue& value = values.emplace_back();
      if (const auto* whole = std::get_if<std::int64_t>(&argument.value)) {
        value.signed_int = *whole;
      } else {
        value.floating_point = std::get<double>(argument.value);
      }
    }
    OTF2_EvtWriter_Metric(writer_, no_list, event.begin, definitions_.metric(event.arguments),
                          static_cast<std::uint8_t>(values.size()), types.data(), values.data());
  }

  OTF2_EvtWriter* writer_;
  Definitions& definitions_;
  OTF2_AttributeList* list_;
  std::vector<const TraceEvent*> open_;
};

OTF2_FlushType always_flush(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) { return OTF2_FLUSH; }

constexpr OTF2_FlushCallbacks flush_callbacks{.otf2_pre_flush = always_flush, .otf2_post_flush = nullptr};

struct TimeRange {
  std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t last = 0;
};

TimeRange range_of(const std::vector<TraceFile>& files) {
  TimeRange range;
  for (const TraceFile& file : files) {
    for (const auto& [number, process] : file.processes) {
      for (const auto& [thread_number, thread] : process.threads) {
        for (const TraceEvent& event : thread.events) {
          range.first = std::min(range.first, event.begin);
          range.last = std::max(range.last, event.end);
        }
      }
    }
  }
  if (range.first > range.last) { // readers take an archive without events for a damaged one
    throw std::runtime_error(
        fmt::format("{}: no event in it{}", files.front().path, files.size() > 1 ? ", nor in the others" : ""));
  }
  return range;
}

class Archive {
public:
  Archive(const std::string& folder, const TimeRange& range) {
    list_ = OTF2_AttributeList_New();
    archive_ = OTF2_Archive_Open(folder.c_str(), archive_name, OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
                                 OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    OTF2_Archive_SetCreator(archive_, "stoker trace");
    OTF2_Archive_SetFlushCallbacks(archive_, &flush_callbacks, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_OpenEvtFiles(archive_);
    global_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    definitions_.write_to(global_);
    OTF2_GlobalDefWriter_WriteClockProperties(global_, ticks_per_second, range.first, range.last - range.first,
                                              OTF2_UNDEFINED_TIMESTAMP);
  }

  void add(const TraceProcess& process, const std::string& name) {
    const auto group = static_cast<OTF2_LocationGroupRef>(contents_.processes++);
    OTF2_GlobalDefWriter_WriteLocationGroup(global_, group, definitions_.string(name), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                            definitions_.place(process), OTF2_UNDEFINED_LOCATION_GROUP);
    for (const auto& [number, thread] : process.threads) {
      add(thread, thread.name.empty() ? fmt::format("thread {}", number) : thread.name, group);
    }
  }

  // After the last process.
  ArchiveContents finish() {
    OTF2_Archive_CloseEvtFiles(archive_);
    // Readers expect a file of definitions for each location, if only an empty one.
    OTF2_Archive_OpenDefFiles(archive_);
    for (OTF2_LocationRef location = 0; location < contents_.locations; ++location) {
      OTF2_DefWriter* writer = OTF2_Archive_GetDefWriter(archive_, location);
      OTF2_Archive_CloseDefWriter(archive_, writer);
    }
    OTF2_Archive_CloseDefFiles(archive_);
    OTF2_AttributeList_Delete(list_);
    OTF2_Archive_Close(archive_);
    return contents_;
  }

private:
  void add(const TraceThread& thread, const std::string& name, OTF2_LocationGroupRef group) {
    const OTF2_LocationRef location = contents_.locations++;
    OTF2_EvtWriter* writer = OTF2_Archive_GetEvtWriter(archive_, location);
    EventWriter(writer, definitions_, list_).write(thread);
    std::uint64_t events = 0;
    OTF2_EvtWriter_GetNumberOfEvents(writer, &events);
    OTF2_Archive_CloseEvtWriter(archive_, writer);
    OTF2_GlobalDefWriter_WriteLocation(global_, location, definitions_.string(name), OTF2_LOCATION_TYPE_CPU_THREAD,
                                       events, group);
    contents_.events += events;
  }

  OTF2_AttributeList* list_ = nullptr;
  OTF2_Archive* archive_ = nullptr;
  OTF2_GlobalDefWriter* global_ = nullptr; // the archive's
  Definitions definitions_;
  ArchiveContents contents_;
};

} // namespace

ArchiveContents write_otf2(const std::vector<TraceFile>& files, std::string folder) {
  const TimeRange range = range_of(files);
  if (mkdir(folder.c_str(), 0777) != 0) {
    throw std::runtime_error(fmt::format("--otf2 {}: {}; expected the name of a folder that can be made", folder,
                                         std::generic_category().message(errno)));
  }
  OTF2_Error_RegisterCallback(end_process, &folder);
  Archive archive(folder, range);
  for (const TraceFile& file : files) {
    for (const auto& [number, process] : file.processes) {
      const std::string name = process.name.empty() ? fmt::format("process {}", number) : process.name;
      archive.add(process, files.size() == 1 ? name : fmt::format("{}: {}", file.path, name));
    }
  }
  ArchiveContents written = archive.finish();
  written.anchor = fmt::format("{}/{}.otf2", folder, archive_name);
  return written;
}

} // namespace stoker::cli
