using System.Diagnostics;
using System.Runtime.CompilerServices;

namespace Clrscope.Bench;

/// <summary>One busy thread that throws and catches, so many frames deep, and tells about twenty times a second how often it did.</summary>
internal static class Throwing
{
    public static int Run(int frames)
    {
        Deeper(frames);
        return 0;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static int Deeper(int frames) => frames == 0 ? Throw() : Deeper(frames - 1) + 1;

    private static int Throw()
    {
        var told = Stopwatch.GetTimestamp();
        for (long done = 1; ; done++)
        {
            try
            {
                Fail();
            }
            catch (InvalidOperationException)
            {
            }
            if (Stopwatch.GetElapsedTime(told).TotalMilliseconds < 50)
            {
                continue;
            }
            told = Stopwatch.GetTimestamp();
            Console.WriteLine(done);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static void Fail() => throw new InvalidOperationException("no such order");
}
