using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>The twin of the sick ones: locks taken often and held briefly, pool work that ends, garbage that dies young.</summary>
static class HealthyLoad
{
    static readonly object s_lock = new();
    static readonly Queue<byte[]> s_recent = [];
    static long s_locked, s_pooled, s_allocated, s_awaited;

    public static void Run(Stage stage)
    {
        stage.Work("locker", () => stage.Every(20_000, TakeLock));
        stage.Work("locker", () => stage.Every(20_000, TakeLock));
        stage.Work("pooler", () => stage.Every(2_000, () => ThreadPool.QueueUserWorkItem(_ => Interlocked.Increment(ref s_pooled))));
        stage.Work("awaiter", () => stage.Every(200, () => _ = Await()));
        stage.Work("allocator", () => stage.Every(20_000, Allocate));
        while (Interlocked.Read(ref s_awaited) < 20 && stage.Sleep(10)) { }
        stage.Ready(new { healthy = true, locksPerSecond = 40_000, poolItemsPerSecond = 2_000, tasksPerSecond = 200, allocatedBytesPerSecond = 20_000_000 });
        stage.FinishWork();
        stage.Done(new { locked = s_locked, pooled = Interlocked.Read(ref s_pooled), awaited = Interlocked.Read(ref s_awaited), allocations = s_allocated });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void TakeLock()
    {
        lock (s_lock) ++s_locked;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Allocate()
    {
        s_recent.Enqueue(new byte[976]);
        if (s_recent.Count > 1000) s_recent.Dequeue();
        ++s_allocated;
    }

    static async Task Await()
    {
        await Task.Delay(5);
        Interlocked.Increment(ref s_awaited);
    }
}
