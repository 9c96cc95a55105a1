using System.Collections.Concurrent;
using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>A session's share in a provider: any of its requests may bring an event.</summary>
internal sealed record Subscription(Session Session, ProviderRequest[] Requests);

/// <summary>
/// Who gets which event of one provider, worked out once for each kind of event. Immutable but for what is filled in on first
/// use: when somebody comes or goes, a new one takes its place.
/// </summary>
internal sealed class EventRoutes(Subscription[] subscriptions, EventTypes types)
{
    readonly record struct Target(Session Session, EventTest[] Tests);

    sealed record Route(EventType Type, Target[] Targets);

    const int Direct = 1024; // ids that are looked up by index

    readonly ConcurrentDictionary<int, Route> _far = [];
    readonly ConcurrentDictionary<string, Route[]> _selfDescribing = [];
    Route?[] _near = new Route?[64];

    public void Dispatch(EventWrittenEventArgs e, bool fromRuntime)
    {
        var near = Volatile.Read(ref _near);
        var id = e.EventId;
        var route = (uint)id < (uint)near.Length && near[id] is { } known ? known : Find(e);
        if (route.Targets.Length == 0) return;
        var thread = ThreadState.Current;
        var lent = new ClrEvent(route.Type, e, fromRuntime ? e.OSThreadId : thread.IdFrom(e));
        foreach (ref readonly var target in route.Targets.AsSpan())
            if (Passes(target.Tests, lent)) target.Session.Deliver(lent, thread);
    }

    static bool Passes(EventTest[] tests, in ClrEvent e)
    {
        foreach (ref readonly var test in tests.AsSpan())
            if (!test.Passes(e)) return false;
        return true;
    }

    Route Find(EventWrittenEventArgs e)
    {
        if (e.EventId <= 0) return FindByName(e);
        if (e.EventId >= Direct) return _far.TryGetValue(e.EventId, out var far) ? far : _far.GetOrAdd(e.EventId, Make(types.Of(e)));
        lock (_far)
        {
            var near = _near;
            if (e.EventId >= near.Length) Array.Resize(ref near, Math.Min(Direct, Math.Max(near.Length * 2, e.EventId + 1)));
            var route = near[e.EventId] ??= Make(types.Of(e));
            Volatile.Write(ref _near, near);
            return route;
        }
    }

    Route FindByName(EventWrittenEventArgs e)
    {
        var name = e.EventName ?? "";
        if (_selfDescribing.TryGetValue(name, out var routes))
            foreach (var route in routes)
                if (route.Type.IsTypeOf(e)) return route;
        var made = Make(types.Of(e));
        if (_selfDescribing.Count >= EventTypes.MostNames) return made; // names without end: worked out each time, not kept
        _selfDescribing.AddOrUpdate(name, _ => [made], (_, others) => [.. others, made]);
        return made;
    }

    Route Make(EventType type)
    {
        var targets = new List<Target>();
        foreach (var (session, requests) in subscriptions)
        {
            if (!requests.Any(request => Brings(request, type))) continue;
            if (session.Request.Filter.For(type) is { } tests) targets.Add(new Target(session, tests));
        }
        return new Route(type, targets.ToArray());
    }

    // Counters come to every listener of their EventSource, even if it did not ask for any.
    static bool Brings(ProviderRequest request, EventType type) =>
        request.Brings(type) && (type.Id != 0 || type.Name != "EventCounters" || request.Arguments.Contains("EventCounterIntervalSec"));
}

/// <summary>The event types of one provider: they outlive the routes.</summary>
internal sealed class EventTypes
{
    public const int MostNames = 4096;

    readonly Dictionary<int, EventType> _byId = [];
    readonly Dictionary<string, List<EventType>> _selfDescribing = [];

    public EventType Of(EventWrittenEventArgs e)
    {
        lock (_byId)
        {
            if (e.EventId > 0) return _byId.TryGetValue(e.EventId, out var known) ? known : _byId[e.EventId] = new EventType(e);
            var name = e.EventName ?? "";
            if (!_selfDescribing.TryGetValue(name, out var likes))
            {
                likes = [];
                if (_selfDescribing.Count < MostNames) _selfDescribing[name] = likes;
            }
            if (likes.Find(type => type.IsTypeOf(e)) is { } like) return like;
            var made = new EventType(e);
            likes.Add(made);
            return made;
        }
    }
}
