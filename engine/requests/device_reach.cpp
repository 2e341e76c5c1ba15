// SPDX-License-Identifier: BSD-3-Clause
#include "engine/requests/device_reach.hpp"

#include "engine/base/agreement.hpp"
#include "engine/device/device_context.hpp"
#include "engine/device/kernel_file.hpp"
#include "engine/device/stream_words.hpp"
#include "engine/device_kernel/device_program.hpp"
#include "engine/requests/choices.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <utility>

namespace stoker::engine {

using algos::Buffer;
using algos::Collective;

void DeviceReach::check_allocated() const {
  for (const Own& own : own_) {
    if (own.address != nullptr && !is_allocated(own.buffer, own.address)) {
      throw Error(
          Code::access,
          "{}: the device memory at {} is not allocated any more, or anew; expected memory that stays allocated "
          "while a request has it",
          own.argument, static_cast<const void*>(own.address));
    }
  }
}

// Finds out, rank by rank and then together.
class DeviceSearch {
public:
  DeviceSearch(const Engine& engine, Collective collective, const RequestPlan& plan)
      : engine_(engine), collective_(collective), plan_(plan) {}

  // What this rank can say by itself. Throws Error.
  void look() {
    const Driver* const driver = loaded_driver();
    if (driver == nullptr || !driver->has_kernels) {
      throw Error(Code::unsupported, "{}; expected that of CUDA 12 or newer",
                  driver == nullptr ? "this process has loaded no driver of devices" : "the driver lacks functions");
    }
    const std::string path = kernel_file(engine_.settings().device_kernel);
    if (path.empty()) {
      throw Error(Code::unsupported, "there is no stoker_kernel.fatbin beside the library; expected one, or a path in "
                                     "the setting device_kernel");
    }
    if (algos::combines(collective_)) {
      device::check_on_devices(plan_.operation.code());
    }
    const bool one_buffer = collective_ == Collective::bcast;
    take(plan_.send, Buffer::send, one_buffer ? "buffer" : "sendbuf");
    take(plan_.recv, Buffer::recv, one_buffer ? "buffer" : "recvbuf");
    if (reach_->device_.driver == nullptr) {
      throw Error(Code::access, "this rank has no data on a device; expected some on every rank");
    }
    reach_->kernel_ = device::kernel_in(reach_->device_, path);
    offer_.most_blocks = reach_->kernel_.most_blocks;
    offer_.room = reach_->room_ = offer_.most_blocks / 2 / processes_at_a_time();
    offer_.stream_words = has_stream_words(reach_->device_);
    check(*reach_->device_.driver,
          reach_->device_.driver->kernels.device_uuid(offer_.uuid.data(), reach_->device_.ordinal), "cuDeviceGetUuid",
          nullptr);
  }

  // Collective: what the others have. All ranks get to know the same.
  void exchange_offers() { offers_ = gathered(plan_.context->comm(), offer_); }

  // Which ranks share a device, and how many blocks each of them may have.
  void group_ranks() {
    std::uint32_t most_blocks = std::numeric_limits<std::uint32_t>::max();
    for (std::size_t rank = 0; rank < offers_.size(); ++rank) {
      const auto same = [&](const std::vector<int>& ranks) {
        return offers_[static_cast<std::size_t>(ranks.front())].uuid == offers_[rank].uuid;
      };
      auto& all = reach_->ranks_on_;
      const auto found = std::ranges::find_if(all, same);
      reach_->device_of_.push_back(static_cast<std::size_t>(found - all.begin()));
      auto& ranks = found != all.end() ? *found : all.emplace_back();
      ranks.push_back(static_cast<int>(rank));
    }
    for (const std::vector<int>& ranks : reach_->ranks_on_) {
      for (const int rank : ranks) {
        const Offer& offer = offers_[static_cast<std::size_t>(rank)];
        const std::uint32_t blocks = reach_->devices() > 1 ? offer.room : offer.most_blocks;
        if (blocks < ranks.size()) {
          throw Error(Code::unsupported,
                      "the device of rank {} has room for {} blocks at a time; expected one for each of {} ranks", rank,
                      blocks, ranks.size());
        }
        if (reach_->devices() > 1 && !offer.stream_words) {
          throw Error(
              Code::unsupported,
              "the ranks have {} devices, and streams of that of rank {} know no words of 64 bits; expected one "
              "device, or streams that know them",
              reach_->devices(), rank);
        }
        most_blocks = std::min(most_blocks, blocks / static_cast<std::uint32_t>(ranks.size()));
      }
    }
    reach_->most_blocks_ = most_blocks;
  }

