using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Large buffers made anew all the time, beside many small objects that must be marked each time.</summary>
static class GcPressure
{
    sealed class Entry(Entry? next)
    {
        public Entry? Next = next;
    }

    static Entry? s_kept;
    static byte[]? s_buffer;

    public static void Run(Stage stage)
    {
        for (var i = 0; i < 200_000; ++i) s_kept = new Entry(s_kept);
        stage.Work("buffers", () =>
        {
            while (!stage.Ending) for (var i = 0; i < 20; ++i) MakeBuffer();
        });
        while (GC.CollectionCount(2) < 3 && stage.Sleep(10)) { }
        stage.Ready(new { method = $"{typeof(GcPressure).FullName}.{nameof(MakeBuffer)}", bufferBytes = BufferBytes });
        stage.FinishWork();
        stage.Done(new { fullCollections = GC.CollectionCount(2), pauseMs = GC.GetTotalPauseDuration().TotalMilliseconds });
    }

    const int BufferBytes = 4_000_000;

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeBuffer()
    {
        s_buffer = new byte[BufferBytes];
        s_buffer[0] = 1;
    }
}
