using System.Diagnostics;

namespace Clrscope.Bench;

/// <summary>One busy thread that does the same work over and over, twenty frames deep, and tells about twenty times a second how often it did.</summary>
internal static class FixedWork
{
    public static int Run()
    {
        var numbers = new int[2048];
        var told = Stopwatch.GetTimestamp();
        for (long done = 1; ; done++)
        {
            Deeper(20, numbers, (uint)done);
            if (Stopwatch.GetElapsedTime(told).TotalMilliseconds < 50)
            {
                continue;
            }
            told = Stopwatch.GetTimestamp();
            Console.WriteLine(done);
        }
    }

    private static int Deeper(int frames, int[] numbers, uint seed) => frames == 0 ? Sort(numbers, seed) : Deeper(frames - 1, numbers, seed) + 1;

    private static int Sort(int[] numbers, uint seed)
    {
        for (var i = 0; i < numbers.Length; i++)
        {
            seed = (seed * 1664525) + 1013904223;
            numbers[i] = (int)(seed >> 8);
        }
        Array.Sort(numbers, static (a, b) => a.CompareTo(b));
        return numbers[0];
    }
}