  std::shared_ptr<const DeviceReach> import_all() {
    for (std::size_t rank = 0; rank < offers_.size(); ++rank) {
      const bool own = static_cast<int>(rank) == plan_.context->rank();
      for (const Buffer buffer : {Buffer::send, Buffer::recv}) {
        const auto index = static_cast<std::size_t>(buffer);
        const Exported& exported = offers_[rank].exported[index];
        std::byte* address = own ? const_cast<std::byte*>(reach_->own_[index].address) : nullptr;
        if (!own && exported.there) {
          address = reach_->imports_.emplace_back(reach_->device_, exported.handle).address() + exported.offset;
        }
        reach_->addresses_.push_back(address);
      }
    }
    for (const DeviceReach::Own& own : reach_->own_) {
      if (own.address != nullptr) {
        settle_synchronous_calls(own.buffer, own.address);
      }
    }
    return std::move(reach_);
  }

private:
  struct Exported {
    bool there = false;
    std::uint64_t offset = 0;
    MemoryHandle handle{};
  };
  struct Offer {
    std::array<char, 16> uuid{};
    std::uint32_t most_blocks = 0; // processes may have different parts of a device
    std::uint32_t room = 0;        // for requests over several devices
    bool stream_words = false;
    Exported exported[2]; // by algos::Buffer
  };

  // That this rank's device runs, of those that may launch kernels.
  [[nodiscard]] std::uint32_t processes_at_a_time() const {
    const topology::Layout& layout = engine_.layout();
    return reach_->device_.runs_processes_together()
               ? static_cast<std::uint32_t>(layout.node_ranks(layout.node_of(engine_.rank())).size())
               : 1;
  }

  void take(const UserBuffer& buffer, Buffer which, const char* argument) {
    if (buffer.bytes() == 0) {
      return;
    }
    if (buffer.residence() != Residence::device) {
      throw Error(Code::access, "{}: it lies in memory of the host; expected memory of cudaMalloc on every rank",
                  argument);
    }
    if (!buffer.type().contiguous()) {
      throw Error(Code::unsupported, "{}: its datatype has gaps; expected one without", argument);
    }
    const std::byte* const lowest = buffer.address() + buffer.lower();
    DeviceReach::Own& own = reach_->own_[static_cast<std::size_t>(which)];
    own = {lowest, argument, {}};
    const auto bytes = static_cast<std::uint64_t>(buffer.upper() - buffer.lower());
    if (const auto refused = attempt([&] { own.buffer = shared_buffer(lowest, bytes); })) {
      throw Error(refused->code(), "{}: {}", argument, refused->what());
    }
    if (reach_->device_.driver != nullptr && reach_->device_.context != own.buffer.device.context) {
      throw Error(Code::access, "{}: it is on another device or in another context than sendbuf; expected one",
                  argument);
    }
    reach_->device_ = own.buffer.device;
    offer_.exported[static_cast<std::size_t>(which)] = {true, own.buffer.offset, own.buffer.handle};
  }

  const Engine& engine_;
  Collective collective_;
  const RequestPlan& plan_;
  std::shared_ptr<DeviceReach> reach_ = std::make_shared<DeviceReach>();
  Offer offer_;
  std::vector<Offer> offers_; // of all ranks
};

namespace {

bool has_device_data(const RequestPlan& plan) {
  const auto on_device = [](const UserBuffer& buffer) {
    return buffer.bytes() != 0 && buffer.residence() == Residence::device;
  };
  return on_device(plan.send) || on_device(plan.recv);
}

} // namespace

DeviceUse device_use(const Engine& engine, Collective collective, MPI_Info info) {
  const std::string wish = info_value(info, "stoker_executor").value_or("auto");
  const Settings& settings = engine.settings();
  if (wish == "device") {
    return DeviceUse::required;
  }
  if (wish != "auto" || settings.device_kernel == "never" || collective == Collective::barrier) {
    return DeviceUse::none;
  }
  return settings.access == AccessChoice::device      ? DeviceUse::required
         : settings.access == AccessChoice::automatic ? DeviceUse::if_possible
                                                      : DeviceUse::none;
}

void take_device(Engine& engine, Collective collective, RequestPlan& plan) {
  const CommContext& context = *plan.context;
  const bool required = plan.device_use == DeviceUse::required;
  if (plan.device_use == DeviceUse::none || plan.without_kernel || (context.layout().nodes() > 1 && !required)) {
    return;
  }
  if (!required && !on_all(context.comm(), has_device_data(plan))) { // as in most requests
    return;
  }
  // Whether it went well everywhere.
  const auto on_all_ranks = [&](auto&& work) {
    const auto failure = with_rank(context.rank(), attempt(work));
    if (required) {
      agree(context.comm(), failure);
    }
    return required || on_all(context.comm(), !failure);
  };
  DeviceSearch search(engine, collective, plan);
  if (!on_all_ranks([&] {
        if (engine.settings().device_kernel == "never" || context.layout().nodes() > 1) {
          throw Error(Code::unsupported, "a device is asked for as executor, but {}; expected {}",
                      context.layout().nodes() > 1 ? "the ranks are on several nodes" : "device_kernel=never",
                      context.layout().nodes() > 1 ? "a communicator of one node" : "device_kernel=auto");
        }
        search.look();
      })) {
    return;
  }
  search.exchange_offers();
  std::shared_ptr<const DeviceReach> reach;
  if (on_all_ranks([&] {
        search.group_ranks();
        reach = search.import_all();
      })) {
    plan.device = std::move(reach);
    plan.executor = Executor::device;
  }
}

} // namespace stoker::engine
