using System.Diagnostics;
using System.Globalization;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;

namespace Samples.Symptoms;

/// <summary>
/// Methods of every shape, each called a known number of times and timed with a Stopwatch around each call, and one inside;
/// and a self-check of the class library whose result must not depend on who watches.
/// </summary>
static class Probes
{
    public static void Run(Stage stage)
    {
        if (stage.Options.Has("loop"))
        {
            Loop(stage);
            return;
        }
        var calls = stage.Options.Int("calls", 10_000);
        var rounds = stage.Options.Int("rounds", 20);
        var expected = ProbesCheck.Run(2);  // before anybody watches
        stage.Ready(new { calls, rounds, check = expected });
        stage.WaitForGo();
        var truths = new List<Truth>();
        stage.Work("probes", () => Measure(calls, truths));
        stage.FinishWork();
        var check = ProbesCheck.Run(rounds);
        stage.Done(new { check, same = check == expected, methods = truths });
    }

    /// <summary>Says again and again what one call of a very short method costs.</summary>
    static void Loop(Stage stage)
    {
        const int calls = 5_000_000;
        stage.Ready(new { method = Full(nameof(Probed.Short)) });
        stage.Work("loop", () =>
        {
            var sum = 0;
            while (!stage.Ending)
            {
                var begin = Stopwatch.GetTimestamp();
                for (var i = 0; i < calls; ++i) sum += Probed.Short(i);
                Stage.Say(new { nsPerCall = Stopwatch.GetElapsedTime(begin).TotalNanoseconds / calls, sum });
            }
        });
        stage.FinishWork();
    }

    /// <summary>A call takes at least as long as its work inside, and at most as long as the time around it.</summary>
    sealed record Truth(string Method, long Calls, double? ElapsedMs, double? WorkMs = null);

    static void Measure(int calls, List<Truth> truths)
    {
        var shapes = new Probed(3);
        var list = new List<string> { "a", "b" };
        Time(nameof(Probed.Void), () => shapes.Void());
        Time(nameof(Probed.Value), () => shapes.Value(2));
        Time(nameof(Probed.Struct), () => shapes.Struct(1));
        Time(nameof(Probed.ByRef), () => shapes.ByRef() = 4);
        Time(nameof(Probed.Slice), () => shapes.Slice("abcdef"));
        Time(nameof(Probed.Switch), () => shapes.Switch(calls % 7));
        Time(nameof(Probed.Generic) + "Text", () => shapes.GenericText(list));
        Time(nameof(Probed.GenericNumber), () => shapes.GenericNumber(5));
        Time(nameof(Probed.Finally), () => shapes.Finally());
        Time(nameof(Probed.Filtered), () => shapes.Filtered(calls));
        Time(nameof(Probed.Throws), () =>
        {
            try { shapes.Throws(); }
            catch (InvalidOperationException) { }
        }, Math.Min(calls, 500));
        Time(nameof(Probed.Outer), () => shapes.Outer());
        truths.Add(new(Full(nameof(Probed.Inner)), calls, null));
        truths.Add(new(Full(nameof(Probed.Recursive)), 101, null));
        shapes.Recursive(100);
        truths.Add(new(Full(nameof(Probed.Generic)), 2L * calls, null));

        var few = Math.Min(calls, 1000);
        for (var i = 0; i < few; ++i) shapes.TwoYields().GetAwaiter().GetResult();
        truths.Add(new(MoveNextOf<AsyncStateMachineAttribute>(nameof(Probed.TwoYields)), 3L * few, null));
        for (var i = 0; i < few; ++i)
            foreach (var _ in shapes.FourItems()) { }
        truths.Add(new(MoveNextOf<IteratorStateMachineAttribute>(nameof(Probed.FourItems)), 5L * few, null));

        var threads = Enumerable.Range(0, 80).Select(_ => new Thread(() => { for (var i = 0; i < 100; ++i) Probed.OnManyThreads(); })).ToList();
        foreach (var thread in threads) thread.Start();
        foreach (var thread in threads) thread.Join();
        truths.Add(new(Full(nameof(Probed.OnManyThreads)), 8000, null));

        void Time(string method, Action act, int times = 0)
        {
            if (times == 0) times = calls;
            long elapsed = 0;
            Busy.Worked = 0;
            for (var i = 0; i < times; ++i)
            {
                var begin = Stopwatch.GetTimestamp();
                act();
                elapsed += Stopwatch.GetTimestamp() - begin;
            }
            // The throw costs much beside the method that throws.
            var comparable = method != nameof(Probed.Throws);
            truths.Add(comparable ? new(Full(method), times, Ms(elapsed), Ms(Busy.Worked)) : new(Full(method), times, null));
        }
    }

