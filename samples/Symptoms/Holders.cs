using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Safe;

/// <summary>A thread that holds a lock nobody wants, and two that hold a ReaderWriterLockSlim for reading, which a writer waits for.</summary>
static class Holders
{
    static readonly Safe s_safe = new();
    static readonly ReaderWriterLockSlim s_rates = new();
    static readonly ManualResetEvent s_never = new(false);

    public static void Run(Stage stage)
    {
        var holder = Stage.Start("holder", HoldSafe);
        Worker[] readers = [Stage.Start("reader-0", ReadRates), Stage.Start("reader-1", ReadRates)];
        Worker.AwaitBlocked([holder, .. readers]);
        var writer = Stage.Start("writer", WriteRates);
        Worker.AwaitBlocked([writer]);
        stage.Ready(new
        {
            lockType = typeof(Safe).FullName,
            holder = holder.Identity,
            readers = readers.Select(r => r.Identity),
            writer = writer.Identity,
        });
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void HoldSafe()
    {
        lock (s_safe)
        {
            lock (s_safe) s_never.WaitOne();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ReadRates()
    {
        s_rates.EnterReadLock();
        s_never.WaitOne();
        s_rates.ExitReadLock();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void WriteRates()
    {
        s_rates.EnterWriteLock();
        s_rates.ExitWriteLock();
    }
}
