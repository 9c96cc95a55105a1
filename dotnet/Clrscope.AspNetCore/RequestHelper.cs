using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Clrscope.AspNetCore;

/// <summary>
/// The managed half of `clrscope requests`: says when requests begin and end, and which request a thread works for. The native half is the agent; its
/// src/agent/requests.h describes the structures here. While nobody listens there is one thread that waits, and nothing else.
/// </summary>
/// <remarks>
/// The request travels with the ExecutionContext, in an AsyncLocal that tells the agent whenever it changes on a thread. Only sampled requests have a value, so all
/// others cost nothing. Each async method of a sampled request that has probes gets a value of its own when it begins: its later steps come back with it.
/// </remarks>
internal static unsafe class RequestHelper
{
    const uint Version = 3;
    const uint Faulted = 8, Cancelled = 16;
    const uint Ready = 1, EnabledState = 2, Failed = 3;

    [StructLayout(LayoutKind.Sequential)]
    struct Api
    {
        public uint Version;
        public uint Size;
        public delegate* unmanaged<uint, uint> Wait;
        public delegate* unmanaged<Functions*, void> Ready;
        public delegate* unmanaged<uint, void> Heard;
        public delegate* unmanaged[SuppressGCTransition]<BeginningRequest*, uint> Begin;
        public delegate* unmanaged[SuppressGCTransition]<void*, uint, void> End;
        public delegate* unmanaged[SuppressGCTransition]<uint, ulong, uint, void> Flow;
        public delegate* unmanaged[SuppressGCTransition]<int, ulong*, int, long> EnterStep;
        public delegate* unmanaged[SuppressGCTransition]<long, ulong> SpanOf;
        public delegate* unmanaged[SuppressGCTransition]<uint, void> Fault;
        public delegate* unmanaged[SuppressGCTransition]<uint, ulong, void> Queued;
        public delegate* unmanaged[SuppressGCTransition]<ulong> PlainSpan;
        public delegate* unmanaged[SuppressGCTransition]<uint, ulong, void> Spent;
        public uint* HasKey;
    }

    [StructLayout(LayoutKind.Sequential)]
    struct Functions
    {
        public nint EnterStep;
        public nint Fault;
        public nint Queued;
    }

    /// <summary>The request and span that an ExecutionContext carries.</summary>
    sealed class Flow(uint request, ulong span, uint method)
    {
        public readonly uint Request = request;
        public readonly ulong Span = span;
        public readonly uint Method = method; // its number + 1; 0: the request itself
    }

    // Set once, before anybody can call: no static constructor, whose check every call would pay for.
    static Api* s_api;
    static AsyncLocal<Flow?>? s_flow;
    static IDisposable? s_listening;

    /// <summary>Throws when the agent is of another version.</summary>
    public static void Start(nint address)
    {
        if (s_api is not null) return;
        var api = (Api*)address;
        if (address == 0 || api->Version != Version || api->Size != sizeof(Api))
            throw new ControllerException("the agent in this process is of another version", "restart the process, or use the clrscope that loaded the agent");
        s_flow = new AsyncLocal<Flow?>(OnFlow);
        s_api = api;
        // Compiled now, not inside the first request.
        RuntimeHelpers.PrepareMethod(((Func<int, nint, int, long>)EnterStep).Method.MethodHandle);
        RuntimeHelpers.PrepareMethod(((Action<object, long>)OnFault).Method.MethodHandle);
        RuntimeHelpers.PrepareMethod(((Func<int, nint, object, long>)OnQueued).Method.MethodHandle);
        RuntimeHelpers.PrepareMethod(((Action<Task, ulong>)GiveAway).Method.MethodHandle);
        QueuedSteps.Prepare();
        delegate*<int, nint, int, long> enter = &EnterStep;
        delegate*<object, long, void> fault = &OnFault;
        delegate*<int, nint, object, long> queued = &OnQueued;
        var functions = new Functions { EnterStep = (nint)enter, Fault = (nint)fault, Queued = (nint)queued };
        api->Ready(&functions);
        new Thread(Obey) { IsBackground = true, Name = "clrscope requests" }.Start();
    }

    // Hears requests or not, as the agent says.
    static void Obey()
    {
        for (uint seen = 0; ;)
        {
            seen = s_api->Wait(seen);
            try
            {
                var listen = (seen & 1) == 1;
                s_listening?.Dispose();
                s_listening = listen ? Listen() : null;
                s_api->Heard(listen ? EnabledState : Ready);
            }
            catch (Exception e)
            {
                Console.Error.WriteLine($"clrscope: cannot hear requests: {e.Message}");
                s_api->Heard(Failed);
            }
        }
    }

