using System.Diagnostics.Tracing;
using BenchmarkDotNet.Attributes;

namespace Clrscope.Bench;

[EventSource(Name = "Clrscope-Bench")]
sealed class BenchSource : EventSource
{
    [Event(1, Level = EventLevel.Informational)]
    public void Order(long number, string customer)
    {
        if (IsEnabled()) WriteEvent(1, number, customer);
    }
}

/// <summary>An EventListener as one writes it: by name, because that is what one knows of an event.</summary>
sealed class NameListener : EventListener
{
    public long Sum;

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
        if (e.EventName != "Order") return;
        Sum += (long)e.Payload![e.PayloadNames!.IndexOf("number")]! + ((string)e.Payload[e.PayloadNames.IndexOf("customer")]!).Length;
    }
}

/// <summary>An EventListener that knows everything beforehand: nothing can be cheaper.</summary>
sealed class IndexListener : EventListener
{
    public long Sum;

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
        if (e.EventId == 1) Sum += (long)e.Payload![0]! + ((string)e.Payload[1]!).Length;
    }
}

/// <summary>One event written, and what listens to it. Every listener reads both fields.</summary>
public class WriteBench
{
    BenchSource _source = null!;
    readonly List<IDisposable> _listeners = [];
    long _number, _sum;

    [GlobalSetup(Target = nameof(Off))]
    public void NoListener() => _source = new BenchSource();

    [GlobalSetup(Target = nameof(Listener))]
    public void OneListener() => Listen(new IndexListener());

    [GlobalSetup(Target = nameof(ListenerByName))]
    public void OneListenerByName() => Listen(new NameListener());

    [GlobalSetup(Target = nameof(FourListenersByName))]
    public void FourNameListeners() => Listen(new NameListener(), new NameListener(), new NameListener(), new NameListener());

    [GlobalSetup(Target = nameof(Session))]
    public void OneSession() => Listen(1, "");

    [GlobalSetup(Target = nameof(FourSessions))]
    public void FourSessionsOfOneListener() => Listen(4, "");

    [GlobalSetup(Target = nameof(SessionWhere))]
    public void SessionWithAFilter() => Listen(1, "name=Order number>=0 customer=cust*");

    [GlobalSetup(Target = nameof(SessionUnwanted))]
    public void SessionOfAnotherEvent() => Listen(1, "name=Other");

    [GlobalSetup(Target = nameof(SessionFiltered))]
    public void SessionThatWantsNoneOfThem() => Listen(1, "number<0");

    [GlobalSetup(Target = nameof(SessionQueued))]
    public void SessionWithAQueue() => Listen(1, "", new SessionOptions { QueueCapacity = 1 << 16 });

    [GlobalCleanup]
    public void End()
    {
        foreach (var listener in _listeners) listener.Dispose();
        _listeners.Clear();
        _source.Dispose();
    }

    [Benchmark]
    public void Off() => Write();

    [Benchmark]
    public void Listener() => Write();

    [Benchmark]
    public void ListenerByName() => Write();

    [Benchmark]
    public void Session() => Write();

    [Benchmark]
    public void SessionWhere() => Write();

    [Benchmark]
    public void SessionUnwanted() => Write();

    [Benchmark]
    public void SessionFiltered() => Write();

    [Benchmark]
    public void SessionQueued() => Write();

    [Benchmark]
    public void FourListenersByName() => Write();

    [Benchmark]
    public void FourSessions() => Write();

    void Write() => _source.Order(_number++, "customer");

    void Listen(params EventListener[] listeners)
    {
        _source = new BenchSource();
        foreach (var listener in listeners)
        {
            listener.EnableEvents(_source, EventLevel.Informational, EventKeywords.All);
            _listeners.Add(listener);
        }
    }

    void Listen(int sessions, string where, SessionOptions? options = null)
    {
        _source = new BenchSource();
        for (var i = 0; i < sessions; ++i)
            _listeners.Add(Clrscope.Session.Start(new SessionRequest { Providers = { "Clrscope-Bench" }, Filter = EventFilter.Parse(where) },
                (in ClrEvent e) => _sum += e["number"].AsInt64() + e["customer"].AsString().Length, options: options));
    }
}
