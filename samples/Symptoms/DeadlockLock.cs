using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>As DeadlockMonitor, with System.Threading.Lock.</summary>
static class DeadlockLock
{
#if NET9_0_OR_GREATER
    public static void Run(Stage stage)
    {
        stage.Ready(LockCycle.Close(stage, LockCycle.Locks<Lock>(stage), Transfer, $"{typeof(DeadlockLock).FullName}.{nameof(Transfer)}"));
        stage.WaitForEnd();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Transfer(Lock from, Lock to, Action held)
    {
        lock (from)
        {
            held();
            lock (to) throw new InvalidOperationException("no deadlock");
        }
    }
#else
    public static void Run(Stage stage) =>
        throw new PlatformNotSupportedException($"deadlock-lock: .NET {Environment.Version} has no System.Threading.Lock");
#endif
}
