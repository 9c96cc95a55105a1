using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// Requests arrive on the pool faster than it grows, and each blocks its thread on a task that needs a pool thread.
/// Growth is capped (--max-threads) so that the machine lives on; no request is ever served.
/// </summary>
static class PoolStarvation
{
    static volatile bool s_open;
    static int s_blocked;
    static int s_served;

    public static void Run(Stage stage)
    {
        var most = stage.Options.Int("max-threads", 64);
        var rate = stage.Options.Number("rate") ?? 50;
        if (!ThreadPool.SetMaxThreads(most, most))
            throw new UsageException($"--max-threads must be at least {Environment.ProcessorCount}");

        for (var i = 0; i < most * 4; ++i) ThreadPool.QueueUserWorkItem(_ => ServeRequest());
        s_open = true;
        var start = Stopwatch.GetTimestamp();
        long probeRan = 0;
        ThreadPool.QueueUserWorkItem(_ => Interlocked.Exchange(ref probeRan, Stopwatch.GetTimestamp()));

        stage.Work("arrivals", () => stage.Every(rate, () =>
        {
            if (ThreadPool.PendingWorkItemCount < 2000) ThreadPool.QueueUserWorkItem(_ => ServeRequest());
        }));
        while (Volatile.Read(ref s_blocked) <= Environment.ProcessorCount && stage.Sleep(5)) { }
        stage.Ready(new
        {
            method = $"{typeof(PoolStarvation).FullName}.{nameof(ServeRequest)}",
            waitsForTaskOf = $"{typeof(PoolStarvation).FullName}.{nameof(QueryDatabase)}",
            maxThreads = most,
            blocked = Volatile.Read(ref s_blocked),
            poolThreads = ThreadPool.ThreadCount,
            pending = ThreadPool.PendingWorkItemCount,
            arrivalsPerSecond = rate,
        });
        stage.FinishWork();
        stage.Done(new
        {
            blocked = Volatile.Read(ref s_blocked),
            served = Volatile.Read(ref s_served),
            poolThreads = ThreadPool.ThreadCount,
            pending = ThreadPool.PendingWorkItemCount,
            probeDelayMs = Interlocked.Read(ref probeRan) == 0 ? Stopwatch.GetElapsedTime(start).TotalMilliseconds : -1,
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ServeRequest()
    {
        while (!s_open) Thread.Sleep(1);  // the first must not overtake those still being queued
        Interlocked.Increment(ref s_blocked);
        QueryDatabase().Wait();
        Interlocked.Decrement(ref s_blocked);
        Interlocked.Increment(ref s_served);
    }

    // Its continuation goes to the end of the pool's queue, behind all other requests.
    static async Task QueryDatabase()
    {
        await Task.Yield();
        await Task.Delay(10);
    }
}
