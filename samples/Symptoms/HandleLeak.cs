using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>Buffers pinned for native code by handles that nobody frees; --rate per second. With --healthy each handle is freed.</summary>
static class HandleLeak
{
    static long s_pinned;
    static byte[]? s_last;

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 1000;
        var healthy = stage.Options.Has("healthy");
        stage.Work("pinner", () => stage.Every(rate, () => Pin(healthy)));
        stage.Work("allocator", () => stage.Every(200, Allocate));
        while (Interlocked.Read(ref s_pinned) < 500 && stage.Sleep(10)) { }
        stage.Ready(new { method = $"{typeof(HandleLeak).FullName}.{nameof(Pin)}", pinnedPerSecond = rate, healthy });
        stage.FinishWork();
        stage.Done(new { pinned = s_pinned });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Pin(bool free)
    {
        var handle = GCHandle.Alloc(new byte[64], GCHandleType.Pinned);
        Interlocked.Increment(ref s_pinned);
        if (free) handle.Free();
    }

    // Enough for a collection now and then: the runtime counts handles when it collects.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Allocate()
    {
        for (var i = 0; i < 1000; ++i) s_last = new byte[1000];
    }
}
