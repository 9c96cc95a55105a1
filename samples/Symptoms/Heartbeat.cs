using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>
/// A thread that wakes every millisecond and keeps the longest gaps between two beats, beside threads that make garbage,
/// keep some of it and check what they kept. SIGUSR1, or the signal of --signal, asks for the gaps since it was asked last: one line each time.
/// </summary>
static class Heartbeat
{
    const int Ask = 10;  // SIGUSR1
    const int Longest = 8;

    static readonly object s_gaps = new();
    static readonly (long At, long Gap)[] s_longest = new (long, long)[Longest];  // longest first
    static long s_beats, s_asked, s_checks, s_wrong;

    public static void Run(Stage stage)
    {
        var threads = stage.Options.Int("threads", 2);
        var perSecond = (stage.Options.Number("rate") ?? 100) * 1_000_000 / Round.Bytes / threads;
        var kept = stage.Options.Int("kept-mb", 32) * 1_000_000 / Round.Bytes / threads;
        var full = new CountdownEvent(threads);
        for (var i = 0; i < threads; ++i) stage.Work($"allocator-{i}", () => Allocate(stage, perSecond, Math.Max(kept, 1), full));
        full.Wait();  // what is kept is there: memory no longer grows
        var beat = stage.Work("heartbeat", () => Beat(stage));
        var ready = new { thread = beat.Identity, periodMs = 1, threads, keptBytes = (long)kept * threads * Round.Bytes };
        if (stage.Options.Has("wait-line"))
        {
            stage.Ready(ready);
            stage.WaitForGo();  // the signal gets its handler afterwards
        }
        using var asked = PosixSignalRegistration.Create((PosixSignal)stage.Options.Int("signal", Ask), context =>
        {
            context.Cancel = true;
            Tell();
        });
        if (stage.Options.Has("wait-line")) Stage.Say(new { handles = stage.Options.Int("signal", Ask) });
        else stage.Ready(ready);
        stage.FinishWork();
        stage.Done(new { beats = s_beats, asked = s_asked, checks = s_checks, wrong = s_wrong });
    }

    static void Beat(Stage stage)
    {
        for (var last = Os.Monotonic(); !stage.Ending; ++s_beats)
        {
            Thread.Sleep(1);
            var now = Os.Monotonic();
            Note(now, now - last);
            last = Os.Monotonic();  // what noting cost is no gap
        }
    }

    static void Note(long at, long gap)
    {
        if (gap <= s_longest[^1].Gap) return;
        lock (s_gaps)
        {
            var i = Longest - 1;
            for (; i > 0 && s_longest[i - 1].Gap < gap; --i) s_longest[i] = s_longest[i - 1];
            s_longest[i] = (at, gap);
        }
    }

    static void Tell()
    {
        (long At, long Gap)[] gaps;
        lock (s_gaps)
        {
            gaps = [.. s_longest.Where(g => g.Gap > 0)];
            Array.Clear(s_longest);
        }
        Stage.Say(new
        {
            gaps = gaps.Select(g => new { endNs = g.At, gapNs = g.Gap }),
            asked = ++s_asked,
            beats = s_beats,
            collections = GC.CollectionCount(0),
            gcPauseMs = GC.GetTotalPauseDuration().TotalMilliseconds,
            wrong = s_wrong,
        });
    }

    static void Allocate(Stage stage, double perSecond, int kept, CountdownEvent full)
    {
        var ring = new Round[kept];
        for (var i = 0; i < kept; ++i) ring[i] = new Round(i);
        full.Signal();
        long next = kept;
        stage.Every(perSecond, () =>
        {
            // A tenth is kept for long, so that collections find old and young.
            var made = new Round(next);
            if (next % 10 == 0)
            {
                ref var place = ref ring[next / 10 % kept];
                if (!place.Right()) ++s_wrong;
                ++s_checks;
                place = made;
            }
            ++next;
        });
        foreach (var round in ring) if (!round.Right()) ++s_wrong;
    }

    /// <summary>About 20 kB in 200 objects that know what they must be.</summary>
    sealed class Round
    {
        public const int Bytes = 20_000;
        readonly long _number;
        readonly long[][] _parts = new long[200][];

        [MethodImpl(MethodImplOptions.NoInlining)]
        public Round(long number)
        {
            _number = number;
            for (var i = 0; i < _parts.Length; ++i) (_parts[i] = new long[9])[i % 9] = number + i;
        }

        public bool Right()
        {
            for (var i = 0; i < _parts.Length; ++i) if (_parts[i][i % 9] != _number + i) return false;
            return true;
        }
    }
}
