namespace Samples.Symptoms;

/// <summary>Runs three methods so that their CPU times stand 60/30/10, and measures what came of it.</summary>
static class CpuSplit
{
    static readonly int[] Percents = [60, 30, 10];

    sealed class Burner
    {
        public readonly Shares Shares = new(Percents);
        public long ThreadCpu;
    }

    public static void Run(Stage stage, Type type, string[] methods, Func<int, uint, uint> drive)
    {
        var burners = new Burner[stage.Options.Int("threads", 1)];
        var workers = new Worker[burners.Length];
        for (var i = 0; i < burners.Length; ++i)
        {
            var burner = burners[i] = new Burner();
            workers[i] = stage.Work($"burner-{i}", () => Burn(stage, burner, drive));
        }
        stage.Sleep(500);  // until the methods are compiled for speed
        stage.Ready(new
        {
            threads = workers.Select(w => w.Identity),
            methods = methods.Select((m, i) => new { method = $"{type.FullName}.{m}", percent = Percents[i] }),
        });
        stage.FinishWork();

        var all = burners.Sum(b => b.ThreadCpu);
        stage.Done(new
        {
            threadCpuMs = Math.Round(all / 1e6, 3),
            methods = methods.Select((m, i) => new
            {
                method = $"{type.FullName}.{m}",
                cpuMs = Math.Round(burners.Sum(b => b.Shares.Spent(i)) / 1e6, 3),
                percent = Math.Round(100.0 * burners.Sum(b => b.Shares.Spent(i)) / all, 3),
            }),
        });
    }

    // With --uneven each turn lasts one to sixteen times as long, at random: nothing repeats in the rhythm of a clock.
    static void Burn(Stage stage, Burner burner, Func<int, uint, uint> drive)
    {
        var value = 12345u;
        var most = stage.Options.Has("uneven") ? 16 : 1;
        var random = new Random(1);
        var before = Os.ThreadCpu();
        var start = before;
        while (!stage.Ending)
        {
            var which = burner.Shares.Next();
            for (var turns = random.Next(most); turns >= 0; --turns) value = drive(which, value);
            var now = Os.ThreadCpu();
            burner.Shares.Charge(which, now - before);
            before = now;
        }
        burner.ThreadCpu = Os.ThreadCpu() - start;
        GC.KeepAlive(value);
    }
}
