using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Two methods that take turns in a fixed rhythm, by the clock on the wall: 60 and 40 percent of each round. A sampler in the same rhythm sees always the same one.</summary>
static class CpuRhythm
{
    const int LongPercent = 60;

    static long s_longCpu, s_shortCpu;

    public static void Run(Stage stage)
    {
        var ticks = (long)((stage.Options.Number("period-us") ?? 1001) * Stopwatch.Frequency / 1e6);
        var worker = stage.Work("burner-0", () => Burn(stage, ticks));
        stage.Sleep(500);  // until the methods are compiled for speed
        stage.Ready(new { threads = new[] { worker.Identity }, methods = Methods(LongPercent, 100 - LongPercent) });
        stage.FinishWork();
        var all = (double)(s_longCpu + s_shortCpu);
        stage.Done(new { threadCpuMs = Math.Round(all / 1e6, 3), methods = Methods(Math.Round(100 * s_longCpu / all, 3), Math.Round(100 * s_shortCpu / all, 3)) });
    }

    static object[] Methods(double longPercent, double shortPercent) =>
    [
        new { method = $"{typeof(CpuRhythm).FullName}.{nameof(LongPart)}", percent = longPercent },
        new { method = $"{typeof(CpuRhythm).FullName}.{nameof(ShortPart)}", percent = shortPercent },
    ];

    static void Burn(Stage stage, long ticks)
    {
        var value = 12345u;
        var round = Stopwatch.GetTimestamp();
        var before = Os.ThreadCpu();
        while (!stage.Ending)
        {
            value = LongPart(value, round + ticks * LongPercent / 100);
            var between = Os.ThreadCpu();
            value = ShortPart(value, round + ticks);
            var after = Os.ThreadCpu();
            s_longCpu += between - before;
            s_shortCpu += after - between;
            before = after;
            // What was missed while others ran is not made up for: the rhythm stays.
            round += Math.Max(1, (Stopwatch.GetTimestamp() - round) / ticks) * ticks;
        }
        GC.KeepAlive(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint LongPart(uint value, long until)
    {
        while (Stopwatch.GetTimestamp() < until)
            for (var i = 0; i < 500; ++i) value = (value ^ (value >> 13)) * 0x9E3779B1;
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint ShortPart(uint value, long until)
    {
        while (Stopwatch.GetTimestamp() < until)
            for (var i = 0; i < 500; ++i) value = (value ^ (value >> 11)) * 0x85EBCA77;
        return value;
    }
}
