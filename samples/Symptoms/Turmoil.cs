using System.Runtime.CompilerServices;
using System.Runtime.Loader;

namespace Samples.Symptoms;

/// <summary>
/// Rounds of exceptions, allocations, lock contention, short threads and an assembly that is loaded, used and unloaded.
/// Each round has one result, which depends on its number only. With --count every round is a line on stdout.
/// </summary>
static class Turmoil
{
    const int ThreadsPerRound = 3;

    public static void Run(Stage stage)
    {
        var rounds = stage.Options.Count("count");
        long done = 0, unloaded = 0, kept = 0;
        ulong sum = 0;
        stage.Ready(new { threadsPerRound = ThreadsPerRound });
        stage.WaitForGo();
        stage.Work("rounds", () =>
        {
            for (; done < rounds && !stage.Ending; ++done)
            {
                var check = OnThreads((int)done) ^ InGuest((int)done, out var guest);
                if (IsGone(guest)) ++unloaded;
                else ++kept;
                sum = sum * 31 + check;
                if (rounds != long.MaxValue) Stage.Say(new { round = done, check = $"{check:x16}" });
            }
        });
        stage.FinishWork();
        stage.Done(new { rounds = done, unloaded, kept, sum = $"{sum:x16}" });
    }

    static ulong OnThreads(int round)
    {
        var gate = new object();
        ulong sum = 0;
        var threads = Enumerable.Range(0, ThreadsPerRound).Select(i => new Thread(() =>
        {
            for (var step = 0; step < 5; ++step)
            {
                var part = TurmoilGuest.Work(round * 100 + i * 10 + step);
                lock (gate)
                {
                    sum += part;  // the order of the threads does not matter
                    Thread.SpinWait(2000);
                }
            }
        }, 256 * 1024) { IsBackground = true }).ToList();
        foreach (var thread in threads) thread.Start();
        foreach (var thread in threads) thread.Join();
        return sum;
    }

    /// <summary>The same work by a copy of this program in a context that can be unloaded.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static ulong InGuest(int round, out WeakReference guest)
    {
        var context = new AssemblyLoadContext($"guest-{round}", isCollectible: true);
        guest = new WeakReference(context);
        var type = context.LoadFromAssemblyPath(typeof(Turmoil).Assembly.Location).GetType(typeof(TurmoilGuest).FullName!)!;
        var work = type.GetMethod(nameof(TurmoilGuest.Work))!.CreateDelegate<Func<int, ulong>>();
        ulong sum = 0;
        for (var i = 0; i < 10; ++i) sum = sum * 31 + work(round + i);
        context.Unload();
        return sum;
    }

    static bool IsGone(WeakReference guest)
    {
        for (var i = 0; i < 20 && guest.IsAlive; ++i)
        {
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
        return !guest.IsAlive;
    }
}

/// <summary>Throws, filters, catches and allocates; the result depends on the number only.</summary>
static class TurmoilGuest
{
    sealed class GuestException(int number) : Exception($"guest {number}")
    {
        public int Number { get; } = number;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static ulong Work(int number)
    {
        ulong sum = 17;
        for (var i = 0; i < 4; ++i)
        {
            try
            {
                Throw(number + i, 5);
            }
            catch (GuestException e) when (e.Number % 7 != 6)
            {
                sum = sum * 31 + (ulong)e.Message.Length + (ulong)e.Number;
            }
            catch (GuestException)
            {
                sum *= 13;
            }
            var bytes = new byte[50_000 + number % 1000];
            bytes[^1] = (byte)number;
            sum += bytes[^1] + (ulong)bytes.Length;
        }
        return sum;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Throw(int number, int depth)
    {
        try
        {
            if (depth == 0) throw new GuestException(number);
            Throw(number, depth - 1);
        }
        finally
        {
            GC.KeepAlive(new object[depth]);
        }
    }
}
