using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

sealed record Parcel(long Weight, string Label);

/// <summary>Garbage of three types at a steady rate; a round is 64 KiB of byte[], 24 KiB of string and 8 KiB of Parcel.</summary>
static class Alloc
{
    const int RoundBytes = 96 * 1024;
    static object? s_last;

    public static void Run(Stage stage)
    {
        var perSecond = (stage.Options.Number("rate") ?? 100) * 1_000_000 / RoundBytes;
        var rounds = stage.Options.Count("count");
        Kind[] kinds =
        [
            new("System.Byte[]", nameof(MakeBuffers), MakeBuffers, 64),
            new("System.String", nameof(MakeTexts), MakeTexts, 192),
            new(typeof(Parcel).FullName!, nameof(MakeParcels), MakeParcels, 256),
        ];
        foreach (var kind in kinds) kind.Measure();

        long done = 0;
        stage.Ready(new
        {
            bytesPerSecond = (long)(perSecond * RoundBytes),
            types = kinds.Select(k => new { type = k.Type, method = k.Method, objectsPerRound = k.Objects, bytesPerRound = k.Bytes, percent = Math.Round(100.0 * k.Bytes / kinds.Sum(o => o.Bytes), 3) }),
        });
        stage.WaitForGo();
        long allocated = 0;
        stage.Work("allocator", () =>
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            stage.Every(perSecond, () =>
            {
                foreach (var kind in kinds) kind.Make();
                ++done;
            }, rounds);
            allocated = GC.GetAllocatedBytesForCurrentThread() - before;
        });
        stage.FinishWork();
        stage.Done(new
        {
            rounds = done,
            threadAllocatedBytes = allocated,
            types = kinds.Select(k => new { type = k.Type, method = k.Method, objects = done * k.Objects, bytes = done * k.Bytes }),
        });
    }

    sealed record Kind(string Type, string Name, Action Make, int Objects)
    {
        public string Method => $"{typeof(Alloc).FullName}.{Name}";
        public long Bytes { get; private set; }

        public void Measure()
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            Make();
            Bytes = GC.GetAllocatedBytesForCurrentThread() - before;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeBuffers()
    {
        for (var i = 0; i < 64; ++i) s_last = new byte[1000];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeTexts()
    {
        for (var i = 0; i < 192; ++i) s_last = new string('x', 53);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeParcels()
    {
        for (var i = 0; i < 256; ++i) s_last = new Parcel(i, "a");
    }
}
