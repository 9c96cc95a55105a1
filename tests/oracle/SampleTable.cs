// Sums up the CPU samples of a TraceLog: per process, module and method.

using Microsoft.Diagnostics.Tracing;
using Microsoft.Diagnostics.Tracing.Etlx;

namespace Clrscope.Oracle;

internal readonly record struct MethodKey(string Name, string Module);

internal readonly record struct Cost(long Self, long Total);

internal readonly record struct FrameCount(long Total, long Named)
{
    public FrameCount With(bool named) => new(Total + 1, Named + (named ? 1 : 0));
}

internal readonly record struct ProcessCount(long Samples, FrameCount ManagedFrames);

internal sealed class SampleTable
{
    private const string SampleProfiler = "Microsoft-DotNETCore-SampleProfiler";
    private const string UniversalEvents = "Universal.Events";

    private readonly Dictionary<int, ProcessCount> byProcess_ = [];
    private readonly HashSet<MethodKey> seen_ = [];  // of the sample at hand: recursion counts once

    public long Count { get; private set; }
    public long WithoutStack { get; private set; }
    public FrameCount Frames { get; private set; }
    public Dictionary<string, FrameCount> Modules { get; } = new(StringComparer.Ordinal);
    public Dictionary<MethodKey, Cost> Methods { get; } = [];

    public FrameCount ManagedFrames => new(
        byProcess_.Values.Sum(p => p.ManagedFrames.Total), byProcess_.Values.Sum(p => p.ManagedFrames.Named));

    public ProcessCount OfProcess(int pid) => byProcess_.GetValueOrDefault(pid);

    public static bool IsSample(TraceEvent data) =>
        (data.ProviderName == SampleProfiler && data.ID == 0) ||
        (data.ProviderName == UniversalEvents && data.EventName == "cpu");

    public void Add(TraceEvent sample)
    {
        ++Count;
        ProcessCount process = OfProcess(sample.ProcessID);
        byProcess_[sample.ProcessID] = process with { Samples = process.Samples + 1 };
        TraceCallStack? stack = sample.CallStack();
        if (stack is null)
        {
            ++WithoutStack;
            return;
        }

        bool onlyManaged = sample.ProviderName == SampleProfiler;  // that sampler walks managed frames alone
        seen_.Clear();
        for (bool leaf = true; stack is not null; stack = stack.Caller, leaf = false)
        {
            AddFrame(sample.ProcessID, stack.CodeAddress, leaf, onlyManaged);
        }
    }

    private void AddFrame(int pid, TraceCodeAddress address, bool leaf, bool onlyManaged)
    {
        string path = address.ModuleFilePath ?? "";
        bool named = address.Method is not null;
        Frames = Frames.With(named);
        if (onlyManaged || IsManaged(path))
        {
            ProcessCount process = OfProcess(pid);
            byProcess_[pid] = process with { ManagedFrames = process.ManagedFrames.With(named) };
        }

        Modules[path] = Modules.GetValueOrDefault(path).With(named);

        var key = new MethodKey(named ? address.FullMethodName : "", address.ModuleName ?? "");
        Cost cost = Methods.GetValueOrDefault(key);
        Methods[key] = new Cost(cost.Self + (leaf ? 1 : 0), cost.Total + (seen_.Add(key) ? 1 : 0));
    }

    private static bool IsManaged(string path) =>
        path.EndsWith(".dll", StringComparison.OrdinalIgnoreCase) || path.EndsWith(".exe", StringComparison.OrdinalIgnoreCase);
}
