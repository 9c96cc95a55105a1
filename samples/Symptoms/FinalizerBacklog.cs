using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Objects whose finalizers take longer than new ones take to come. With --healthy the finalizers are quick.</summary>
static class FinalizerBacklog
{
    const int SlowMs = 20;
    static bool s_healthy;
    static long s_made, s_finalized;

    sealed class SlowConnection
    {
        readonly byte[] _buffer = new byte[1000];

        ~SlowConnection()
        {
            if (!s_healthy) Thread.Sleep(SlowMs);
            GC.KeepAlive(_buffer);
            Interlocked.Increment(ref s_finalized);
        }
    }

    public static void Run(Stage stage)
    {
        s_healthy = stage.Options.Has("healthy");
        var perSecond = stage.Options.Number("rate") ?? 500;
        stage.Work("connections", () => stage.Every(perSecond, MakeConnection));
        stage.Work("collector", () =>
        {
            while (stage.Sleep(200)) GC.Collect(0);
        });
        while (Interlocked.Read(ref s_finalized) == 0 && stage.Sleep(10)) { }
        stage.Ready(new { type = typeof(SlowConnection).FullName, perSecond, finalizedPerSecond = s_healthy ? perSecond : 1000.0 / SlowMs });
        stage.FinishWork();
        stage.Done(new { made = Interlocked.Read(ref s_made), finalized = Interlocked.Read(ref s_finalized) });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeConnection()
    {
        _ = new SlowConnection();
        Interlocked.Increment(ref s_made);
    }
}
