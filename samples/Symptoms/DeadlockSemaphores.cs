namespace Samples.Symptoms;

/// <summary>Two transfers, each with one account's SemaphoreSlim and in the queue of the other's. No thread is blocked.</summary>
static class DeadlockSemaphores
{
    sealed class Wallet
    {
        public readonly SemaphoreSlim Gate = new(1, 1);
        public int Balance = 100;
    }

    static readonly List<object> s_kept = [];

    public static void Run(Stage stage)
    {
        Wallet first = new(), second = new();
        var both = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var entered = 0;
        Task Meet()
        {
            if (Interlocked.Increment(ref entered) == 2) both.SetResult();
            return both.Task;
        }
        s_kept.Add(Serve(first, second, Meet));
        s_kept.Add(Serve(second, first, Meet));
        while (!Waits(first) || !Waits(second)) Thread.Sleep(5);
        stage.Ready(new
        {
            method = $"{typeof(DeadlockSemaphores).FullName}.{nameof(Transfer)}",
            caller = $"{typeof(DeadlockSemaphores).FullName}.{nameof(Serve)}",
            links = 2,
        });
        stage.WaitForEnd();
    }

    // Its queue is empty unless somebody waits asynchronously; there is no property that tells.
    static bool Waits(Wallet wallet) =>
        typeof(SemaphoreSlim).GetField("m_asyncHead", System.Reflection.BindingFlags.NonPublic | System.Reflection.BindingFlags.Instance)!
            .GetValue(wallet.Gate) is not null;

    static async Task Serve(Wallet from, Wallet to, Func<Task> meet) => await Transfer(from, to, meet);

    static async Task Transfer(Wallet from, Wallet to, Func<Task> meet)
    {
        await from.Gate.WaitAsync();
        try
        {
            await meet();
            await to.Gate.WaitAsync();
            try
            {
                from.Balance -= 1;
                to.Balance += 1;
            }
            finally
            {
                to.Gate.Release();
            }
        }
        finally
        {
            from.Gate.Release();
        }
    }
}
