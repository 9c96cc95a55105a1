#include "store/cancel.h"

#include <utility>

namespace clrscope::store {
namespace {

std::stop_token& token() {
  thread_local std::stop_token current;
  return current;
}

}  // namespace

CancelScope::CancelScope(std::stop_token stop) : outer_(std::exchange(token(), std::move(stop))) {}
CancelScope::~CancelScope() { token() = std::move(outer_); }
const std::stop_token& CancelScope::current() { return token(); }

Failure cancelled() { return fail(Errc::kGone, "the query was cancelled: nobody waits for it"); }

Result<> check_cancelled() {
  if (CancelScope::current().stop_requested()) return cancelled();
  return {};
}

}  // namespace clrscope::store
