using System.Diagnostics.Metrics;
using BenchmarkDotNet.Attributes;

namespace Clrscope.Bench;

/// <summary>One measurement of an instrument with two tags.</summary>
public class MeterBench
{
    static readonly object s_route = "/orders", s_status = 200;

    readonly Meter _meter = new("Clrscope.Bench");
    Counter<long> _counter = null!;
    Histogram<double> _histogram = null!;
    IDisposable? _listener;
    double _sum;

    [GlobalSetup(Targets = [nameof(MeterOff)])]
    public void Nobody() => Make();

    [GlobalSetup(Targets = [nameof(MeterListenerAlone)])]
    public void Plain()
    {
        Make();
        var listener = new MeterListener { InstrumentPublished = (instrument, to) => to.EnableMeasurementEvents(instrument) };
        listener.SetMeasurementEventCallback<long>((_, value, _, _) => _sum += value);
        listener.Start();
        _listener = listener;
    }

    [GlobalSetup(Targets = [nameof(MeterSession), nameof(HistogramSession)])]
    public void Ours()
    {
        Make();
        _listener = Clrscope.Session.Start(new SessionRequest { Counters = { @"Meter\Clrscope.Bench" } }, onCounter: value => _sum += value.Value);
    }

    [GlobalCleanup]
    public void End() => _listener?.Dispose();

    [Benchmark]
    public void MeterOff() => Add();

    [Benchmark]
    public void MeterListenerAlone() => Add();

    [Benchmark]
    public void MeterSession() => Add();

    [Benchmark]
    public void HistogramSession() => _histogram.Record(12.5, new("route", s_route), new("status", s_status));

    void Add() => _counter.Add(1, new("route", s_route), new("status", s_status));

    void Make()
    {
        _counter = _meter.CreateCounter<long>("orders");
        _histogram = _meter.CreateHistogram<double>("latency");
    }
}
