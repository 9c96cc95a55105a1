using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// Rounds of blocking collections asked for by name: four of generation 0, two of 1, one of 2. With --moving N, a round is one compacting collection
/// while N buffers lie between garbage; those that have another address afterwards are counted.
/// </summary>
static class Gc
{
    static readonly int[] Round = [0, 0, 1, 0, 0, 1, 2];

    public static void Run(Stage stage)
    {
        var rounds = stage.Options.Count("rounds");
        var interval = stage.Options.Int("interval-ms", 20);
        stage.Ready(new { perRound = new { gen0 = 4, gen1 = 2, gen2 = 1 }, rounds = rounds == long.MaxValue ? (long?)null : rounds, intervalMs = interval });
        stage.WaitForGo();

        if (stage.Options.Number("moving") is { } moving)
        {
            Move(stage, rounds, (int)moving);
            return;
        }
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

    const int BufferBytes = 1000;  // without header and length, which make it 1024

    static void Move(Stage stage, long rounds, int buffers)
    {
        var (kept, addresses) = (new byte[buffers][], new nint[buffers]);
        long moved = 0, done = 0;
        for (; done < rounds && !stage.Ending && stage.Pause(1); ++done)
        {
            for (var i = 0; i < buffers; ++i)
            {
                _ = GC.AllocateUninitializedArray<byte>(BufferBytes);
                kept[i] = new byte[BufferBytes];
            }
            for (var i = 0; i < buffers; ++i) addresses[i] = AddressOf(kept[i]);
            GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: true);
            for (var i = 0; i < buffers; ++i)
                if (AddressOf(kept[i]) != addresses[i]) ++moved;
        }
        stage.Done(new { collections = done, buffers, movedBuffers = moved, movedBytes = moved * (BufferBytes + 24) });
    }

    static unsafe nint AddressOf(byte[] buffer) => *(nint*)Unsafe.AsPointer(ref buffer);

    static object Named(long[] counts) => new { gen0 = counts[0], gen1 = counts[1], gen2 = counts[2], all = counts.Sum() };

    /// <summary>Collections whose oldest generation is 0, 1, 2; CollectionCount includes the older ones.</summary>
    static long[] Counts() =>
        [GC.CollectionCount(0) - GC.CollectionCount(1), GC.CollectionCount(1) - GC.CollectionCount(2), GC.CollectionCount(2)];
}
