// SPDX-License-Identifier: BSD-3-Clause
#include "engine/base/one_thread.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

namespace stoker::engine {
namespace {

void use_from_another_thread(OneThread& object, const char* name) {
  std::thread([&] {
    pthread_setname_np(pthread_self(), name);
    const OneThread::Use use(object);
  }).join();
}

TEST(OneThread, MayBeUsedByOneThreadAfterTheOther) {
  OneThread object("the object");
  use_from_another_thread(object, "first");
  use_from_another_thread(object, "second");
  const OneThread::Use outer(object);
  const OneThread::Use nested(object);
}

TEST(OneThread, NamesBothThreadsWhenTheyMeet) {
  if (!check_threads) {
    GTEST_SKIP() << "built without checks";
  }
  EXPECT_EXIT(
      {
        OneThread object("the object");
        pthread_setname_np(pthread_self(), "owner");
        const OneThread::Use use(object);
        use_from_another_thread(object, "intruder");
      },
      testing::KilledBySignal(SIGABRT), "the object .* thread \"intruder\" \\(0x[0-9a-f]+\\) while thread \"owner\"");
}

TEST(OneThread, NestedUseDoesNotEndTheOuterOne) {
  if (!check_threads) {
    GTEST_SKIP() << "built without checks";
  }
  EXPECT_EXIT(
      {
        OneThread object("the object");
        const OneThread::Use use(object);
        { const OneThread::Use nested(object); }
        use_from_another_thread(object, "intruder");
      },
      testing::KilledBySignal(SIGABRT), "\"intruder\"");
}

} // namespace
} // namespace stoker::engine
