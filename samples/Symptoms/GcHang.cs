using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>A thread blocks in native code that promised to return at once, so a collection waits for it forever.</summary>
static class GcHang
{
    const int SigTerm = 15;

    static volatile bool s_blocks, s_collects;

    public static void Run(Stage stage)
    {
        var holdout = Stage.Start("holdout", ReadForever);
        while (!s_blocks || State(holdout) != 'S') stage.Sleep(5);
        var collector = Stage.Start("collector", Collect);
        while (!s_collects) stage.Sleep(5);
        var truth = new { thread = holdout.Identity, method = $"{typeof(GcHang).FullName}.{nameof(ReadForever)}", collector = collector.Identity };
        // No managed code runs from here on, so no handler of ours can end the run.
        signal(SigTerm, 0);
        stage.Ready(truth);
        s_collects = false;
        stage.WaitForEnd();
    }

    static char State(Worker worker) =>
        File.ReadAllText($"/proc/self/task/{worker.OsId}/stat").Split(") ")[1][0];

    [MethodImpl(MethodImplOptions.NoInlining)]
    static unsafe void ReadForever()
    {
        var ends = stackalloc int[2];
        pipe(ends);
        byte nothing;
        Read(ends[0], &nothing, 0);  // resolved and compiled before it counts
        s_blocks = true;
        Read(ends[0], &nothing, 1);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Collect()
    {
        s_collects = true;
        while (s_collects) Thread.Sleep(1);
        GC.Collect();
    }

    [DllImport("libc", EntryPoint = "read"), SuppressGCTransition]
    static extern unsafe nint Read(int fd, byte* to, nuint count);

    [DllImport("libc")]
    static extern unsafe int pipe(int* ends);

    [DllImport("libc")]
    static extern nint signal(int number, nint handler);
}
