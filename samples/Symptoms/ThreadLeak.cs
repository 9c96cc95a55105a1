using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>A thread for each connection, which looks for work every 100 ms and never ends. With --healthy each ends after 200 ms.</summary>
static class ThreadLeak
{
    static long s_polls;

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 5;
        var healthy = stage.Options.Has("healthy");
        stage.Ready(new { method = $"{typeof(ThreadLeak).FullName}.{nameof(Poll)}", startedPerSecond = rate, healthy });
        stage.Work("starter", () => stage.Every(rate, () => Start(healthy ? 2 : int.MaxValue)));
        stage.FinishWork();
    }

    static void Start(int polls) => new Thread(() => Poll(polls), 256 * 1024) { IsBackground = true, Name = "connection" }.Start();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Poll(int polls)
    {
        for (var i = 0; i < polls; ++i)
        {
            Thread.Sleep(100);
            Interlocked.Increment(ref s_polls);
        }
    }
}
