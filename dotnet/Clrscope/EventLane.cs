using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>
/// The events of all sessions that ask with the same arguments. Arguments change what a provider sends, so those who give
/// others have a lane of their own; almost everybody gives none.
/// </summary>
internal sealed class EventLane : Lane
{
    // For a provider whose keywords nobody wants: 0 would mean all of them to an EventSource.
    const ulong NoKeyword = 1UL << 62;

    static readonly TimeSpan s_patience = TimeSpan.FromMilliseconds(100), s_fresh = TimeSpan.FromMicroseconds(50), s_unknown = TimeSpan.FromDays(10_000);

    Member[] _members = [];
    Request? _request;
    TimeSpan _leastAge = s_unknown;
    Dictionary<string, string?>? _arguments;
    Thread? _handsOut; // the runtime's own events; by that thread only
    int _expectsAnother;

    sealed record Member(Session Session)
    {
        public bool Active; // gets events: after the runtime has been told
    }

    sealed record Request(Provider Provider, Demand Demand)
    {
        public readonly ManualResetEventSlim Done = new();
    }

    public string Arguments { get; private set; } = "";

    /// <summary>What is given to providers from now on. While nobody uses it.</summary>
    public void Use(string arguments)
    {
        lock (Sync) (Arguments, _arguments) = (arguments, Parse(arguments));
    }

    public void Join(Session session)
    {
        var member = new Member(session);
        lock (Sync)
        {
            _members = [.. _members, member];
            UpdateAll();
        }
        Apply();
        lock (Sync)
        {
            // At once for all its events: it misses none between its first and its last.
            member.Active = true;
            PublishAll();
        }
    }

    public void Leave(Session session)
    {
        lock (Sync)
        {
            _members = _members.Where(m => m.Session != session).ToArray();
            PublishAll();
            UpdateAll();
        }
        Apply();
    }

    protected override void OnEventWritten(EventWrittenEventArgs e)
    {
        if (Find(e.EventSource) is not { } provider) return;
        if (provider.IsRuntime && Thread.CurrentThread != _handsOut) NoteThread(provider);
        Volatile.Read(ref provider.Routes)?.Dispatch(e, provider.IsRuntime);
        if (provider.IsRuntime) NoteAge(e);
    }

    // The runtime throws away what it has not handed out yet when it is asked for more. It hands out every 10 ms; so it is asked by
    // the thread that does so, at a moment when that has just caught up. If nothing happens meanwhile nothing is lost either.
    protected override void AskAgain(Provider provider, Demand demand)
    {
        var request = new Request(provider, demand);
        Volatile.Write(ref _request, request);
        if (request.Done.Wait(s_patience)) return;
        if (Interlocked.CompareExchange(ref _request, null, request) != request)
        {
            request.Done.Wait();
            return;
        }
        Ask(provider, demand);
        _leastAge = s_unknown;
    }

    // Whenever any listener of the process asks the runtime for events of its own, or ends, the runtime begins anew, with another
    // thread. If it was not asked by this lane it was by the app.
    void NoteThread(Provider provider)
    {
        var expected = Interlocked.Exchange(ref _expectsAnother, 0) != 0 || _handsOut is null;
        _handsOut = Thread.CurrentThread;
        _leastAge = s_unknown;
        if (expected) return;
        lock (Sync) NoteRestart(provider);
    }

    protected override void OnTelling(Provider provider)
    {
        if (provider.IsRuntime) Interlocked.Exchange(ref _expectsAnother, 1);
    }

    // On the thread that hands out. The runtime's idea of the time is some milliseconds off, differently after each beginning: the
    // youngest event so far shows how much.
    void NoteAge(EventWrittenEventArgs e)
    {
        var age = DateTime.UtcNow - e.TimeStamp;
        if (age < _leastAge) _leastAge = age;
        if (Volatile.Read(ref _request) is not { } request || age > _leastAge + s_fresh) return;
        if (Interlocked.CompareExchange(ref _request, null, request) != request) return;
        Ask(request.Provider, request.Demand);
        _leastAge = s_unknown;
        request.Done.Set();
    }

    protected override Demand DemandFor(Provider provider)
    {
        var all = Demand.None;
        foreach (var member in _members)
            foreach (var request in RequestsOf(member.Session, provider.Source.Name))
                all = new Demand(all.Keywords | request.Keywords, Max(all.Level, Max(request.Level, EventLevel.Critical)), 0);
        if (all.IsNone) return all;
        if (all.Keywords == 0 && !provider.IsRuntime) all = all with { Keywords = NoKeyword };
        // Asking again makes the runtime begin its own events anew, and some providers their arguments' effect: not for less.
        var dear = provider.IsRuntime || _arguments is not null;
        return dear && provider.Applied.Covers(all) ? provider.Applied : all;
    }

    protected override void Publish(Provider provider)
    {
        var subscriptions = from member in _members
                            where member.Active
                            let requests = RequestsOf(member.Session, provider.Source.Name)
                            where requests.Length > 0
                            select new Subscription(member.Session, requests);
        provider.Types ??= new EventTypes();
        Volatile.Write(ref provider.Routes, new EventRoutes(subscriptions.ToArray(), provider.Types));
    }

    protected override IDictionary<string, string?>? ArgumentsFor(Demand demand) => _arguments;

    protected override void OnReapplied(Provider provider)
    {
        if (provider.IsRuntime) NoteRestart(provider);
    }

    void NoteRestart(Provider provider)
    {
        foreach (var member in _members)
            if (member.Active && RequestsOf(member.Session, provider.Source.Name).Length > 0) member.Session.NoteRestart();
    }

    // A session is served by one lane for each provider: that of its first request that names it.
    ProviderRequest[] RequestsOf(Session session, string provider)
    {
        var requests = session.Request.Providers.Where(request => request.Names(provider)).ToArray();
        return requests.Length > 0 && (provider == ProviderRequest.Runtime ? "" : requests[0].Arguments) == Arguments ? requests : [];
    }

    static EventLevel Max(EventLevel a, EventLevel b) => a > b ? a : b;

    // key=value;key2="va;lue"
    internal static Dictionary<string, string?>? Parse(string arguments)
    {
        if (arguments.Length == 0) return null;
        var parsed = new Dictionary<string, string?>();
        var quoted = false;
        var begin = 0;
        for (var i = 0; i <= arguments.Length; ++i)
        {
            if (i < arguments.Length && arguments[i] == '"') quoted = !quoted;
            if (i < arguments.Length && (arguments[i] != ';' || quoted)) continue;
            var part = arguments[begin..i];
            begin = i + 1;
            var equal = part.IndexOf('=');
            if (equal > 0) parsed[part[..equal].Trim()] = part[(equal + 1)..].Trim().Trim('"');
        }
        return parsed;
    }
}
