// For tests that start a gRPC server. After gtest.
#pragma once

// The installed gRPC is not instrumented: under the thread sanitizer its own locks look like races.
#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_THREAD_SANITIZER() GTEST_SKIP() << "the installed gRPC is not instrumented"
#else
#define SKIP_UNDER_THREAD_SANITIZER() static_cast<void>(0)
#endif
