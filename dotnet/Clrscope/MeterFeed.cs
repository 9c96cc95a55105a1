using System.Diagnostics.Metrics;

namespace Clrscope;

/// <summary>
/// The instruments that one session asked for. The runtime keeps who listens to each instrument and calls nobody else, so every
/// session has a MeterListener of its own: another's interval, tags or limits cannot touch it. Recording takes a lock and
/// allocates nothing for tags seen before.
/// </summary>
internal sealed class MeterFeed : IDisposable
{
    readonly Session _session;
    readonly int _maxSeries;
    readonly MeterListener _listener = new();
    readonly List<InstrumentSeries> _instruments = [];
    readonly ManualResetEventSlim _stop = new();
    readonly Thread _collector;
    long _refusedBefore; // by instruments that are gone

    public MeterFeed(Session session, int maxSeries)
    {
        _session = session;
        _maxSeries = maxSeries;
        _listener.InstrumentPublished = OnPublished;
        _listener.MeasurementsCompleted = OnCompleted;
        _listener.SetMeasurementEventCallback<byte>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<short>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<int>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<long>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<float>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<double>(static (_, value, tags, state) => Record(state, value, tags));
        _listener.SetMeasurementEventCallback<decimal>(static (_, value, tags, state) => Record(state, (double)value, tags));
        _listener.Start();
        Observe(); // the increment of an observable counter is known from its second value on
        _collector = new Thread(Collect) { IsBackground = true, Name = "clrscope counters" };
        _collector.Start();
    }

    public long Refused
    {
        get
        {
            lock (_instruments) return _refusedBefore + _instruments.Sum(i => i.Refused);
        }
    }

    public void Dispose()
    {
        _stop.Set();
        _listener.Dispose();
        if (Thread.CurrentThread != _collector) _collector.Join(TimeSpan.FromSeconds(5));
    }

    static void Record(object? state, double value, ReadOnlySpan<KeyValuePair<string, object?>> tags) => ((InstrumentSeries)state!).Record(value, tags);

    void OnPublished(Instrument instrument, MeterListener listener)
    {
        foreach (var request in _session.Request.Counters)
        {
            if (!request.MeansMeter || request.Provider != instrument.Meter.Name || !request.Wants(instrument.Name)) continue;
            if (InstrumentSeries.For(instrument, _maxSeries) is not { } series) return;
            lock (_instruments) _instruments.Add(series);
            listener.EnableMeasurementEvents(instrument, series);
            return;
        }
    }

    void OnCompleted(Instrument instrument, object? state)
    {
        if (state is not InstrumentSeries series) return;
        lock (_instruments)
            if (_instruments.Remove(series)) _refusedBefore += series.Refused;
    }

    void Collect()
    {
        var interval = _session.Request.Interval;
        var last = DateTime.UtcNow;
        var due = Environment.TickCount64 + (long)interval.TotalMilliseconds;
        while (!_stop.Wait((int)Math.Max(0, due - Environment.TickCount64)))
        {
            // One that comes late does not make the next come early.
            due = Math.Max(due + (long)interval.TotalMilliseconds, Environment.TickCount64);
            Observe();
            var now = DateTime.UtcNow;
            InstrumentSeries[] instruments;
            lock (_instruments) instruments = _instruments.ToArray();
            foreach (var instrument in instruments)
                foreach (var value in instrument.Collect(now, now - last)) _session.Deliver(value);
            last = now;
        }
    }

    void Observe()
    {
        try
        {
            _listener.RecordObservableInstruments();
        }
        catch (Exception failure) // an instrument's own: the others have been asked
        {
            _session.Note(failure);
        }
    }
}
