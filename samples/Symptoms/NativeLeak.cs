using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>Native memory that is allocated, written to and never freed; --rate in MB/s. With --healthy each block is freed again.</summary>
static unsafe class NativeLeak
{
    const int BlockBytes = 256 * 1024;
    static long s_blocks;

    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 8;
        var healthy = stage.Options.Has("healthy");
        stage.Ready(new { method = $"{typeof(NativeLeak).FullName}.{nameof(Decode)}", bytesPerSecond = rate * 1_000_000, healthy });
        stage.Work("decoder", () => stage.Every(rate * 1_000_000 / BlockBytes, () => Decode(healthy)));
        stage.FinishWork();
        stage.Done(new { blocks = s_blocks });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Decode(bool free)
    {
        var block = (byte*)NativeMemory.Alloc(BlockBytes);
        for (var i = 0; i < BlockBytes; i += 4096) block[i] = 1;
        ++s_blocks;
        if (free) NativeMemory.Free(block);
    }
}
