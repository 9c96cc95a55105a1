using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Warehouse;

/// <summary>One thread takes a lock and then waits, with the lock, for something slow; others queue for it.</summary>
static class LongHolder
{
    public static void Run(Stage stage)
    {
        var warehouse = new Warehouse();
        var slow = new ManualResetEvent(false);
        using var taken = new ManualResetEventSlim();
        var holder = Stage.Start("inventory", () => TakeInventory(warehouse, slow, taken));
        taken.Wait();
        var waiters = new Worker[stage.Options.Int("threads", 4)];
        for (var i = 0; i < waiters.Length; ++i) waiters[i] = Stage.Start($"picker-{i}", () => Pick(warehouse));
        Worker.AwaitBlocked([.. waiters, holder]);
        stage.Ready(new
        {
            lockType = typeof(Warehouse).FullName,
            holder = holder.Identity,
            holdsIn = $"{typeof(LongHolder).FullName}.{nameof(TakeInventory)}",
            waitsIn = $"{typeof(LongHolder).FullName}.{nameof(Pick)}",
            waiters = waiters.Select(w => w.Identity),
        });
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void TakeInventory(object warehouse, WaitHandle slow, ManualResetEventSlim taken)
    {
        lock (warehouse)
        {
            taken.Set();
            slow.WaitOne();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Pick(object warehouse)
    {
        lock (warehouse) GC.KeepAlive(warehouse);
    }
}
