using System.Diagnostics.Tracing;

namespace Clrscope;

/// <summary>
/// What is remembered of each thread that makes events: its number, and in whose handlers it is. A session is on a thread's stack
/// once: a handler that makes events is not called for them without end.
/// </summary>
internal sealed class ThreadState
{
    const int Deepest = 16;

    [ThreadStatic] static ThreadState? t_current;

    readonly Session?[] _stack = new Session?[Deepest];
    int _depth;
    long _id;

    public static ThreadState Current => t_current ??= new ThreadState();

    /// <summary>The listener's own property allocates for an EventSource's events: asked once.</summary>
    public long IdFrom(EventWrittenEventArgs e) => _id != 0 ? _id : _id = e.OSThreadId;

    public bool Enter(Session session)
    {
        if (_depth == Deepest || Has(session)) return false;
        _stack[_depth++] = session;
        return true;
    }

    public void Leave() => _stack[--_depth] = null;

    public bool Has(Session session)
    {
        for (var i = 0; i < _depth; ++i)
            if (ReferenceEquals(_stack[i], session)) return true;
        return false;
    }
}
