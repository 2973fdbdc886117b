#include "tenon/base/interrupt.h"

#include <atomic>

namespace tenon {
namespace {

std::atomic<bool> flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores to it");

}  // namespace

bool interrupted() noexcept { return flag.load(std::memory_order_relaxed); }
void request_interrupt() noexcept { flag.store(true, std::memory_order_relaxed); }
void clear_interrupt() noexcept { flag.store(false, std::memory_order_relaxed); }

Status check_interrupt() {
  if (interrupted()) return error(Code::timeout, "interrupted");
  return {};
}

}  // namespace tenon
