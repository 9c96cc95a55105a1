using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>Methods that are called once and loop: their frames are replaced on the stack by those of optimized code.</summary>
static class Osr
{
    [InlineArray(600)]
    struct Table
    {
        ulong _first;
    }

    public static void Run(Stage stage)
    {
        var small = stage.Work("small-frame", () => CallSmall(stage));
        var large = stage.Work("large-frame", () => CallLarge(stage));
        stage.Sleep(500);  // until both are replaced
        stage.Ready(new
        {
            loops = new[]
            {
                new { thread = small.Identity, method = Name(nameof(LoopSmall)), caller = Name(nameof(CallSmall)) },
                new { thread = large.Identity, method = Name(nameof(LoopLarge)), caller = Name(nameof(CallLarge)) },
            },
            leaf = Name(nameof(Turn)),
        });
        stage.FinishWork();
    }

    static string Name(string method) => $"{typeof(Osr).FullName}.{method}";

    // Something follows each call, so that it is no tail call.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallSmall(Stage stage)
    {
        var value = LoopSmall(stage, 12345);
        GC.KeepAlive(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void CallLarge(Stage stage)
    {
        var value = LoopLarge(stage, 12345);
        GC.KeepAlive(value);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong LoopSmall(Stage stage, ulong value)
    {
        while (!stage.Ending)
        {
            for (var i = 0; i < 2000; ++i) value = (value ^ (value >> 13)) * 0x9E3779B1;
            value = Turn(value);
        }
        return value;
    }

    // A table in the frame and a handler: the replaced frame is larger than a page.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong LoopLarge(Stage stage, ulong value)
    {
        var table = new Table();
        while (!stage.Ending)
        {
            try
            {
                for (var i = 0; i < 2000; ++i) value = (value ^ table[i % 600]) * 0x85EBCA77;
                table[(int)(value % 600)] = Turn(value);
            }
            catch (DivideByZeroException)
            {
                value = 1;
            }
        }
        return value + table[7];
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong Turn(ulong value)
    {
        for (var i = 0; i < 2000; ++i) value = (value ^ (value >> 11)) * 0xC2B2AE3D;
        return value;
    }
}
