namespace Samples.Symptoms;

/// <summary>Every second large buffer is dropped, and the next ones are a little larger than the holes. With --healthy all are kept.</summary>
static class LohFragmentation
{
    static byte[]?[] s_buffers = [];

    public static void Run(Stage stage)
    {
        var healthy = stage.Options.Has("healthy");
        s_buffers = new byte[800][];
        for (var i = 0; i < s_buffers.Length; ++i) s_buffers[i] = new byte[200_000];
        if (!healthy)
            for (var i = 0; i < s_buffers.Length; ++i)
                if (i % 4 != 0)
                    s_buffers[i] = null;
        GC.Collect(2, GCCollectionMode.Forced, blocking: true, compacting: false);
        stage.Ready(new { bufferBytes = 200_000, kept = s_buffers.Count(b => b is not null), healthy });
        stage.WaitForEnd();
        GC.KeepAlive(s_buffers);
    }
}
