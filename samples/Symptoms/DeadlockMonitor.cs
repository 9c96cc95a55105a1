using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Account;

/// <summary>Each thread holds one monitor and waits for the next one's.</summary>
static class DeadlockMonitor
{
    public static void Run(Stage stage)
    {
        stage.Ready(Close(stage, LockCycle.Locks<Account>(stage)));
        stage.WaitForEnd();
    }

    public static object Close(Stage stage, Account[] accounts) =>
        LockCycle.Close(stage, accounts, Transfer, $"{typeof(DeadlockMonitor).FullName}.{nameof(Transfer)}");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Transfer(Account from, Account to, Action held)
    {
        lock (from)
        {
            held();
            lock (to) throw new InvalidOperationException("no deadlock");
        }
    }
}
