using System.Diagnostics.Metrics;

namespace Clrscope;

/// <summary>What was recorded by one instrument, for each combination of tags.</summary>
internal sealed class InstrumentSeries
{
    enum Shape
    {
        Sum, // Counter
        Changes, // UpDownCounter
        Total, // ObservableCounter
        Last, // gauges, ObservableUpDownCounter
        Distribution, // Histogram
    }

    sealed class Series(int hash, KeyValuePair<string, object?>[] tags)
    {
        public readonly int Hash = hash;
        public readonly KeyValuePair<string, object?>[] Tags = tags;
        public readonly KeyValuePair<string, string>[] Texts = Text(tags);
        public Series? Next;
        public double Value, Before;
        public bool Recorded;
        public int Observed; // how often, up to 2: what it grew is known from the second time on
        public Distribution? Distribution;

        static KeyValuePair<string, string>[] Text(KeyValuePair<string, object?>[] tags) =>
            tags.Select(t => KeyValuePair.Create(t.Key, Convert.ToString(t.Value, System.Globalization.CultureInfo.InvariantCulture) ?? ""))
                .OrderBy(t => t.Key, StringComparer.Ordinal).ToArray();
    }

    readonly Instrument _instrument;
    readonly Shape _shape;
    readonly CounterKind _kind;
    readonly int _maxSeries;
    Series?[] _buckets = new Series?[16];
    Series? _last;
    int _count;
    long _refused;

    InstrumentSeries(Instrument instrument, Shape shape, CounterKind kind, int maxSeries)
    {
        _instrument = instrument;
        _shape = shape;
        _kind = kind;
        _maxSeries = maxSeries;
    }

    public long Refused => Volatile.Read(ref _refused);

    /// <summary>Null for a kind of instrument that is not known here.</summary>
    public static InstrumentSeries? For(Instrument instrument, int maxSeries)
    {
        // By name: Gauge is younger than .NET 8, and an app may derive its own.
        for (var type = instrument.GetType(); type is not null; type = type.BaseType)
        {
            (Shape, CounterKind)? known = type.Name switch
            {
                "Counter`1" => (Shape.Sum, CounterKind.Rate),
                // .NET 9 and 10 declare these as counters. They go down too: the conventions have them right.
                "ObservableCounter`1" when instrument is
                { Meter.Name: "System.Runtime", Name: "dotnet.thread_pool.thread.count" or "dotnet.thread_pool.queue.length" } => (Shape.Last, CounterKind.UpDown),
                "ObservableCounter`1" => (Shape.Total, CounterKind.Rate),
                "UpDownCounter`1" => (Shape.Changes, CounterKind.UpDown),
                "ObservableUpDownCounter`1" => (Shape.Last, CounterKind.UpDown),
                "Gauge`1" or "ObservableGauge`1" => (Shape.Last, CounterKind.Gauge),
                "Histogram`1" => (Shape.Distribution, CounterKind.Histogram),
                _ => null,
            };
            if (known is var (shape, kind)) return new InstrumentSeries(instrument, shape, kind, maxSeries);
        }
        return null;
    }

    public void Record(double value, ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        lock (this)
        {
            if (FindOrAdd(tags) is not { } series)
            {
                ++_refused;
                return;
            }
            series.Recorded = true;
            switch (_shape)
            {
                case Shape.Sum or Shape.Changes:
                    series.Value += value;
                    break;
                case Shape.Distribution:
                    (series.Distribution ??= new Distribution()).Add(value);
                    break;
                default:
                    series.Value = value;
                    if (series.Observed < 2 && series.Observed++ == 0) series.Before = value;
                    break;
            }
        }
    }

    /// <summary>The values of the interval that ends now; begins the next.</summary>
    public List<CounterValue> Collect(DateTime now, TimeSpan interval)
    {
        var values = new List<CounterValue>();
        lock (this)
        {
            foreach (var bucket in _buckets)
                for (var series = bucket; series is not null; series = series.Next)
                    if (Collect(series, now, interval) is { } value) values.Add(value);
        }
        return values;
    }

    CounterValue? Collect(Series series, DateTime now, TimeSpan interval)
    {
        var recorded = series.Recorded;
        series.Recorded = false;
        var value = series.Value;
        if (_shape == Shape.Distribution)
        {
            if (!recorded || series.Distribution is not { } distribution) return null;
            var quantiles = distribution.Quantiles(0.5, 0.95, 0.99);
            var told = Make(quantiles[0].Value) with { Count = distribution.Count, Sum = distribution.Sum, Min = distribution.Min, Max = distribution.Max, Quantiles = quantiles };
            distribution.Clear();
            return told;
        }
        switch (_shape)
        {
            case Shape.Sum:
                series.Value = 0;
                return Make(value);
            case Shape.Total:
                if (!recorded || series.Observed < 2) return null; // told no more, or for the first time
                var grown = value - series.Before;
                series.Before = value;
                return Make(grown) with { Total = value };
            case Shape.Last:
                return recorded || _instrument is { IsObservable: false } ? Make(value) : null;
            default:
                return Make(value);
        }

        CounterValue Make(double value) => new()
        {
            Time = now,
            Provider = _instrument.Meter.Name,
            Name = _instrument.Name,
            DisplayName = _instrument.Name,
            Unit = _instrument.Unit ?? "",
            Tags = series.Texts,
            Kind = _kind,
            IsMeter = true,
            Value = value,
            Interval = interval,
        };
    }

