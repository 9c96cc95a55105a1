namespace Clrscope;

/// <summary>The one place of a process where sessions meet: EventSources are process-wide, so this is too.</summary>
internal sealed class Core
{
    public static Core Shared { get; } = new();

    readonly object _sync = new();
    readonly Dictionary<string, EventLane> _lanes = [];
    // The end of any EventListener makes the runtime begin its own events anew, which loses some to all listeners of the process:
    // so they are kept for the next session, without a provider.
    readonly Stack<EventLane> _idle = [];
    CounterLane? _counters;

    public void Join(Session session)
    {
        foreach (var arguments in LanesOf(session))
        {
            var lane = Borrow(arguments);
            session.Lanes.Add(lane);
            lane.Join(session);
        }
        if (!session.Request.Counters.Any(c => c.MeansEventCounters)) return;
        session.CounterLane = BorrowCounters();
        session.CounterLane.Join(session);
    }

    public void Leave(Session session)
    {
        foreach (var lane in session.Lanes)
        {
            lane.Leave(session);
            lock (_sync)
            {
                if (--lane.Users > 0) continue;
                _lanes.Remove(lane.Arguments);
            }
            Keep(lane);
        }
        session.CounterLane?.Leave(session);
    }

    // One that another thread is still telling the runtime about is not for others.
    void Keep(EventLane lane)
    {
        if (lane.ActiveProviders().Any())
        {
            lane.Dispose();
            return;
        }
        lock (_sync) _idle.Push(lane);
    }

    public ProviderRequest[] ActiveProviders()
    {
        Lane[] lanes;
        lock (_sync) lanes = _counters is null ? [.. _lanes.Values] : [.. _lanes.Values, _counters];
        return (from lane in lanes
                from one in lane.ActiveProviders()
                orderby one.Name
                select new ProviderRequest(one.Name)
                {
                    Keywords = one.Demand.Keywords,
                    Level = one.Demand.Level,
                    Arguments = (lane as EventLane)?.Arguments ?? CounterLane.ArgumentText(one.Demand),
                }).Distinct().ToArray(); // an EventSource may be there several times
    }

    // The runtime's own provider knows no arguments.
    static string[] LanesOf(Session session) =>
        session.Request.Providers.Select(p => p.Name == ProviderRequest.Runtime ? "" : p.Arguments)
            .Concat(session.Request.Providers.Any(p => p.Names(ProviderRequest.Runtime)) ? [""] : [])
            .Distinct().ToArray();

    // An EventListener is made outside of the lock: that takes the runtime's.
    EventLane Borrow(string arguments)
    {
        EventLane? made = null;
        while (true)
        {
            EventLane? lane;
            lock (_sync)
            {
                if (!_lanes.TryGetValue(arguments, out lane) && (made is not null || _idle.TryPop(out made)))
                {
                    made.Use(arguments);
                    _lanes.Add(arguments, lane = made);
                }
                if (lane is not null) ++lane.Users;
                if (lane is not null && made is not null && lane != made) _idle.Push(made);
            }
            if (lane is not null) return lane;
            made = new EventLane();
        }
    }

    CounterLane BorrowCounters()
    {
        lock (_sync)
            if (_counters is not null) return _counters;
        var made = new CounterLane();
        lock (_sync)
        {
            if (_counters is null) return _counters = made;
        }
        made.Dispose();
        return BorrowCounters();
    }
}
