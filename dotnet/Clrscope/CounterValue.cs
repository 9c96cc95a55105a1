namespace Clrscope;

/// <summary>What a counter's value means.</summary>
public enum CounterKind
{
    /// <summary>Increase in the interval.</summary>
    Rate,

    /// <summary>Current value.</summary>
    Gauge,

    /// <summary>Current value; if it is not observable, the change since the session started.</summary>
    UpDown,

    /// <summary>Mean of the measurements in the interval, with count, minimum and maximum.</summary>
    Mean,

    /// <summary>Median of the measurements in the interval, with quantiles, count and sum.</summary>
    Histogram,
}

/// <summary>One value of a counter, for one interval of the session that requested it.</summary>
public sealed record CounterValue
{
    /// <summary>The end of the interval, UTC.</summary>
    public required DateTime Time { get; init; }

    /// <summary>The EventSource or the meter.</summary>
    public required string Provider { get; init; }

    /// <summary>The counter's or instrument's name.</summary>
    public required string Name { get; init; }

    /// <summary>Display name.</summary>
    public string DisplayName { get; init; } = "";

    /// <summary>The unit, if it has one.</summary>
    public string Unit { get; init; } = "";

    /// <summary>The tags in order of their keys.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Tags { get; init; } = [];

    /// <summary>What <see cref="Value"/> means.</summary>
    public required CounterKind Kind { get; init; }

    /// <summary>Whether it belongs to a meter; otherwise, it is an EventCounter.</summary>
    public bool IsMeter { get; init; }

    /// <summary>The value: see <see cref="Kind"/>.</summary>
    public required double Value { get; init; }

    /// <summary>Total since the program started, if known.</summary>
    public double? Total { get; init; }

    /// <summary>Number of measurements in the interval (mean, histogram).</summary>
    public long Count { get; init; }

    /// <summary>Their sum (histogram).</summary>
    public double? Sum { get; init; }

    /// <summary>Their minimum.</summary>
    public double? Min { get; init; }

    /// <summary>Their maximum.</summary>
    public double? Max { get; init; }

    /// <summary>Share and value (histogram): 0.5, 0.95, 0.99; within 1 % of the true value.</summary>
    public IReadOnlyList<KeyValuePair<double, double>> Quantiles { get; init; } = [];

    /// <summary>Length of the interval.</summary>
    public required TimeSpan Interval { get; init; }

    /// <summary>Tags as <c>route=/a,status=200</c>.</summary>
    public string TagsText => string.Join(',', Tags.Select(t => $"{t.Key}={t.Value}"));
}
