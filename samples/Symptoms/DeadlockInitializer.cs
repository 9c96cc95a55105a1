using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class PriceGate;

/// <summary>
/// A thread holds a lock and uses a type for the first time; the thread that runs the type's static constructor wants the lock.
/// With --healthy the constructor is only slow: it needs no lock.
/// </summary>
static class DeadlockInitializer
{
    internal static readonly PriceGate Gate = new();
    internal static readonly ManualResetEventSlim Locked = new(), Initializing = new(), Never = new();
    internal static bool Healthy;

    public static void Run(Stage stage)
    {
        Healthy = stage.Options.Has("healthy");
        var loader = Stage.Start("loader", () => Load());
        var clerk = Stage.Start("clerk", () => Quote());
        Initializing.Wait();
        Locked.Wait();
        Worker.AwaitBlocked([loader]);
        Thread.Sleep(300);  // the runtime's own wait for a static constructor is not WaitSleepJoin
        stage.Ready(new
        {
            lockType = typeof(PriceGate).FullName,
            type = "Samples.Symptoms.PriceList",
            holder = clerk.Identity,
            initializer = loader.Identity,
            method = $"{typeof(DeadlockInitializer).FullName}.{nameof(Quote)}",
            cycle = new[] { clerk.OsId, loader.OsId },
        });
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Load() => PriceList.Count();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Quote()
    {
        lock (Gate)
        {
            Locked.Set();
            Initializing.Wait();
            return PriceList.Count();
        }
    }
}

static class PriceList
{
    static readonly int s_count;

    static PriceList()
    {
        DeadlockInitializer.Initializing.Set();
        DeadlockInitializer.Locked.Wait();
        if (DeadlockInitializer.Healthy) DeadlockInitializer.Never.Wait();
        lock (DeadlockInitializer.Gate) s_count = 1;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Count() => s_count;
}
