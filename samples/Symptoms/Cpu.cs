using System.Runtime.CompilerServices;

namespace Samples.Symptoms;

/// <summary>60/30/10 percent of the CPU time in three methods with loops; calls of half a millisecond to one and a half, in no rhythm.</summary>
static class Cpu
{
    const int Turns = 300_000;

    public static void Run(Stage stage) => CpuSplit.Run(stage, typeof(Cpu), ["BurnSixty", "BurnThirty", "BurnTen"], Drive);

    static uint Drive(int which, uint value) => which switch
    {
        0 => BurnSixty(value),
        1 => BurnThirty(value),
        _ => BurnTen(value),
    };

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint BurnSixty(uint value)
    {
        for (var i = Odd(value); i < Turns; ++i) value = (value ^ (value >> 13)) * 0x9E3779B1;
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint BurnThirty(uint value)
    {
        for (var i = Odd(value); i < Turns; ++i) value = (value ^ (value >> 11)) * 0x85EBCA77;
        return value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static uint BurnTen(uint value)
    {
        for (var i = Odd(value); i < Turns; ++i) value = (value ^ (value >> 15)) * 0xC2B2AE3D;
        return value;
    }

    // Work in the rhythm of a sampler's clock would be sampled wrongly, whoever samples.
    static int Odd(uint value) => (int)(value % Turns) - Turns / 2;
}
