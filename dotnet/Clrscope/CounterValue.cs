namespace Clrscope;

/// <summary>What a counter's value means.</summary>
public enum CounterKind
{
    /// <summary>How much it grew in the interval.</summary>
    Rate,

    /// <summary>As it is now.</summary>
    Gauge,

    /// <summary>As it is now; told as changes since the session began where it is no observable one.</summary>
    UpDown,

    /// <summary>The mean of what was recorded in the interval, with count, least and most.</summary>
    Mean,

    /// <summary>The median of what was recorded in the interval, with quantiles, count and sum.</summary>
    Histogram,
}

/// <summary>One value of a counter, for one interval of the session that asked for it.</summary>
public sealed record CounterValue
{
    /// <summary>The end of the interval, UTC.</summary>
    public required DateTime Time { get; init; }

    /// <summary>The EventSource or the meter.</summary>
    public required string Provider { get; init; }

    /// <summary>The counter's or instrument's name.</summary>
    public required string Name { get; init; }

    /// <summary>What people call it.</summary>
    public string DisplayName { get; init; } = "";

    /// <summary>The unit, if it has one.</summary>
    public string Unit { get; init; } = "";

    /// <summary>The tags in order of their keys.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Tags { get; init; } = [];

    /// <summary>What <see cref="Value"/> means.</summary>
    public required CounterKind Kind { get; init; }

    /// <summary>Whether it is of a meter, not an EventCounter.</summary>
    public bool IsMeter { get; init; }

    /// <summary>The value: see <see cref="Kind"/>.</summary>
    public required double Value { get; init; }

    /// <summary>Since the program began, where that is known.</summary>
    public double? Total { get; init; }

    /// <summary>How many were recorded in the interval (mean, histogram).</summary>
    public long Count { get; init; }

    /// <summary>Their sum (histogram).</summary>
    public double? Sum { get; init; }

    /// <summary>The least of them.</summary>
    public double? Min { get; init; }

    /// <summary>The most of them.</summary>
    public double? Max { get; init; }

    /// <summary>Share and value (histogram): 0.5, 0.95, 0.99; within 1 % of the true value.</summary>
    public IReadOnlyList<KeyValuePair<double, double>> Quantiles { get; init; } = [];

    /// <summary>How long a time it is about.</summary>
    public required TimeSpan Interval { get; init; }

    /// <summary>Tags as <c>route=/a,status=200</c>.</summary>
    public string TagsText => string.Join(',', Tags.Select(t => $"{t.Key}={t.Value}"));
}
