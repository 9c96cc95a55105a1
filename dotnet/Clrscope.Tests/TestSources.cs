using System.Diagnostics.Tracing;

namespace Clrscope.Tests;

/// <summary>Numbered events of several ids, levels and keywords.</summary>
[EventSource(Name = "Clrscope-Tests-Numbers")]
sealed class NumberSource : EventSource
{
    public NumberSource() { }

    public NumberSource(string name)
        : base(name) { }

    public static class Keywords
    {
        public const EventKeywords Even = (EventKeywords)0x1;
        public const EventKeywords Odd = (EventKeywords)0x2;
    }

    [Event(1, Level = EventLevel.Informational, Keywords = Keywords.Even)]
    public void Even(long number, string text) => WriteEvent(1, number, text);

    [Event(2, Level = EventLevel.Informational, Keywords = Keywords.Odd)]
    public void Odd(long number, string text) => WriteEvent(2, number, text);

    [Event(3, Level = EventLevel.Verbose)]
    public void Third(long number, double half) => WriteEvent(3, number, half);

    [Event(4, Level = EventLevel.Warning)]
    public void Order_Start(int order) => WriteEvent(4, order);

    [Event(5, Level = EventLevel.Informational, Opcode = EventOpcode.Stop)]
    public void OrderStop(int order, bool paid, Guid id) => WriteEvent(5, order, paid, id);

    [Event(2000, Level = EventLevel.Informational)]
    public void Far(int number) => WriteEvent(2000, number);

    /// <summary>The events of one number.</summary>
    public void Emit(long number)
    {
        if (number % 2 == 0) Even(number, "text");
        else Odd(number, "text");
        if (number % 3 == 0) Third(number, number / 2.0);
    }
}

static class Wait
{
    /// <summary>Polls until it is so; the machine may be slow.</summary>
    public static void Until(Func<bool> condition, string what)
    {
        var deadline = Environment.TickCount64 + 60_000;
        while (!condition())
        {
            if (Environment.TickCount64 > deadline) Xunit.Assert.Fail($"waited a minute for: {what}");
            Thread.Sleep(5);
        }
    }
}
