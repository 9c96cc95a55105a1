#include "store/cancel.h"

#include <utility>

namespace clrscope::store {
namespace {

std::stop_token& token() {
  thread_local std::stop_token current;
  return current;
}

CancelScope::What& scope() {
  thread_local auto current = CancelScope::What::kQueries;
  return current;
}

}  // namespace

CancelScope::CancelScope(std::stop_token stop, What what)
    : outer_(std::exchange(token(), std::move(stop))), outer_what_(std::exchange(scope(), what)) {}
CancelScope::~CancelScope() {
  token() = std::move(outer_);
  scope() = outer_what_;
}
CancelScope::What CancelScope::what() { return scope(); }
const std::stop_token& CancelScope::current() { return token(); }

Failure cancelled() { return fail(Errc::kGone, "the query was cancelled: nobody waits for it"); }

Result<> check_cancelled() {
  if (CancelScope::current().stop_requested()) return cancelled();
  return {};
}

}  // namespace clrscope::store
