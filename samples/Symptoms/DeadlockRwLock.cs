using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>As DeadlockMonitor, with ReaderWriterLockSlim entered for writing.</summary>
static class DeadlockRwLock
{
    public static void Run(Stage stage)
    {
        stage.Ready(LockCycle.Close(stage, LockCycle.Locks<ReaderWriterLockSlim>(stage), Transfer, $"{typeof(DeadlockRwLock).FullName}.{nameof(Transfer)}"));
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Transfer(ReaderWriterLockSlim from, ReaderWriterLockSlim to, Action held)
    {
        from.EnterWriteLock();
        held();
        to.EnterWriteLock();
        throw new InvalidOperationException("no deadlock");
    }
}
