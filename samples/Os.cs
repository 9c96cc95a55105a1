using System.Runtime.InteropServices;

namespace Samples;

/// <summary>What .NET does not tell: thread ids of the kernel and the CPU time of one thread.</summary>
static class Os
{
    const int MonotonicClock = 1;  // CLOCK_MONOTONIC
    const int ThreadCpuClock = 3;  // CLOCK_THREAD_CPUTIME_ID

    [StructLayout(LayoutKind.Sequential)]
    struct Timespec
    {
        public long Seconds;
        public long Nanoseconds;
    }

    public static int ThreadId() => gettid();

    /// <summary>CPU time of the calling thread in nanoseconds.</summary>
    public static long ThreadCpu() => Now(ThreadCpuClock);

    /// <summary>The kernel's monotonic clock in nanoseconds.</summary>
    public static long Monotonic() => Now(MonotonicClock);

    static long Now(int clock)
    {
        _ = clock_gettime(clock, out var time);
        return time.Seconds * 1_000_000_000 + time.Nanoseconds;
    }

    [DllImport("libc")]
    static extern int gettid();

    [DllImport("libc")]
    static extern int clock_gettime(int clock, out Timespec time);
}
