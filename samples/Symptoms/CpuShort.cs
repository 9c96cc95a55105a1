using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>
/// 60/30/10 percent of the CPU time in leaf methods of some 50 ns without loop or call: they hold no safe point,
/// so a sampler that waits for one finds their caller instead. The caller's own part is the call and the loop, a few percent.
/// </summary>
static class CpuShort
{
    const int Calls = 5_000;
    const MethodImplOptions Leaf = MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization;

    public static void Run(Stage stage) => CpuSplit.Run(stage, typeof(CpuShort), ["LeafSixty", "LeafThirty", "LeafTen"], CallLeaves);

    static uint CallLeaves(int which, uint value)
    {
        if (which == 0) for (var i = 0; i < Calls; ++i) value = LeafSixty(value);
        else if (which == 1) for (var i = 0; i < Calls; ++i) value = LeafThirty(value);
        else for (var i = 0; i < Calls; ++i) value = LeafTen(value);
        return value;
    }

    [MethodImpl(Leaf)]
    static uint LeafSixty(uint value) => Mix16(Mix16(value, 0x9E3779B1), 0x9E3779B3);

    [MethodImpl(Leaf)]
    static uint LeafThirty(uint value) => Mix16(Mix16(value, 0x85EBCA77), 0x85EBCA79);

    [MethodImpl(Leaf)]
    static uint LeafTen(uint value) => Mix16(Mix16(value, 0xC2B2AE3D), 0xC2B2AE3F);

    // These two become part of the leaf's straight line.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static uint Mix16(uint value, uint by) => Mix4(Mix4(Mix4(Mix4(value, by), by), by), by);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    static uint Mix4(uint value, uint by)
    {
        value = (value ^ (value >> 13)) * by;
        value = (value ^ (value >> 11)) * by;
        value = (value ^ (value >> 15)) * by;
        return (value ^ (value >> 12)) * by;
    }
}
