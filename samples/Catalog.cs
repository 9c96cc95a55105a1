using Samples.Symptoms;

namespace Samples;

/// <summary>One symptom: its options are named in one string, which is both the help and the list of what is accepted.</summary>
sealed record Symptom(string Name, string Summary, string Options, Action<Stage> Run);

static class ExitCode
{
    public const int Usage = 3;
    public const int Unsupported = 4;
}

/// <summary>Every symptom there is. A new one is a file in Symptoms/ and a line here.</summary>
static class Catalog
{
    static readonly Symptom[] All =
    [
        new("cpu", "CPU time split 60/30/10 over three methods with loops", "[--threads N]", Cpu.Run),
        new("cpu-short", "the same split over short straight-line leaf methods", "[--threads N] [--uneven]", CpuShort.Run),
        new("osr", "methods called once that loop: replaced on the stack by optimized code", "", Osr.Run),
        new("cpu-rhythm", "two methods that take turns in a fixed rhythm, 60/40", "[--period-us N]", CpuRhythm.Run),
        new("alloc", "allocation of three types with known shares of bytes", "[--rate MB/s] [--count N]", Alloc.Run),
        new("exceptions", "exceptions of two types, three to one", "[--rate N/s] [--count N]", Exceptions.Run),
        new("turmoil", "exceptions, allocations, locks, short threads and assemblies that are unloaded, in rounds", "[--count N]", Turmoil.Run),
        new("probes", "methods of every shape with known counts and times, and a self-check", "[--calls N] [--rounds N] [--loop]", Probes.Run),
        new("signatures", "a thread that reads all signatures of the core library, and one that builds strings", "", Signatures.Run),
        new("probes-inlined", "a method that is inlined into its callers, called a known number of times", "[--calls N]", ProbesInlined.Run),
        new("contention", "threads that queue for one monitor", "[--threads N] [--hold-ms N]", Contention.Run),
        new("waits", "a thread for each thing there is to wait for, over and over", "", Waits.Run),
        new("async-chain", "async methods that await each other and something that does not come", "[N]", AsyncChain.Run),
        new("async-chains", "async methods suspended in every way, and what their stacks are", "[N]", AsyncChains.Run),
        new("deadlock-monitor", "threads in a cycle of monitors", "[--threads N]", DeadlockMonitor.Run),
        new("deadlock-lock", "threads in a cycle of System.Threading.Lock (.NET 9 and later)", "[--threads N]", DeadlockLock.Run),
        new("deadlock-rwlock", "threads in a cycle of ReaderWriterLockSlim", "[--threads N]", DeadlockRwLock.Run),
        new("deadlock-async", "sync over async on a one-thread context", "", DeadlockAsync.Run),
        new("deadlock-mixed", "a lock and a task that wait for each other", "", DeadlockMixed.Run),
        new("deadlock-semaphores", "async methods in a cycle of SemaphoreSlim", "", DeadlockSemaphores.Run),
        new("deadlock-initializer", "a lock and a static constructor that wait for each other", "[--healthy]", DeadlockInitializer.Run),
        new("long-holder", "a thread that waits with a lock while others queue for it", "[--threads N]", LongHolder.Run),
        new("holders", "locks that are held: a lock nobody wants, and one that two read while a third would write", "", Holders.Run),
        new("pool-starvation", "every pool thread waits for work that needs a pool thread", "[--max-threads N] [--rate N/s]", PoolStarvation.Run),
        new("runaway", "a thread that spins forever", "", Runaway.Run),
        new("zombie-threads", "ended threads that are kept, others that wait forever, ever more of them", "[--rate N/s]", ZombieThreads.Run),
        new("thread-leak", "threads that are started all the time and never end", "[--rate N/s] [--healthy]", ThreadLeak.Run),
        new("timer-flood", "timers that are started all the time and never disposed", "[--rate N/s] [--healthy]", TimerFlood.Run),
        new("stuck-finalizer", "a finalizer that waits forever", "[--healthy]", StuckFinalizer.Run),
        new("finalizer-backlog", "objects whose finalizers take longer than new ones take to come", "[--rate N/s] [--healthy]", FinalizerBacklog.Run),
        new("regex", "a regular expression that backtracks forever", "[--healthy]", RegexBacktracking.Run),
        new("hung-start", "an ASP.NET application whose Main waits forever before it starts", "[--healthy]", HungStart.Run),
        new("compile", "methods that are made and compiled while it runs, or all of an assembly", "[--count N] [--assembly NAMES]", Compile.Run),
        new("short-threads", "a new thread for every job; every tenth never ends", "[--rate N/s] [--count N]", ShortThreads.Run),
        new("stuck-tasks", "tasks that wait for a reply that never comes, among healthy ones", "[N]", StuckTasks.Run),
        new("tasks", "tasks of known fates: quick, slow, queued, failing, awaiting, and three that never end", "[--count N]", Tasks.Run),
        new("leak-list", "objects kept by a static list", "[--rate N/s]", LeakList.Run),
        new("leak-event", "objects kept by an event they never left", "[--rate N/s]", LeakEvent.Run),
        new("leak-timer", "objects kept by timers nobody disposes", "[--rate N/s]", LeakTimer.Run),
        new("native-leak", "native memory that is never freed", "[--rate MB/s] [--healthy]", NativeLeak.Run),
        new("handle-leak", "pinning handles that are never freed", "[--rate N/s] [--healthy]", HandleLeak.Run),
        new("loh-fragmentation", "large buffers with holes between them", "[--healthy]", LohFragmentation.Run),
        new("threads", "many threads blocked in known methods under deep stacks", "[N] [--depth N]", Threads.Run),
        new("big-heap", "a heap of N million objects of known types", "[N]", BigHeap.Run),
        new("heap", "a graph of known objects with a root of every kind", "[N] [--threads N]", KnownHeap.Run),
        new("native", "managed code under native code: qsort with a managed comparison", "", Native.Run),
        new("children", "another program as a child, then in its own place", "[--program FILE] [--become FILE]", Children.Run),
        new("forks", "a child by fork() alone, which stops itself and then ends", "", Forks.Run),
        new("eventsource", "events with every kind of payload", "[--rate N/s] [--count N] [--wait-enabled]", EventSourceSymptom.Run),
        new("counters", "EventCounters of each kind", "", Counters.Run),
        new("meters", "Meter instruments of each kind, with tags", "[--histograms N]", Meters.Run),
        new("flood", "numbered events as fast as they can be written", "[--rate N/s] [--threads N] [--count N] [--kinds] [--listen] [--wait-enabled]", Flood.Run),
        new("gc", "a known number of collections of each generation", "[--rounds N] [--interval-ms N] [--moving N]", Gc.Run),
        new("gc-pressure", "large buffers made anew all the time", "", GcPressure.Run),
        new("gc-hang", "a collection that waits for a thread in native code that never returns", "", GcHang.Run),
        new("heartbeat", "a thread that beats every millisecond beside threads that allocate", "[--threads N] [--signal N] [--rate MB/s] [--kept-mb N]", Heartbeat.Run),
        new("idle", "nothing at all: healthy", "", Idle.Run),
        new("healthy-load", "busy locks, pool and heap, and nothing wrong", "", HealthyLoad.Run),
        new("healthy-waits", "waits that are long but move, and nothing wrong", "", HealthyWaits.Run),
        new("healthy-async", "async methods that wait long for work, or briefly for each other, and nothing wrong", "", HealthyAsync.Run),
        new("http-calls", "requests over HTTP to itself, some slow, some refused", "[--count N]", HttpCalls.Run),
        new("http-pool", "many callers that share two connections", "[--healthy]", HttpPool.Run),
        new("slow-http", "requests over HTTP to a slow server", "[--healthy]", SlowHttp.Run),
        new("slow-dns", "names that a slow server looks up (needs root)", "[--healthy]", SlowDns.Run),
        new("n-plus-one", "requests that send the same database command over and over", "[--healthy]", RepeatedCommands.Run),
        new("web", "an ASP.NET application with an endpoint per symptom", "[--port N] [--no-logging] [--http2]", Web.Run),
        new("shop", "an ASP.NET shop: requests that are slow, async, parallel, busy, blocked, failing or cancelled in known ways", "[--port N]", ShopHost.Run),
        new("shop-load", "load for the shop: a mix of its routes at a fixed rate, each request with a trace id of its own", "[--address URL] [--rate N/s] [--concurrency N] [--requests N] [--duration S] [--only TEXT] [--truth] [--ids FILE]", ShopLoad.Run),
        new("sick", "a hot path, exceptions, contention, allocation and a deadlock at once", "", Sick.Run),
    ];

    public static Symptom? Find(string name) => Array.Find(All, s => s.Name == name);

    public static void Print(TextWriter to)
    {
        foreach (var s in All) to.WriteLine($"{s.Name,-19} {s.Summary}");
    }
}
