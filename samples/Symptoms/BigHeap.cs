namespace Samples.Symptoms;

sealed class Cell(Cell? next, long id)
{
    public readonly Cell? Next = next;
    public readonly long Id = id;
}

/// <summary>A thousand objects: 500 cells in one chain, 250 strings, 250 byte arrays.</summary>
sealed class Shelf
{
    public readonly string[] Texts = new string[250];
    public readonly byte[][] Blobs = new byte[250][];
    public Cell? Chain;
}

/// <summary>N million objects (may be a fraction of one, as 0.1) of known types, all under one static array.</summary>
static class BigHeap
{
    const int Cells = 500, Texts = 250, Blobs = 250;
    static Shelf[] s_shelves = [];

    public static void Run(Stage stage)
    {
        s_shelves = new Shelf[(int)(stage.Options.PlainNumber(1) * 1000)];
        for (var i = 0; i < s_shelves.Length && !stage.Ending; ++i) s_shelves[i] = Fill(i);

        long n = s_shelves.Length;
        stage.Ready(new
        {
            root = $"static {typeof(BigHeap).FullName}.{nameof(s_shelves)}",
            objects = n * (Cells + Texts + Blobs),
            types = new[]
            {
                new { type = typeof(Cell).FullName!, count = n * Cells, bytes = n * Cells * SizeOf(() => new Cell(null, 0)), atLeast = false },
                new { type = "System.String", count = n * Texts, bytes = n * Texts * SizeOf(() => new string('a', 16)), atLeast = true },
                new { type = "System.Byte[]", count = n * Blobs, bytes = n * Blobs * SizeOf(() => new byte[100]), atLeast = true },
                new { type = typeof(Shelf).FullName!, count = n, bytes = n * ShelfSize(), atLeast = false },
                new { type = "System.String[]", count = n, bytes = n * SizeOf(() => new string[Texts]), atLeast = true },
                new { type = "System.Byte[][]", count = n, bytes = n * SizeOf(() => new byte[Blobs][]), atLeast = true },
                new { type = "Samples.Symptoms.Shelf[]", count = 1L, bytes = SizeOf(() => new Shelf[s_shelves.Length]), atLeast = false },
            },
            heapBytes = GC.GetTotalMemory(forceFullCollection: true),
        });
        stage.WaitForEnd();
    }

    static Shelf Fill(int number)
    {
        var shelf = new Shelf();
        for (var i = 0; i < Cells; ++i) shelf.Chain = new Cell(shelf.Chain, i);
        for (var i = 0; i < Texts; ++i) shelf.Texts[i] = $"{number,8}-{i,7}";
        for (var i = 0; i < Blobs; ++i) shelf.Blobs[i] = new byte[100];
        return shelf;
    }

    static long ShelfSize() => SizeOf(() => new Shelf()) - SizeOf(() => new string[Texts]) - SizeOf(() => new byte[Blobs][]);

    static long SizeOf(Func<object> make)
    {
        make();
        var before = GC.GetAllocatedBytesForCurrentThread();
        GC.KeepAlive(make());
        return GC.GetAllocatedBytesForCurrentThread() - before;
    }
}
