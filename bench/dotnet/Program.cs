using System.Globalization;
using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Jobs;
using BenchmarkDotNet.Loggers;
using BenchmarkDotNet.Running;
using BenchmarkDotNet.Toolchains.InProcess.Emit;
using Clrscope.Bench;

if (args.Contains("--work"))
{
    return FixedWork.Run();
}
if (args is ["--throw", var frames])
{
    return Throwing.Run(int.Parse(frames, CultureInfo.InvariantCulture));
}

// One line of JSON for each benchmark: {"name":…,"ns":…,"bytes":…}. --quick: does it work at all?
var quick = args.Contains("--quick");
var job = (quick ? Job.Default.WithWarmupCount(2).WithIterationCount(3).WithInvocationCount(1 << 16) : Job.Default).WithToolchain(InProcessEmitToolchain.Instance);
var config = ManualConfig.CreateEmpty()
    .AddJob(job)
    .AddDiagnoser(MemoryDiagnoser.Default)
    .AddColumnProvider(DefaultColumnProviders.Instance)
    .AddLogger(new StreamLogger(new StreamWriter(Console.OpenStandardError()) { AutoFlush = true }))
    .WithArtifactsPath(Directory.CreateTempSubdirectory("clrscope-bench-").FullName)
    .WithOptions(ConfigOptions.DisableOptimizationsValidator);
var failed = false;
foreach (var type in new[] { typeof(WriteBench), typeof(MeterBench) })
{
    var summary = BenchmarkRunner.Run(type, config);
    foreach (var report in summary.Reports)
    {
        if (report.ResultStatistics is not { } statistics)
        {
            failed = true;
            continue;
        }
        var bytes = report.GcStats.GetBytesAllocatedPerOperation(report.BenchmarkCase) ?? 0;
        var name = $"{report.BenchmarkCase.Descriptor.WorkloadMethod.Name}";
        Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{{\"name\":\"{name}\",\"ns\":{statistics.Median:0.###},\"bytes\":{bytes}}}"));
    }
}
Directory.Delete(config.ArtifactsPath, recursive: true);
return failed ? 1 : 0;
