using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

/// <summary>Managed → libc's qsort → managed comparison, all the time, on one thread.</summary>
static unsafe class Native
{
    static long s_compared;

    public static void Run(Stage stage)
    {
        long sorts = 0;
        var worker = stage.Work("sorter", () =>
        {
            var numbers = new int[20_000];
            for (var seed = 1u; !stage.Ending; ++seed, ++sorts) SortOnce(numbers, seed);
        });
        while (Volatile.Read(ref sorts) < 20 && stage.Sleep(5)) { }
        stage.Ready(new
        {
            thread = worker.Identity,
            frames = new[] { $"{typeof(Native).FullName}.{nameof(Compare)}", "qsort", $"{typeof(Native).FullName}.{nameof(SortOnce)}" },
        });
        stage.FinishWork();
        stage.Done(new { sorts, compared = s_compared });
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SortOnce(int[] numbers, uint seed)
    {
        for (var i = 0; i < numbers.Length; ++i) numbers[i] = (int)((seed + (uint)i) * 2654435761u);
        fixed (int* first = numbers) qsort(first, (nuint)numbers.Length, sizeof(int), &Compare);
    }

    [UnmanagedCallersOnly]
    static int Compare(int* left, int* right)
    {
        ++s_compared;
        return left->CompareTo(*right);
    }

    [DllImport("libc")]
    static extern void qsort(int* items, nuint count, nuint size, delegate* unmanaged<int*, int*, int> compare);
}
