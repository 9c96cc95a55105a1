using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;

namespace Samples.Symptoms;

sealed class OrderRejectedException(string message) : Exception(message);

/// <summary>Thrown and caught, three OrderRejectedException to one FormatException (which carries an inner exception).</summary>
static class Exceptions
{
    public static void Run(Stage stage)
    {
        var rate = stage.Options.Number("rate") ?? 200;
        var count = stage.Options.Count("count");
        long done = 0, firstChance = 0;

        stage.Ready(new
        {
            perSecond = rate,
            types = new[]
            {
                new { type = typeof(OrderRejectedException).FullName, method = Name(nameof(RejectOrder)), caughtIn = Name(nameof(HandleOrder)), message = "order rejected: no stock", percent = 75 },
                new { type = typeof(FormatException).FullName, method = Name(nameof(ParseOrder)), caughtIn = Name(nameof(HandleOrder)), message = "order is not a number", percent = 25 },
            },
        });
        stage.WaitForGo();
        AppDomain.CurrentDomain.FirstChanceException += OnFirstChance;
        stage.Work("orders", () => stage.Every(rate, () => HandleOrder(done++), count));
        stage.FinishWork();
        AppDomain.CurrentDomain.FirstChanceException -= OnFirstChance;
        var formats = (done + 3) / 4;
        stage.Done(new
        {
            thrown = done,
            firstChance,
            types = new[]
            {
                new { type = typeof(OrderRejectedException).FullName, count = done - formats },
                new { type = typeof(FormatException).FullName, count = formats },
            },
        });

        void OnFirstChance(object? sender, FirstChanceExceptionEventArgs e) => Interlocked.Increment(ref firstChance);
    }

    static string Name(string method) => $"{typeof(Exceptions).FullName}.{method}";

    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static void HandleOrder(long number)
    {
        try
        {
            if (number % 4 == 0) ParseOrder();
            else RejectOrder();
        }
        catch (Exception e) when (e is OrderRejectedException or FormatException)
        {
            // an exception storm is made of exceptions that nobody sees
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void RejectOrder() => throw new OrderRejectedException("order rejected: no stock");

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void ParseOrder() => throw new FormatException("order is not a number", new InvalidOperationException("never thrown itself"));
}
