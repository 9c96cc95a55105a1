using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Each request starts a timer that goes off every second and is never disposed; --rate per second. With --healthy it is disposed.</summary>
static class TimerFlood
{
    static readonly List<Timer> s_timers = [];
    static long s_ticks;

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 400;
        var healthy = stage.Options.Has("healthy");
        for (var i = 0; i < 5000; ++i) Start(healthy);
        stage.Ready(new { method = $"{typeof(TimerFlood).FullName}.{nameof(OnTick)}", startedPerSecond = rate, healthy });
        stage.Work("requests", () => stage.Every(rate, () => Start(healthy)));
        stage.FinishWork();
        stage.Done(new { ticks = Interlocked.Read(ref s_ticks), timers = s_timers.Count });
    }

    static void Start(bool dispose)
    {
        var timer = new Timer(OnTick, null, 1000, 1000);
        if (dispose) timer.Dispose();
        else s_timers.Add(timer);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void OnTick(object? _) => Interlocked.Increment(ref s_ticks);
}
