// SPDX-License-Identifier: BSD-3-Clause
#include "api/pmpi/handles.hpp"

#include "api/pmpi/handle_table.hpp"
#include "api/pmpi/library.hpp"
#include "engine/base/agreement.hpp"
#include "engine/base/error.hpp"
#include "engine/base/never_destroyed.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace stoker::pmpi {
namespace {

// A real handle, which stays the same, and what it stands for; null while nobody uses it.
struct Entry {
  MPI_Request handle = MPI_REQUEST_NULL;
  std::atomic<Request*> request{nullptr};
};

// Open addressing. Entries are added, by one thread at a time, and never taken out.
class Index {
public:
  explicit Index(unsigned bits) : shift_(64 - bits), buckets_(std::size_t{1} << bits) {}

  [[nodiscard]] Entry* find(MPI_Request handle) const {
    for (std::size_t i = hash(handle) >> shift_;; i = (i + 1) & (buckets_.size() - 1)) {
      Entry* const entry = buckets_[i].entry.load(std::memory_order_acquire); // released in add()
      if (entry == nullptr || buckets_[i].handle == handle) {
        return entry;
      }
    }
  }
  void add(Entry& entry) {
    std::size_t i = hash(entry.handle) >> shift_;
    while (buckets_[i].entry.load(std::memory_order_relaxed) != nullptr) {
      i = (i + 1) & (buckets_.size() - 1);
    }
    buckets_[i].handle = entry.handle;
    buckets_[i].entry.store(&entry, std::memory_order_release); // acquired in find()
    ++entries_;
  }
  // Entries are kept sparse, so that the search for a handle that is not there ends at once.
  [[nodiscard]] bool full() const { return 4 * entries_ >= buckets_.size(); }
  [[nodiscard]] unsigned bits() const { return 64 - shift_; }

private:
  struct Bucket {
    std::atomic<Entry*> entry{nullptr};
    MPI_Request handle = MPI_REQUEST_NULL; // written before `entry` is
  };
  unsigned shift_;
  std::size_t entries_ = 0;
  std::vector<Bucket> buckets_;
};

// Tools may ask before this library's constructors have run.
constinit std::atomic<int> requests_held{0};

class Handles {
public:
  MPI_Request insert(std::unique_ptr<Request> request) {
    Entry* entry = take();
    if (entry == nullptr) {
      entry = make();
    }
    entry->request.store(request.release(), std::memory_order_release); // acquired in find()
    requests_held.fetch_add(1, std::memory_order_relaxed);
    return entry->handle;
  }

  [[nodiscard]] Request* find(MPI_Request handle) const {
    const Index* const index = index_.load(std::memory_order_acquire); // released in make()
    if (index == nullptr) {
      return nullptr;
    }
    const Entry* const entry = index->find(handle);
    return entry == nullptr ? nullptr : entry->request.load(std::memory_order_acquire); // released in insert()
  }

  std::unique_ptr<Request> remove(MPI_Request handle) {
    Entry* const entry = index_.load(std::memory_order_acquire)->find(handle);
    std::unique_ptr<Request> request(entry->request.exchange(nullptr, std::memory_order_relaxed));
    requests_held.fetch_sub(1, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    unused_.push_back(entry);
    return request;
  }

  void free() {
    const std::lock_guard lock(mutex_);
    for (Entry* entry : unused_) {
      real().MPI_Request_free(&entry->handle);
    }
    unused_.clear();
  }

private:
  Entry* take() {
    const std::lock_guard lock(mutex_);
    if (unused_.empty()) {
      return nullptr;
    }
    Entry* const entry = unused_.back();
    unused_.pop_back();
    return entry;
  }

  Entry* make() {
    auto entry = std::make_unique<Entry>();
    engine::check_mpi(real().MPI_Send_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &entry->handle),
                      "MPI_Send_init");
    const std::lock_guard lock(mutex_);
    Entry& kept = *entries_.emplace_back(std::move(entry));
    if (indices_.empty() || indices_.back()->full()) {
      constexpr unsigned first_bits = 8;
      auto larger = std::make_unique<Index>(indices_.empty() ? first_bits : indices_.back()->bits() + 2);
      for (const auto& known : entries_) {
        larger->add(*known);
      }
      index_.store(larger.get(), std::memory_order_release); // acquired in find()
      indices_.push_back(std::move(larger));
    } else {
      indices_.back()->add(kept);
    }
    return &kept;
  }

  std::atomic<const Index*> index_{nullptr}; // the last of indices_
  std::mutex mutex_;                         // guards what follows; find() goes through the atomics
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<Entry*> unused_;
  std::vector<std::unique_ptr<Index>> indices_; // of growing size; somebody may still be looking at an older one
};

// Never destroyed: destructors of the application's global objects may still call MPI.
engine::NeverDestroyed<Handles> handles_storage;
Handles& handles = handles_storage.object;

} // namespace

MPI_Request insert(std::unique_ptr<Request> request) {
  try {
    return handles.insert(std::move(request));
  } catch (const engine::Error& error) {
    throw engine::Error(engine::Code::resource, std::string("no handle for one more request: ") + error.what());
  }
}

Request* find(MPI_Request handle) { return handles.find(handle); }
std::unique_ptr<Request> remove(MPI_Request handle) { return handles.remove(handle); }
bool any_requests() { return requests_in_use() != 0; }
int requests_in_use() { return requests_held.load(std::memory_order_relaxed); }
void free_handles() { handles.free(); }

} // namespace stoker::pmpi
