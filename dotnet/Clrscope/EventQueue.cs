using System.Numerics;

namespace Clrscope;

/// <summary>
/// A bounded ring between the threads that make events and the one that hands them to a slow listener. Adding never waits and
/// never allocates: when it is full, the caller counts the loss. Many add, one takes.
/// </summary>
internal sealed class EventQueue(int capacity)
{
    internal struct Entry
    {
        public long Turn; // whose turn the slot is: index = free for that add, index + 1 = filled by it
        public object? Item; // EventWrittenEventArgs, or CounterValue
        public EventType? Type;
        public long Thread;
    }

    readonly Entry[] _ring = Ring((int)BitOperations.RoundUpToPowerOf2((uint)Math.Max(2, capacity)));
    readonly AutoResetEvent _filled = new(false);
    long _adds;
    long _takes; // the taker's own
    int _asleep;

    public bool TryAdd(object item, EventType? type, long thread)
    {
        while (true)
        {
            var turn = Volatile.Read(ref _adds);
            ref var slot = ref _ring[turn & (_ring.Length - 1)];
            var ahead = Volatile.Read(ref slot.Turn) - turn;
            if (ahead < 0) return false; // full
            if (ahead > 0 || Interlocked.CompareExchange(ref _adds, turn + 1, turn) != turn) continue;
            slot.Item = item;
            slot.Type = type;
            slot.Thread = thread;
            Volatile.Write(ref slot.Turn, turn + 1);
            Interlocked.MemoryBarrier(); // the taker says that it sleeps, then looks once more
            if (Volatile.Read(ref _asleep) != 0) Wake();
            return true;
        }
    }

    public bool TryTake(out Entry entry)
    {
        ref var slot = ref _ring[_takes & (_ring.Length - 1)];
        entry = default;
        if (Volatile.Read(ref slot.Turn) != _takes + 1) return false;
        entry = slot;
        slot.Item = null;
        slot.Type = null;
        Volatile.Write(ref slot.Turn, _takes + _ring.Length);
        ++_takes;
        return true;
    }

    /// <summary>Waits until there may be something to take, or somebody called <see cref="Wake"/>.</summary>
    public void Sleep()
    {
        Volatile.Write(ref _asleep, 1);
        Interlocked.MemoryBarrier();
        if (Volatile.Read(ref _ring[_takes & (_ring.Length - 1)].Turn) != _takes + 1) _filled.WaitOne(1000);
        Volatile.Write(ref _asleep, 0);
    }

    public void Wake()
    {
        if (Interlocked.Exchange(ref _asleep, 0) != 0) _filled.Set();
    }

    static Entry[] Ring(int size)
    {
        var ring = new Entry[size];
        for (var i = 0; i < size; ++i) ring[i].Turn = i;
        return ring;
    }
}
