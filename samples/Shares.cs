namespace Samples;

/// <summary>
/// Shares out CPU time: says which method is to run next so that the measured time follows the wanted percentages,
/// whatever the speed of each method and of the machine. One thread owns it.
/// </summary>
sealed class Shares(params int[] percents)
{
    readonly long[] _spent = new long[percents.Length];
    long _total;

    public int Next()
    {
        var next = 0;
        for (var i = 1; i < percents.Length; ++i)
            if (Deficit(i) > Deficit(next)) next = i;
        return next;
    }

    public void Charge(int which, long nanoseconds)
    {
        _spent[which] += nanoseconds;
        _total += nanoseconds;
    }

    public long Spent(int which) => _spent[which];

    long Deficit(int which) => percents[which] * _total - 100 * _spent[which];
}

/// <summary>Keeps a rate: says how many are due since the last call.</summary>
sealed class Pace(double perSecond)
{
    readonly long _start = System.Diagnostics.Stopwatch.GetTimestamp();
    long _given;

    public long Due()
    {
        var all = (long)(System.Diagnostics.Stopwatch.GetElapsedTime(_start).TotalSeconds * perSecond);
        var due = all - _given;
        _given = all;
        return due;
    }
}
