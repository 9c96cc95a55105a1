namespace Samples.Symptoms;

/// <summary>Closes a cycle: thread i holds lock i and asks for lock i + 1. What a lock is, the symptom says.</summary>
static class LockCycle
{
    public static object Close<T>(Stage stage, T[] locks, Action<T, T, Action> transfer, string method)
    {
        var n = locks.Length;
        var allHold = new Barrier(n);
        var asking = 0;
        var workers = new Worker[n];
        for (var i = 0; i < n; ++i)
        {
            var (first, second) = (locks[i], locks[(i + 1) % n]);
            workers[i] = Stage.Start($"transfer-{i}", () => transfer(first, second, Held));
        }
        while (Volatile.Read(ref asking) < n && stage.Sleep(1)) { }
        Worker.AwaitBlocked(workers);
        return new
        {
            lockType = typeof(T).FullName,
            method,
            cycle = workers.Select(w => w.OsId),
            threads = workers.Select((w, i) => new
            {
                osId = w.OsId,
                managedId = w.Thread.ManagedThreadId,
                name = w.Thread.Name,
                holds = $"lock-{i}",
                waitsFor = $"lock-{(i + 1) % n}",
                ownerOsId = workers[(i + 1) % n].OsId,
            }),
        };

        void Held()
        {
            allHold.SignalAndWait();
            Interlocked.Increment(ref asking);
        }
    }

    public static T[] Locks<T>(Stage stage) where T : new()
    {
        var n = stage.Options.Int("threads", 2);
        if (n < 2) throw new UsageException($"a cycle needs two threads, --threads is {n}");
        return [.. Enumerable.Range(0, n).Select(_ => new T())];
    }
}
