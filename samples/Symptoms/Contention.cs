using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed class Ledger;

/// <summary>N threads ask for one monitor all the time; it is held for some milliseconds each time.</summary>
static class Contention
{
    public static void Run(Stage stage)
    {
        var hold = stage.Options.Int("hold-ms", 2);
        var ledger = new Ledger();
        var acquisitions = new long[stage.Options.Int("threads", 4)];
        var before = Monitor.LockContentionCount;
        var workers = new Worker[acquisitions.Length];
        for (var i = 0; i < acquisitions.Length; ++i)
        {
            var me = i;
            workers[i] = stage.Work($"clerk-{i}", () =>
            {
                stage.WaitForGo();
                while (!stage.Ending)
                {
                    Book(ledger, hold, ref acquisitions[me]);
                    Thread.Sleep(1);  // or the last owner would be the next one
                }
            });
        }
        while (acquisitions.Length > 1 && Monitor.LockContentionCount == before && !stage.Options.Has("wait-line") && stage.Sleep(5)) { }
        stage.Ready(new
        {
            lockType = typeof(Ledger).FullName,
            method = $"{typeof(Contention).FullName}.{nameof(Book)}",
            holdMs = hold,
            threads = workers.Select(w => w.Identity),
        });
        stage.FinishWork();
        stage.Done(new
        {
            acquisitions = acquisitions.Sum(),
            perThread = workers.Select((w, i) => new { osId = w.OsId, acquisitions = acquisitions[i] }),
            contentions = Monitor.LockContentionCount - before,
        });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void Book(object ledger, int holdMs, ref long acquisitions)
    {
        lock (ledger)
        {
            ++acquisitions;
            Thread.Sleep(holdMs);
        }
    }
}