    Series? FindOrAdd(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        if (_last is { } last && Identical(last.Tags, tags)) return last;
        return _last = FindOrAddByHash(tags);
    }

    Series? FindOrAddByHash(ReadOnlySpan<KeyValuePair<string, object?>> tags)
    {
        var hash = 0; // the same whatever the order
        foreach (ref readonly var tag in tags) hash += HashCode.Combine(tag.Key, tag.Value);
        for (var series = _buckets[hash & (_buckets.Length - 1)]; series is not null; series = series.Next)
            if (series.Hash == hash && Same(series.Tags, tags)) return series;
        if (_count == _maxSeries) return null;
        if (++_count > _buckets.Length) Grow();
        ref var bucket = ref _buckets[hash & (_buckets.Length - 1)];
        return bucket = new Series(hash, tags.ToArray()) { Next = bucket };
    }

    void Grow()
    {
        var old = _buckets;
        _buckets = new Series?[old.Length * 4];
        foreach (var bucket in old)
        {
            for (Series? series = bucket, next; series is not null; series = next)
            {
                next = series.Next;
                ref var place = ref _buckets[series.Hash & (_buckets.Length - 1)];
                series.Next = place;
                place = series;
            }
        }
    }

    // The very objects of the last time: usual for constants.
    static bool Identical(KeyValuePair<string, object?>[] a, ReadOnlySpan<KeyValuePair<string, object?>> b)
    {
        if (a.Length != b.Length) return false;
        for (var i = 0; i < a.Length; ++i)
            if (!ReferenceEquals(a[i].Key, b[i].Key) || !ReferenceEquals(a[i].Value, b[i].Value)) return false;
        return true;
    }

    static bool Same(KeyValuePair<string, object?>[] a, ReadOnlySpan<KeyValuePair<string, object?>> b)
    {
        if (a.Length != b.Length) return false;
        for (var i = 0; i < a.Length; ++i)
            if (!Contains(b, i, a[i])) return false;
        return true;
    }

    static bool Contains(ReadOnlySpan<KeyValuePair<string, object?>> tags, int likely, in KeyValuePair<string, object?> tag)
    {
        if (tags[likely].Key == tag.Key && Equals(tags[likely].Value, tag.Value)) return true;
        foreach (ref readonly var other in tags)
            if (other.Key == tag.Key && Equals(other.Value, tag.Value)) return true;
        return false;
    }
}

/// <summary>Counts of values in buckets whose width is 1/64 of a power of two: quantiles are within 1 %.</summary>
internal sealed class Distribution
{
    const int Shift = 46; // leaves sign, exponent and six bits

    readonly Dictionary<int, long> _buckets = [];

    public long Count { get; private set; }
    public double Sum { get; private set; }
    public double Min { get; private set; }
    public double Max { get; private set; }

    public void Add(double value)
    {
        if (!double.IsFinite(value)) return;
        Min = Count == 0 ? value : Math.Min(Min, value);
        Max = Count == 0 ? value : Math.Max(Max, value);
        ++Count;
        Sum += value;
        ref var bucket = ref System.Runtime.InteropServices.CollectionsMarshal.GetValueRefOrAddDefault(_buckets, Index(value), out _);
        ++bucket;
    }

    public void Clear()
    {
        _buckets.Clear();
        (Count, Sum, Min, Max) = (0, 0, 0, 0);
    }

    public KeyValuePair<double, double>[] Quantiles(params double[] shares)
    {
        var sorted = _buckets.OrderBy(b => Middle(b.Key)).ToArray();
        return Array.ConvertAll(shares, share =>
        {
            var rank = Math.Max(1, (long)Math.Ceiling(share * Count));
            foreach (var (index, count) in sorted)
                if ((rank -= count) <= 0) return KeyValuePair.Create(share, Math.Clamp(Middle(index), Min, Max));
            return KeyValuePair.Create(share, Max);
        });
    }

    static int Index(double value) => (int)(BitConverter.DoubleToInt64Bits(value) >> Shift);

    static double Middle(int index)
    {
        var low = BitConverter.Int64BitsToDouble((long)index << Shift);
        return low == 0 ? 0 : BitConverter.Int64BitsToDouble(((long)index << Shift) | (1L << (Shift - 1)));
    }
}
