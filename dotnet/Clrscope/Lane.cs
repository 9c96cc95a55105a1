using System.Collections.Frozen;
using System.Diagnostics.Tracing;
using System.Runtime.CompilerServices;

namespace Clrscope;

/// <summary>What the runtime is asked of one provider on behalf of all: the mask "does anyone want this?".</summary>
internal readonly record struct Demand(ulong Keywords, EventLevel Level, double IntervalSeconds)
{
    public static readonly Demand None = default;
    public bool IsNone => Level == EventLevel.LogAlways; // asked for as Critical at least
    public bool Covers(Demand other) =>
        (other.Keywords & ~Keywords) == 0 && Level >= other.Level && (other.IntervalSeconds == 0 || IntervalSeconds == other.IntervalSeconds);
}

/// <summary>
/// One EventListener that many sessions share. It knows all providers, asks each for what is wanted, and no more than that.
///
/// Lock order: the runtime calls <see cref="OnEventSourceCreated"/> while it holds its own lock and takes that lock in
/// EnableEvents. So <see cref="Sync"/> is never held while the runtime is called.
/// </summary>
internal abstract class Lane : EventListener
{
    internal sealed class Provider(EventSource source)
    {
        public readonly EventSource Source = source;
        public readonly bool IsRuntime = source.Name == ProviderRequest.Runtime;
        public Demand Wanted, Applied;
        public bool Busy; // a thread is telling the runtime
        public EventRoutes? Routes;
        public EventTypes? Types;
    }

    // Initializers run before the base constructor, which calls OnEventSourceCreated.
    readonly List<WeakReference<EventSource>> _sources = [];
    readonly ConditionalWeakTable<EventSource, Provider> _known = []; // one object for each, though nobody may want it for a while
    FrozenDictionary<EventSource, Provider> _providers = FrozenDictionary<EventSource, Provider>.Empty;
    Provider? _last;

    public int Users; // of an EventLane: by Core, under its lock

    protected object Sync { get; } = new();

    /// <summary>What all sessions together want of a provider. Called under <see cref="Sync"/>.</summary>
    protected abstract Demand DemandFor(Provider provider);

    /// <summary>Who is to get its events changed. Called under <see cref="Sync"/>.</summary>
    protected virtual void Publish(Provider provider) { }

    protected abstract IDictionary<string, string?>? ArgumentsFor(Demand demand);

    protected void Ask(Provider provider, Demand demand) => EnableEvents(provider.Source, demand.Level, (EventKeywords)demand.Keywords, ArgumentsFor(demand));

    /// <summary>For more of the runtime's own events than it gives already.</summary>
    protected virtual void AskAgain(Provider provider, Demand demand) => Ask(provider, demand);

    protected virtual void OnTelling(Provider provider) { }

    protected virtual void OnReapplied(Provider provider) { }

    protected sealed override void OnEventSourceCreated(EventSource source)
    {
        Provider provider;
        lock (Sync)
        {
            if (_sources.Count % 64 == 63) _sources.RemoveAll(s => !s.TryGetTarget(out _));
            _sources.Add(new WeakReference<EventSource>(source));
            provider = Update(source);
            if (provider.Wanted == provider.Applied) return;
            provider.Busy = true; // ours: another thread would have to wait for the runtime's lock, which this one holds
        }
        Tell(provider);
    }

    public IEnumerable<(string Name, Demand Demand)> ActiveProviders()
    {
        lock (Sync) return _providers.Values.Where(p => !p.Applied.IsNone).Select(p => (p.Source.Name, p.Applied)).ToArray();
    }

    protected Provider? Find(EventSource source)
    {
        var last = _last;
        if (last is not null && ReferenceEquals(last.Source, source)) return last;
        if (!_providers.TryGetValue(source, out var provider)) return null;
        _last = provider;
        return provider;
    }

    /// <summary>Sees to it that <see cref="Provider.Wanted"/> is right. Call under <see cref="Sync"/>, then <see cref="Apply"/>.</summary>
    protected void UpdateAll()
    {
        foreach (var weak in _sources)
            if (weak.TryGetTarget(out var source)) Update(source);
    }

    protected void PublishAll()
    {
        foreach (var provider in _providers.Values) Publish(provider);
    }

    Provider Update(EventSource source)
    {
        var provider = _known.GetValue(source, static s => new Provider(s));
        provider.Wanted = DemandFor(provider);
        if (provider.Wanted.IsNone || _providers.ContainsKey(source)) return provider;
        Publish(provider); // its routes stand before its first event
        SetProviders(_providers.Append(new(source, provider)));
        return provider;
    }

    void SetProviders(IEnumerable<KeyValuePair<EventSource, Provider>> providers)
    {
        Volatile.Write(ref _providers, providers.ToFrozenDictionary());
        _last = null; // keeps no source alive that nobody wants
    }

    /// <summary>Tells the runtime what changed. If another thread is updating a provider, waits for it with a timeout: the
    /// caller may hold the runtime's lock.</summary>
    protected void Apply()
    {
        while (true)
        {
            Provider? next;
            lock (Sync)
            {
                next = _providers.Values.FirstOrDefault(p => p.Wanted != p.Applied && !p.Busy);
                if (next is null)
                {
                    if (!_providers.Values.Any(p => p.Busy) || !Monitor.Wait(Sync, 1000)) return;
                    continue;
                }
                next.Busy = true;
            }
            Tell(next);
        }
    }

    // Of a provider that the caller has made busy.
    void Tell(Provider provider)
    {
        Demand demand, before;
        lock (Sync) (demand, before) = (provider.Wanted, provider.Applied);
        OnTelling(provider);
        if (demand.IsNone) DisableEvents(provider.Source);
        else if (provider.IsRuntime && !before.IsNone) AskAgain(provider, demand);
        else Ask(provider, demand);
        lock (Sync)
        {
            provider.Applied = demand;
            provider.Busy = false;
            if (!demand.IsNone && !before.IsNone) OnReapplied(provider);
            if (demand.IsNone && provider.Wanted.IsNone) SetProviders(_providers.Where(p => p.Value != provider));
            Monitor.PulseAll(Sync);
        }
    }
}
