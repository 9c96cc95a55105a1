using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Account;

/// <summary>Each thread holds one monitor and waits for the next one's. With --wait-line all is well until the line comes.</summary>
static class DeadlockMonitor
{
    public static void Run(Stage stage)
    {
        var accounts = LockCycle.Locks<Account>(stage);
        if (stage.Options.Has("wait-line"))
        {
            stage.Ready(new { });
            stage.WaitForGo();
            if (!stage.Ending) stage.Done(Close(stage, accounts));
        }
        else
        {
            stage.Ready(Close(stage, accounts));
        }
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