    static double Ms(long ticks) => ticks * 1000.0 / Stopwatch.Frequency;

    static string Full(string method) => $"{typeof(Probed).FullName}.{method}";

    static string MoveNextOf<T>(string method) where T : StateMachineAttribute =>
        typeof(Probed).GetMethod(method)!.GetCustomAttribute<T>()!.StateMachineType.FullName + ".MoveNext";
}

/// <summary>What is measured; nothing else lies in this type.</summary>
sealed class Probed(int start)
{
    int _value = start;
    readonly Money _money = new(1, 2, 3, "EUR");

    internal readonly record struct Money(long A, long B, long C, string Currency);

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Void()
    {
        Busy.Work();
        ++_value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Value(int add)
    {
        Busy.Work();
        if (add > 5) return _value;
        return _value + add;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public Money Struct(long add)
    {
        Busy.Work();
        return _money with { A = _money.A + add };
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public ref int ByRef()
    {
        Busy.Work();
        return ref _value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public ReadOnlySpan<char> Slice(string text)
    {
        Busy.Work();
        return text.AsSpan(_value & 1, 2);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public string Switch(int number)
    {
        Busy.Work();
        switch (number)
        {
            case 0: return "zero";
            case 1: return "one";
            case 2: return "two";
            case 3: return "three";
            case 4: return "four";
            default: return number.ToString(CultureInfo.InvariantCulture);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public T Generic<T>(T value, int times)
    {
        T last = value;
        for (var i = 0; i < times; ++i) last = value;
        return last;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public List<string> GenericText(List<string> value)
    {
        Busy.Work();
        return Generic(value, 3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public long GenericNumber(long value)
    {
        Busy.Work();
        return Generic(value, 3);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Finally()
    {
        try
        {
            Busy.Work();
            return _value;
        }
        finally
        {
            ++_value;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Filtered(int number)
    {
        try
        {
            Busy.Work();
            return checked(number + 1);
        }
        catch (OverflowException e) when (e.HResult != 0)
        {
            return -1;
        }
        catch (ArgumentException)
        {
            return -2;
        }
        finally
        {
            _value = number;
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Throws()
    {
        Busy.Work();
        throw new InvalidOperationException("expected");
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Outer()
    {
        Busy.Work();
        Inner();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public void Inner() => Busy.Work();

    [MethodImpl(MethodImplOptions.NoInlining)]
    public int Recursive(int depth) => depth == 0 ? 0 : Recursive(depth - 1) + 1;

    public async Task<int> TwoYields()
    {
        await Task.Yield();
        ++_value;
        await Task.Yield();
        return _value;
    }

    public IEnumerable<int> FourItems()
    {
        for (var i = 0; i < 4; ++i) yield return i + _value;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Short(int number) => number ^ 5;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void OnManyThreads() => Thread.Yield();
}

static class Busy
{
    static readonly long Ticks = Stopwatch.Frequency / 100_000;  // 10 us

    /// <summary>Ticks of this thread inside Work().</summary>
    [ThreadStatic]
    internal static long Worked;

    public static void Work()
    {
        var begin = Stopwatch.GetTimestamp();
        long now;
        do now = Stopwatch.GetTimestamp();
        while (now - begin < Ticks);
        Worked += now - begin;
    }
}

/// <summary>JSON, LINQ, regular expressions, async streams, formatting: one hash of all results.</summary>
static class ProbesCheck
{
    public static string Run(int rounds)
    {
        var last = "";
        for (var round = 0; round < rounds; ++round)
        {
            var now = Once();
            if (round > 0 && now != last) return $"round {round} differs: {now}";
            last = now;
        }
        return last;
    }

    sealed record Order(int Id, string Customer, decimal Price, DateTime Placed, List<Item> Items, Dictionary<string, double> Tags);
    sealed record Item(string Name, int Count, Guid Key);

    static string Once()
    {
        var text = new StringBuilder();
        var orders = Enumerable.Range(0, 40).Select(i => new Order(i, $"customer {i % 7}", i * 1.25m, DateTime.UnixEpoch.AddHours(i),
            [.. Enumerable.Range(0, i % 5).Select(j => new Item($"item-{j}", j + 1, new Guid(i, (short)j, 0, new byte[8])))],
            new Dictionary<string, double> { ["weight"] = i / 3.0, ["size"] = Math.Sqrt(i) })).ToList();
        var json = JsonSerializer.Serialize(orders);
        var back = JsonSerializer.Deserialize<List<Order>>(json)!;
        text.AppendLine(JsonSerializer.Serialize(back) == json ? "json" : "json differs").AppendLine(json);
        using (var document = JsonDocument.Parse(json))
            text.AppendLine(document.RootElement.EnumerateArray().Sum(o => o.GetProperty("Items").GetArrayLength()).ToString(CultureInfo.InvariantCulture));
        foreach (var group in back.GroupBy(o => o.Customer).OrderByDescending(g => g.Sum(o => o.Price)).ThenBy(g => g.Key))
            text.Append(group.Key).Append('=').AppendLine(group.SelectMany(o => o.Items).Distinct().Aggregate(0L, (sum, item) => sum * 31 + item.Count).ToString(CultureInfo.InvariantCulture));
        foreach (Match match in Regex.Matches(json, @"""Name"":""(?<name>item-\d)""", RegexOptions.Compiled)) text.Append(match.Groups["name"].Value);
        text.AppendLine(Regex.Replace("The quick  brown   fox", @"\s+(\w)", m => "_" + m.Groups[1].Value.ToUpperInvariant()));
        text.AppendLine(AsyncSum().GetAwaiter().GetResult().ToString(CultureInfo.InvariantCulture));
        foreach (var bad in new[] { "12", "x", "-7", "99999999999" })
        {
            try { text.Append(int.Parse(bad, CultureInfo.InvariantCulture)); }
            catch (FormatException) { text.Append("format"); }
            catch (OverflowException) { text.Append("overflow"); }
            finally { text.Append(';'); }
        }
        var sorted = new SortedDictionary<string, int>(StringComparer.Ordinal);
        foreach (var word in json.Split('"', ',', ':')) sorted[word] = sorted.GetValueOrDefault(word) + 1;
        text.AppendJoin(',', sorted.Select(p => $"{p.Key}:{p.Value:D3}"));
        return Convert.ToHexString(SHA256.HashData(Encoding.UTF8.GetBytes(text.ToString())))[..16];
    }

    static async Task<long> AsyncSum()
    {
        long sum = 0;
        await foreach (var number in Numbers()) sum += number;
        var parts = await Task.WhenAll(Enumerable.Range(0, 8).Select(async i =>
        {
            await Task.Yield();
            return (long)i * i;
        }));
        return sum + parts.Sum();
    }

    static async IAsyncEnumerable<int> Numbers()
    {
        for (var i = 0; i < 50; ++i)
        {
            if (i % 10 == 0) await Task.Yield();
            yield return i;
        }
    }
}
