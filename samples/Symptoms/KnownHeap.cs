using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Samples.Symptoms;

sealed class KnownNode(KnownNode? next)
{
    public readonly KnownNode? Next = next;
    public long Number;
}

/// <summary>A value type with a reference in it, for arrays of such.</summary>
struct KnownPair
{
    public long Number;
    public KnownItem Item;
}

sealed class KnownItem;
sealed class KnownScratch;
sealed class KnownListener { public void OnChanged(object? sender, EventArgs args) { } }
sealed class KnownKey;
sealed class KnownValue;
sealed class KnownPinned { public long Number; }
sealed class KnownLocal { public int Number; }
sealed class KnownGeneric;

/// <summary>Has a finalizer that is not due.</summary>
sealed class KnownFinalizable
{
    ~KnownFinalizable() => GC.KeepAlive(this);
}

/// <summary>Waits for its finalizer, which waits for the end of the run: behind the first of its kind.</summary>
sealed class KnownDue
{
    public static readonly ManualResetEventSlim Reached = new();
    static readonly ManualResetEventSlim s_end = new();

    /// <summary>The runtime does not end before its finalizer thread can.</summary>
    public static void Release() => s_end.Set();

    ~KnownDue()
    {
        Reached.Set();
        s_end.Wait();
    }
}

static class KnownBox<T>
{
    public static T? s_value;
}

sealed record TypeCount(string type, long count);

/// <summary>A graph of known objects, with a root of every kind, and threads that make garbage beside it.</summary>
static class KnownHeap
{
    const int Items = 400, Listeners = 30, Keys = 20, Finalizable = 50, Due = 40, Copies = 300, Collectible = 10;

    static KnownNode? s_chain;
    static readonly KnownPair[] s_pairs = new KnownPair[Items];
    static readonly ConditionalWeakTable<KnownKey, KnownValue> s_attached = [];
    static readonly List<object> s_kept = [];
    [ThreadStatic] static KnownScratch? t_scratch;

    static event EventHandler? Changed;

    public static void Run(Stage stage)
    {
        var nodes = stage.Options.Plain(10_000);
        for (var i = 0; i < nodes; ++i) s_chain = new KnownNode(s_chain);
        for (var i = 0; i < Items; ++i) s_pairs[i] = new KnownPair { Number = i, Item = new KnownItem() };
        for (var i = 0; i < Listeners; ++i) Changed += new KnownListener().OnChanged;
        for (var i = 0; i < Keys; ++i)
        {
            var key = new KnownKey();
            s_attached.Add(key, new KnownValue());
            s_kept.Add(key);
        }
        for (var i = 0; i < Finalizable; ++i) s_kept.Add(new KnownFinalizable());
        for (var i = 0; i < Copies; ++i) s_kept.Add(string.Concat("known ", nameof(Copies)));
        s_kept.Add(new byte[300_000]);
        s_kept.Add(GC.AllocateArray<byte>(5_000, pinned: true));
        KnownBox<KnownGeneric>.s_value = new KnownGeneric();
        var pinned = GCHandle.Alloc(new KnownPinned { Number = 1 }, GCHandleType.Pinned);
        var strong = GCHandle.Alloc(new KnownNode(null) { Number = 1 });
        var weak = GCHandle.Alloc(s_chain, GCHandleType.Weak);
        MakeCollectible();
        var holder = stage.Work("holder", () => Hold(stage));
        MakeDue();
        GC.Collect();
        KnownDue.Reached.Wait();  // one is being finalized; the others wait
        var threads = stage.Options.Int("threads", 0);
        for (var i = 0; i < threads; ++i) stage.Work($"churn-{i}", () => Churn(stage));

        stage.Ready(new
        {
            types = new[]
            {
                Count<KnownNode>(nodes + 1), Count<KnownItem>(Items), Count<KnownListener>(Listeners), Count<KnownKey>(Keys),
                Count<KnownValue>(Keys), Count<KnownPinned>(1), Count<KnownFinalizable>(Finalizable), Count<KnownScratch>(1),
                Count<KnownLocal>(1), Count<KnownGeneric>(1), Count<KnownPair[]>(1), new TypeCount("KnownCollectible", Collectible),
            },
            roots = new Dictionary<string, string>
            {
                [Name<KnownNode>()] = $"{typeof(KnownHeap).FullName}.{nameof(s_chain)}",
                [Name<KnownPair[]>()] = $"{typeof(KnownHeap).FullName}.{nameof(s_pairs)}",
                ["System.EventHandler"] = $"{typeof(KnownHeap).FullName}.{nameof(Changed)}",
                [Name<KnownScratch>()] = $"{typeof(KnownHeap).FullName}.{nameof(t_scratch)}",
                [Name<KnownGeneric>()] = "Samples.Symptoms.KnownBox`1[Samples.Symptoms.KnownGeneric].s_value",
            },
            pinned = Name<KnownPinned>(),
            local = new { type = Name<KnownLocal>(), method = $"{typeof(KnownHeap).FullName}.{nameof(Hold)}", osId = holder.OsId },
            due = Due,
            attached = Keys,
            copies = Copies,
            copied = "known Copies",
            large = 300_000 + 24,
        });
        stage.FinishWork();
        KnownDue.Release();
        GC.KeepAlive((pinned, strong, weak));
    }

    static string Name<T>() => typeof(T).FullName!;
    static TypeCount Count<T>(long count) => new(Name<T>(), count);

    /// <summary>A thread static, and an object that only a local variable refers to.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Hold(Stage stage)
    {
        t_scratch = new KnownScratch();
        var local = new KnownLocal();
        while (stage.Sleep(1_000_000)) ++local.Number;
        GC.KeepAlive(local);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void MakeDue()
    {
        for (var i = 0; i < Due; ++i) GC.KeepAlive(new KnownDue());
    }

    /// <summary>Objects of a type whose assembly may be unloaded.</summary>
    static void MakeCollectible()
    {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("KnownDynamic"), AssemblyBuilderAccess.RunAndCollect);
        var type = assembly.DefineDynamicModule("KnownDynamic").DefineType("KnownCollectible", TypeAttributes.Public);
        type.DefineField("Other", typeof(object), FieldAttributes.Public);
        var made = type.CreateType();
        for (var i = 0; i < Collectible; ++i) s_kept.Add(Activator.CreateInstance(made)!);
    }

    static void Churn(Stage stage)
    {
        var ring = new object[1000];
        for (long i = 0; !stage.Ending; ++i) ring[i % ring.Length] = i % 100 == 0 ? new byte[90_000] : new object[i % 50];
    }
}