    // Alone, so that an app without ASP.NET never has to load what it names.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static IDisposable? Listen() => Enabled.HasKestrel() ? new RequestListener() : null;

    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static void OnFlow(AsyncLocalValueChangedArgs<Flow?> change)
    {
        var flow = change.CurrentValue;
        if (flow is null) s_api->Flow(0, 0, 0);
        else s_api->Flow(flow.Request, flow.Span, flow.Method);
    }

    /// <summary>What a step of an instrumented async method calls first.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static long EnterStep(int id, nint saved, int state)
    {
        var start = s_api->EnterStep(id, (ulong*)saved, state);
        return start >= 0 ? start : BeginSpan(id, -start);
    }

    // The method's own changes of its context are undone when it returns to its caller: so is this one.
    [MethodImpl(MethodImplOptions.NoInlining | MethodImplOptions.AggressiveOptimization)]
    static long BeginSpan(int id, long start)
    {
        if (s_flow!.Value is not { } outer) return 0;
        s_flow.Value = new Flow(outer.Request, s_api->SpanOf(start), (uint)id + 1);
        return start;
    }

    /// <summary>What an instrumented async method calls when it ends with an exception.</summary>
    static void OnFault(object exception, long start)
    {
        if (start != 0) s_api->Fault(exception is OperationCanceledException ? Cancelled : Faulted);
    }

    /// <summary>What the queue of the thread pool calls with each piece of work while a sampled request runs. No span begins: 0.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    static long OnQueued(int id, nint saved, object work)
    {
        if (QueuedSteps.ValueOf(work, s_flow!) is Flow { Method: not 0 } flow) s_api->Queued(flow.Request, flow.Span);
        else if (work is Task task && s_api->PlainSpan() is not 0 and var span) GiveAway(task, span);
        return 0;
    }

    // A plain method gives work to the pool (Task.Run): the work belongs to the call of the method. Its context is exchanged for one that differs in the flow alone, if
    // it was captured in this one.
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void GiveAway(Task task, ulong span)
    {
        if (s_flow!.Value is not { } outer || ExecutionContext.Capture() is not { } context) return;
        s_flow.Value = new Flow(outer.Request, span, 0);
        var inside = ExecutionContext.Capture();
        ExecutionContext.Restore(context);
        if (inside is not null) QueuedSteps.Exchange(task, context, inside);
    }

    /// <summary>How long the begin or the end of a request took here, by Stopwatch, whose ticks are nanoseconds on Linux.</summary>
    public static void Spent(bool begin, long ticks) => s_api->Spent(begin ? 0u : 1u, (ulong)ticks);

    public static bool HasKey => *s_api->HasKey != 0;

    /// <summary>0: not sampled. Otherwise what happens in this context from now on belongs to the request.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    public static void Begin(BeginningRequest* request)
    {
        if (s_api->Begin(request) != 0) s_flow!.Value = new Flow(request->Number, request->Root, 0);
    }

    /// <summary>The record is a wire::RequestEnd with its texts.</summary>
    [MethodImpl(MethodImplOptions.AggressiveOptimization)]
    public static void End(bool sampled, Span<byte> record)
    {
        if (sampled) s_flow!.Value = null;
        fixed (byte* at = record) s_api->End(at, (uint)record.Length);
    }
}

/// <summary>As W3C writes it, 16 bytes.</summary>
[StructLayout(LayoutKind.Sequential)]
internal readonly record struct TraceId(ulong First, ulong Second);

/// <summary>agent::BeginningRequest.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct BeginningRequest
{
    public const int KeySize = 64;

    public ulong PathHash;
    public TraceId TraceId;
    public fixed byte Key[KeySize];
    public uint KeyBytes;
    public ushort Flags;
    public ushort Reserved;
    public ulong Ticks; // out
    public ulong Root;  // out
    public uint Number; // out; 0: not sampled
}

/// <summary>wire::RequestEnd.</summary>
[StructLayout(LayoutKind.Sequential)]
internal unsafe struct RequestEnd
{
    public ulong Header, HeaderTime; // the agent fills these
    public ulong Begin;
    public TraceId TraceId;
    public ulong Root;
    public ulong BytesIn, BytesOut;
    public uint Number;
    public ushort Status;
    public ushort Flags;
    public ushort MethodBytes, RouteBytes, PathBytes, ErrorBytes;
}
