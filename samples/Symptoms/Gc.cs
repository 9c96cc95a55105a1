namespace Samples.Symptoms;

/// <summary>Rounds of blocking collections asked for by name: four of generation 0, two of 1, one of 2.</summary>
static class Gc
{
    static readonly int[] Round = [0, 0, 1, 0, 0, 1, 2];

    public static void Run(Stage stage)
    {
        var rounds = stage.Options.Count("rounds");
        var interval = stage.Options.Int("interval-ms", 20);
        stage.Ready(new { perRound = new { gen0 = 4, gen1 = 2, gen2 = 1 }, rounds = rounds == long.MaxValue ? (long?)null : rounds, intervalMs = interval });
        stage.WaitForGo();

        var asked = new long[3];
        var (countsBefore, pauseBefore) = (Counts(), GC.GetTotalPauseDuration());
        for (long done = 0; done < rounds && !stage.Ending; ++done)
        {
            foreach (var generation in Round)
            {
                if (!stage.Pause(interval)) break;
                GC.Collect(generation, GCCollectionMode.Forced, blocking: true);
                ++asked[generation];
            }
        }
        var (counts, pause) = (Counts(), GC.GetTotalPauseDuration());
        stage.Done(new
        {
            asked = Named(asked),
            counted = Named([.. counts.Zip(countsBefore, (after, before) => after - before)]),
            pauseMs = (pause - pauseBefore).TotalMilliseconds,
            process = new { counted = Named(counts), pauseMs = pause.TotalMilliseconds },
        });
    }

    static object Named(long[] counts) => new { gen0 = counts[0], gen1 = counts[1], gen2 = counts[2], all = counts.Sum() };

    /// <summary>Collections whose oldest generation is 0, 1, 2; CollectionCount includes the older ones.</summary>
    static long[] Counts() =>
        [GC.CollectionCount(0) - GC.CollectionCount(1), GC.CollectionCount(1) - GC.CollectionCount(2), GC.CollectionCount(2)];
}
